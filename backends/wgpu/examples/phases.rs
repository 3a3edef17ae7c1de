//! Where the time of sorts of host slices goes, when several threads make them at once.
//!
//!   phases [SECONDS]     seconds for each series; 1 by default
//!
//! One line for each series: the threads, the threads of a copy, keys per second, the time of a call, and the time of each phase in a call, in
//! microseconds. Phases are the `tracing` spans of the backend.

mod spans;

use polysort_core::{Error, Sort};
use polysort_measure::{repeat, split_mix, timed};
use polysort_wgpu::{Config, WgpuBackend};
use std::time::Duration;

fn series(backend: &WgpuBackend, threads: usize, copy_threads: usize, len: usize, time: Duration) -> Result<(), Error> {
    let start = std::sync::Barrier::new(threads);
    let thread = |seed: u32| {
        let input: Vec<u32> = (0..len as u64).map(|i| split_mix(i + (u64::from(seed) << 40)) as u32).collect();
        let (mut keys, mut calls, mut in_calls) = (input.clone(), 0, Duration::ZERO);
        let mut once = || {
            keys.copy_from_slice(&input);
            let (time, sorted) = timed(|| backend.sort(&mut keys));
            sorted.map(|()| time)
        };
        repeat(5, Duration::ZERO, || once().map(drop))?;
        start.wait();
        if seed == 0 {
            spans::clear();
        }
        let elapsed = repeat(0, time, || {
            in_calls += once()?;
            calls += 1;
            Ok::<_, Error>(())
        })?;
        assert!(keys.is_sorted(), "not sorted");
        Ok::<_, Error>((calls, in_calls, elapsed))
    };
    let thread = &thread;
    let results: Vec<(u32, Duration, Duration)> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads as u32).map(|seed| scope.spawn(move || thread(seed))).collect();
        all.into_iter().map(|one| one.join().expect("no thread panics")).collect::<Result<_, _>>()
    })?;
    let calls: u32 = results.iter().map(|(calls, ..)| calls).sum();
    let rate: f64 = results.iter().map(|(calls, _, elapsed)| f64::from(*calls) * len as f64 / elapsed.as_secs_f64()).sum();
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(calls);
    let call = micros(results.iter().map(|(_, in_calls, _)| *in_calls).sum());
    print!("{threads:>2} threads, {copy_threads} a copy, {len} keys: {:>6.0} M/s, call {call:>6.0}", rate / 1e6);
    for (phase, (time, _)) in spans::times() {
        print!(", {phase} {:.0}", micros(time));
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Error> {
    let seconds: f64 = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(1.0);
    spans::collect();
    for copy_threads in [1, 2, 4, 8] {
        let mut config = Config::from_env();
        config.copy_threads = Some(copy_threads);
        let backend = WgpuBackend::open_with(config)?;
        for threads in [1, 4, 8] {
            series(&backend, threads, copy_threads, 1 << 20, Duration::from_secs_f64(seconds))?;
        }
        series(&backend, 1, copy_threads, 1 << 26, Duration::from_secs_f64(seconds))?;
    }
    Ok(())
}
