//! How long calls on host slices take by two versions of the GPU backend, in turn: `versions SECONDS POWER`.
//!
//! One line for each operation and length: the turns, the median of each version in microseconds, and the old time divided by the new one. A switch from
//! one device to the other costs time, so the first call after it is not timed. Each answer of the warm-up is checked, and the last of each series.
//!
//! Then 8 threads sort 2^20 keys each, again and again: one line for each round, with the 10^9 keys a second of all threads by each version.

use std::time::{Duration, Instant};

/// What is sorted again and again: nothing is allocated between the calls.
struct Work {
    input: Vec<u32>,
    sorted: Vec<u32>,
    keys: Vec<u32>,
    values: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Keys,
    Pairs,
    Argsort,
}

/// A version of the backend.
trait Version: Sync {
    fn call(&self, op: Op, work: &mut Work);
}

macro_rules! version {
    ($name:ident, $core:ident, $wgpu:ident) => {
        mod $name {
            use super::{Op, Version, Work};
            use $core::{Backend, Sort};

            pub(crate) fn open() -> Box<dyn Version> {
                let backend = $wgpu::WgpuBackend::open().expect("a GPU");
                eprintln!("{}: {}", stringify!($name), backend.name());
                Box::new(backend)
            }

            impl Version for $wgpu::WgpuBackend {
                fn call(&self, op: Op, work: &mut Work) {
                    let result = match op {
                        Op::Keys => self.sort(&mut work.keys),
                        Op::Pairs => self.sort_pairs(&mut work.keys, &mut work.values),
                        Op::Argsort => self.argsort(&work.keys).map(|indices| work.values = indices),
                    };
                    result.expect("it sorts");
                }
            }
        }
    };
}

version!(old, core_old, wgpu_old);
version!(new, core_new, wgpu_new);

impl Work {
    fn new(len: usize) -> Self {
        // SplitMix64.
        let mut state = len as u64;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31) as u32
        };
        let input: Vec<u32> = (0..len).map(|_| next()).collect();
        let mut sorted = input.clone();
        sorted.sort_unstable();
        Self { keys: input.clone(), values: input.clone(), input, sorted }
    }

    /// Sorts a copy of the input, and returns how many microseconds the call took.
    fn once(&mut self, version: &dyn Version, op: Op) -> f64 {
        self.keys.copy_from_slice(&self.input);
        if matches!(op, Op::Pairs) {
            self.values.copy_from_slice(&self.input);
        }
        let started = Instant::now();
        version.call(op, self);
        started.elapsed().as_secs_f64() * 1e6
    }

    fn check(&self, op: Op) {
        let right = match op {
            Op::Keys => self.keys == self.sorted,
            Op::Pairs => self.keys == self.sorted && self.values == self.sorted,
            Op::Argsort => self.values.iter().zip(&self.sorted).all(|(&i, &key)| self.input[i as usize] == key),
        };
        assert!(right, "{op:?} of {} keys", self.input.len());
    }
}

/// Returns the 10^9 keys a second that 8 threads sort together. Each thread makes calls of its own.
fn together(version: &dyn Version, seconds: f64) -> f64 {
    const THREADS: usize = 8;
    const LEN: usize = 1 << 20;
    let calls: usize = std::thread::scope(|scope| {
        let sorter = || {
            let mut work = Work::new(LEN);
            let (started, mut calls) = (Instant::now(), 0);
            while started.elapsed().as_secs_f64() < seconds {
                work.once(version, Op::Keys);
                calls += 1;
            }
            work.check(Op::Keys);
            calls
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(sorter)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread sorts")).sum()
    });
    (calls * LEN) as f64 / seconds / 1e9
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (seconds, most): (f64, u32) = (arguments[1].parse().expect("seconds"), arguments[2].parse().expect("a power of two"));
    let versions = [old::open(), new::open()];
    println!("op,n,turns,old_median_us,new_median_us,old_over_new");
    let mut logarithms = vec![];
    for op in [Op::Keys, Op::Pairs, Op::Argsort] {
        for power in (10..=most).step_by(2) {
            let mut work = Work::new(1 << power);
            let started = Instant::now();
            for round in 0.. {
                if round >= 5 && started.elapsed() > Duration::from_millis(200) {
                    break;
                }
                for version in &versions {
                    work.once(&**version, op);
                    work.check(op);
                }
            }
            let mut times = [vec![], vec![]];
            let (started, mut turns) = (Instant::now(), 0);
            while started.elapsed().as_secs_f64() < seconds || turns < 12 {
                for which in [turns % 2, 1 - turns % 2] {
                    work.once(&*versions[which], op);
                    times[which].extend((0..3).map(|_| work.once(&*versions[which], op)));
                }
                turns += 1;
            }
            work.check(op);
            let [old, new] = times.map(|mut times| {
                times.sort_unstable_by(f64::total_cmp);
                times[times.len() / 2]
            });
            logarithms.push((old / new).ln());
            println!("{op:?},2^{power},{turns},{old:.1},{new:.1},{:.3}", old / new);
        }
    }
    println!("geometric mean {:.3}", (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp());
    println!("8 threads,2^20,round,old,new,new_over_old");
    for round in 0..3 {
        let [old, new] = [0, 1].map(|which| together(&*versions[which], seconds));
        println!("8 threads,2^20,{round},{old:.2},{new:.2},{:.2}", new / old);
    }
}
