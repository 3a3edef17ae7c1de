//! How fast host slices are sorted: one call at a time, and by several threads at once.
//!
//!   throughput [SECONDS [POWER]]     seconds for each series, 1 by default; the most keys of one call as a power of two, 26 by default
//!
//! One line for each series, `threads,op,n,calls,keys_per_second,median_ns,mean_ns,p95_ns,max_ns`. The first answers of each thread are
//! checked, and the last.

use polysort_core::{Backend, Error, Sort};
use polysort_measure::{HostCall, HostOp, Times, repeat};
use polysort_wgpu::{Config, WgpuBackend};
use std::time::Duration;

/// Sorts a copy of the input, and returns how long the call took.
fn once(call: &mut HostCall, backend: &WgpuBackend) -> Result<Duration, Error> {
    call.once(|op, keys, values| match op {
        HostOp::Keys => backend.sort(keys),
        HostOp::Pairs => backend.sort_pairs(keys, values),
        HostOp::Argsort => backend.argsort(keys).map(|order| *values = order),
    })
}

/// Sorts with so many threads until the time is up.
fn series(backend: &WgpuBackend, threads: usize, op: HostOp, len: usize, time: Duration) -> Result<(), Error> {
    let start = std::sync::Barrier::new(threads);
    let thread = |seed: usize| {
        let mut call = HostCall::new(op, len, seed as u64);
        // The first calls warm up.
        repeat(5, Duration::ZERO, || {
            once(&mut call, backend)?;
            assert!(call.is_right(), "{op:?} of {len} keys");
            Ok::<_, Error>(())
        })?;
        start.wait();
        let mut times = vec![];
        let elapsed = repeat(5, time, || {
            times.push(once(&mut call, backend)?);
            Ok::<_, Error>(())
        })?;
        assert!(call.is_right(), "{op:?} of {len} keys");
        Ok::<_, Error>((times, elapsed))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let thread = &thread;
        let all: Vec<_> = (0..threads).map(|seed| scope.spawn(move || thread(seed))).collect();
        all.into_iter().map(|one| one.join().expect("no thread panics")).collect::<Result<_, _>>()
    })?;
    let rate: f64 = results.iter().map(|(times, elapsed)| (times.len() * len) as f64 / elapsed.as_secs_f64()).sum();
    let times: Vec<Duration> = results.into_iter().flat_map(|(times, _)| times).collect();
    let (calls, mean) = (times.len(), times.iter().sum::<Duration>().as_nanos() / times.len() as u128);
    let [median, _, p95, _, longest] = times.into_iter().collect::<Times>().of_one(1);
    println!("{threads},{op:?},{len},{calls},{rate:.0},{median},{mean},{p95},{longest}");
    Ok(())
}

fn main() -> Result<(), Error> {
    let seconds: f64 = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(1.0);
    let most: u32 = std::env::args().nth(2).and_then(|power| power.parse().ok()).unwrap_or(26);
    let time = Duration::from_secs_f64(seconds);
    let backend = WgpuBackend::open_with(Config::from_env())?;
    eprintln!("{}", backend.name());
    println!("threads,op,n,calls,keys_per_second,median_ns,mean_ns,p95_ns,max_ns");
    for op in [HostOp::Keys, HostOp::Pairs, HostOp::Argsort] {
        for power in (10..=most).step_by(2) {
            series(&backend, 1, op, 1 << power, time)?;
        }
    }
    for threads in [2, 4, 8, 16] {
        series(&backend, threads, HostOp::Keys, 1 << 20, time)?;
    }
    series(&backend, 8, HostOp::Keys, 1 << 14, time)?;
    series(&backend, 8, HostOp::Pairs, 1 << 18, time)
}
