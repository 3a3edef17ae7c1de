//! How fast host slices are sorted: one call at a time, and by several threads at once.
//!
//!   throughput [SECONDS [POWER]]     seconds for each series, 1 by default; the most keys of one call as a power of two, 26 by default
//!
//! One line for each series, `threads,op,n,calls,keys_per_second,median_ns,mean_ns,p95_ns,max_ns`. The first answers of each thread are checked, and the last.

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

/// What one thread sorts again and again: nothing is allocated between the calls.
struct Work {
    input: Vec<u32>,
    sorted: Vec<u32>,
    keys: Vec<u32>,
    values: Vec<u32>,
}

impl Work {
    fn new(len: usize, seed: u64) -> Self {
        let input = keys(len, seed);
        let mut sorted = input.clone();
        sorted.sort_unstable();
        Self { keys: input.clone(), values: input.clone(), input, sorted }
    }

    /// Sorts a copy of the input, and returns how long the call took.
    fn once(&mut self, backend: &WgpuBackend, op: Op) -> Result<Duration, Error> {
        self.keys.copy_from_slice(&self.input);
        if matches!(op, Op::Pairs) {
            self.values.copy_from_slice(&self.input);
        }
        let started = Instant::now();
        match op {
            Op::Keys => backend.sort(&mut self.keys)?,
            Op::Pairs => backend.sort_pairs(&mut self.keys, &mut self.values)?,
            Op::Argsort => self.values = backend.argsort(&self.keys)?,
        }
        Ok(started.elapsed())
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

/// Sorts with so many threads until the time is up.
fn series(backend: &WgpuBackend, threads: usize, op: Op, len: usize, time: Duration) -> Result<(), Error> {
    let start = std::sync::Barrier::new(threads);
    let thread = |seed: usize| {
        let mut work = Work::new(len, seed as u64);
        // The first calls warm up.
        for _ in 0..5 {
            work.once(backend, op)?;
            work.check(op);
        }
        start.wait();
        let (started, mut times) = (Instant::now(), vec![]);
        while started.elapsed() < time || times.len() < 5 {
            times.push(work.once(backend, op)?);
        }
        let elapsed = started.elapsed();
        work.check(op);
        Ok::<_, Error>((times, elapsed))
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let thread = &thread;
        let all: Vec<_> = (0..threads).map(|seed| scope.spawn(move || thread(seed))).collect();
        all.into_iter().map(|one| one.join().expect("no thread panics")).collect::<Result<_, _>>()
    })?;
    let rate: f64 = results.iter().map(|(times, elapsed)| (times.len() * len) as f64 / elapsed.as_secs_f64()).sum();
    let mut times: Vec<Duration> = results.into_iter().flat_map(|(times, _)| times).collect();
    times.sort_unstable();
    let mean = times.iter().sum::<Duration>().as_nanos() / times.len() as u128;
    let [median, p95, longest] = [times.len() / 2, times.len() * 95 / 100, times.len() - 1].map(|at| times[at].as_nanos());
    println!("{threads},{op:?},{len},{},{rate:.0},{median},{mean},{p95},{longest}", times.len());
    Ok(())
}

fn main() -> Result<(), Error> {
    let seconds: f64 = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(1.0);
    let most: u32 = std::env::args().nth(2).and_then(|power| power.parse().ok()).unwrap_or(26);
    let time = Duration::from_secs_f64(seconds);
    let backend = WgpuBackend::open()?;
    eprintln!("{}", backend.name());
    println!("threads,op,n,calls,keys_per_second,median_ns,mean_ns,p95_ns,max_ns");
    for op in [Op::Keys, Op::Pairs, Op::Argsort] {
        for power in (10..=most).step_by(2) {
            series(&backend, 1, op, 1 << power, time)?;
        }
    }
    for threads in [2, 4, 8, 16] {
        series(&backend, threads, Op::Keys, 1 << 20, time)?;
    }
    series(&backend, 8, Op::Keys, 1 << 14, time)?;
    series(&backend, 8, Op::Pairs, 1 << 18, time)
}
