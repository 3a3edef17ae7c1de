//! How fast host slices are sorted: one call at a time, and by several threads at once.
//!
//!   throughput [SECONDS]     seconds for each series of threads; 1 by default
//!
//! One line for each series, `threads,op,n,calls,keys_per_second,median_ns`. Every answer is checked.

use polysort_core::{Backend, Error, Sort};
use polysort_wgpu::WgpuBackend;
use std::time::{Duration, Instant};

/// Numbers that look random: the same ones for the same seed (SplitMix64).
fn keys(len: usize, seed: u64) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as u32
    };
    (0..len).map(|_| next()).collect()
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Keys,
    Pairs,
    Argsort,
}

/// Sorts a copy of `input` once, checks the answer, and returns how long the call took.
fn once(backend: &WgpuBackend, op: Op, input: &[u32], sorted: &[u32]) -> Result<Duration, Error> {
    let (mut keys, mut values) = (input.to_vec(), input.to_vec());
    let started = Instant::now();
    match op {
        Op::Keys => backend.sort(&mut keys)?,
        Op::Pairs => backend.sort_pairs(&mut keys, &mut values)?,
        Op::Argsort => values = backend.argsort(&keys)?,
    }
    let elapsed = started.elapsed();
    let right = match op {
        Op::Keys => keys == sorted,
        Op::Pairs => keys == sorted && values == sorted,
        Op::Argsort => values.iter().zip(sorted).all(|(&i, &key)| input[i as usize] == key),
    };
    assert!(right, "{op:?} of {} keys", input.len());
    Ok(elapsed)
}

/// Sorts with so many threads until the time is up.
fn series(backend: &WgpuBackend, threads: usize, op: Op, len: usize, time: Duration) -> Result<(), Error> {
    let thread = |seed: usize| {
        let input = keys(len, seed as u64);
        let mut sorted = input.clone();
        sorted.sort_unstable();
        // The first calls warm up.
        for _ in 0..3 {
            once(backend, op, &input, &sorted)?;
        }
        let (started, mut times) = (Instant::now(), vec![]);
        while started.elapsed() < time || times.len() < 5 {
            times.push(once(backend, op, &input, &sorted)?);
        }
        Ok::<_, Error>((times, started.elapsed()))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|seed| scope.spawn(move || thread(seed))).collect();
        all.into_iter().map(|one| one.join().expect("no thread panics")).collect::<Result<_, _>>()
    })?;
    // Calls of all threads by the time that each of them had; the checks between the calls are the same for all.
    let rate: f64 = results.iter().map(|(times, elapsed)| (times.len() * len) as f64 / elapsed.as_secs_f64()).sum();
    let mut times: Vec<Duration> = results.into_iter().flat_map(|(times, _)| times).collect();
    times.sort_unstable();
    println!("{threads},{op:?},{len},{},{rate:.0},{}", times.len(), times[times.len() / 2].as_nanos());
    Ok(())
}

fn main() -> Result<(), Error> {
    let seconds: f64 = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(1.0);
    let time = Duration::from_secs_f64(seconds);
    let backend = WgpuBackend::open()?;
    eprintln!("{}", backend.name());
    println!("threads,op,n,calls,keys_per_second,median_ns");
    for op in [Op::Keys, Op::Pairs, Op::Argsort] {
        for len in [10, 12, 14, 16, 18, 20, 22, 24, 26].map(|power| 1 << power) {
            series(&backend, 1, op, len, time)?;
        }
    }
    for threads in [2, 4, 8, 16] {
        series(&backend, threads, Op::Keys, 1 << 20, time)?;
    }
    series(&backend, 8, Op::Keys, 1 << 14, time)?;
    series(&backend, 8, Op::Pairs, 1 << 18, time)
}
