//! How long calls on host slices take by two versions of the GPU backend, in turn: `versions SECONDS POWER`.
//!
//! One line for each operation and length: the turns, the median of each version in microseconds, and the old time divided by the new one. A switch from
//! one device to the other costs time, so the first call after it is not timed. Each answer of the warm-up is checked, and the last of each series.
//!
//! Then 8 threads sort 2^20 keys each, again and again: one line for each round, with the 10^9 keys a second of all threads by each version.

use polysort_measure::{HostCall, HostOp, Times, order, repeat};
use std::convert::Infallible;
use std::time::Duration;

/// A version of the backend.
trait Version: Sync {
    fn call(&self, op: HostOp, keys: &mut [u32], values: &mut Vec<u32>);
}

macro_rules! version {
    ($name:ident, $core:ident, $wgpu:ident) => {
        mod $name {
            use super::{HostOp, Version};
            use $core::{Backend, Sort};

            pub(crate) fn open() -> Box<dyn Version> {
                let backend = $wgpu::WgpuBackend::open().expect("a GPU");
                eprintln!("{}: {}", stringify!($name), backend.name());
                Box::new(backend)
            }

            impl Version for $wgpu::WgpuBackend {
                fn call(&self, op: HostOp, keys: &mut [u32], values: &mut Vec<u32>) {
                    let result = match op {
                        HostOp::Keys => self.sort(keys),
                        HostOp::Pairs => self.sort_pairs(keys, values),
                        HostOp::Argsort => self.argsort(keys).map(|indices| *values = indices),
                    };
                    result.expect("it sorts");
                }
            }
        }
    };
}

version!(old, core_old, wgpu_old);
version!(new, core_new, wgpu_new);

/// Makes a call, and returns how long it took.
fn once(call: &mut HostCall, version: &dyn Version) -> Result<Duration, Infallible> {
    call.once(|op, keys, values| {
        version.call(op, keys, values);
        Ok(())
    })
}

/// Returns the 10^9 keys a second that 8 threads sort together. Each thread makes calls of its own.
fn together(version: &dyn Version, time: Duration) -> Result<f64, Infallible> {
    const THREADS: usize = 8;
    const LEN: usize = 1 << 20;
    let calls: usize = std::thread::scope(|scope| {
        let sorter = || {
            let (mut call, mut calls) = (HostCall::new(HostOp::Keys, LEN, 0), 0);
            repeat(0, time, || {
                calls += 1;
                once(&mut call, version).map(drop)
            })?;
            assert!(call.is_right(), "8 threads: a wrong answer");
            Ok(calls)
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(sorter)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread sorts")).sum::<Result<usize, Infallible>>()
    })?;
    Ok((calls * LEN) as f64 / time.as_secs_f64() / 1e9)
}

fn main() -> Result<(), Infallible> {
    let arguments: Vec<String> = std::env::args().collect();
    let (seconds, most): (f64, u32) = (arguments[1].parse().expect("seconds"), arguments[2].parse().expect("a power of two"));
    let time = Duration::from_secs_f64(seconds);
    let versions = [old::open(), new::open()];
    println!("op,n,turns,old_median_us,new_median_us,old_over_new");
    let mut logarithms = vec![];
    for op in [HostOp::Keys, HostOp::Pairs, HostOp::Argsort] {
        for power in (10..=most).step_by(2) {
            let mut call = HostCall::new(op, 1 << power, u64::from(power));
            repeat(5, Duration::from_millis(200), || {
                versions.iter().try_for_each(|version| {
                    once(&mut call, &**version)?;
                    assert!(call.is_right(), "{op:?} of 2^{power} keys");
                    Ok::<_, Infallible>(())
                })
            })?;
            let (mut times, mut turns) = ([vec![], vec![]], 0);
            repeat(12, time, || {
                for which in order(2, turns) {
                    once(&mut call, &*versions[which])?;
                    for _ in 0..3 {
                        times[which].push(once(&mut call, &*versions[which])?);
                    }
                }
                turns += 1;
                Ok::<_, Infallible>(())
            })?;
            assert!(call.is_right(), "{op:?} of 2^{power} keys");
            let [old, new] = times.map(|times| times.into_iter().collect::<Times>().median().as_secs_f64() * 1e6);
            logarithms.push((old / new).ln());
            println!("{op:?},2^{power},{turns},{old:.1},{new:.1},{:.3}", old / new);
        }
    }
    println!("geometric mean {:.3}", (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp());
    println!("8 threads,2^20,round,old,new,new_over_old");
    for round in 0..3 {
        let [old, new] = [together(&*versions[0], time)?, together(&*versions[1], time)?];
        println!("8 threads,2^20,{round},{old:.2},{new:.2},{:.2}", new / old);
    }
    Ok(())
}
