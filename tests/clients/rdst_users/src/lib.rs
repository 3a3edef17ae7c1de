//! What the programs print: a number of their results, and how long they took.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// Runs `work` several times on what `input` returns. Prints a hash of the result, which must be the same each time, and the least time.
///
/// # Panics
/// If two results differ.
pub fn report<I, R: Hash>(name: &str, reps: usize, input: impl Fn() -> I, work: impl Fn(I) -> R) {
    let (mut least, mut hashes) = (Duration::MAX, vec![]);
    for _ in 0..reps {
        let input = input();
        let started = Instant::now();
        let result = work(input);
        least = least.min(started.elapsed());
        let mut hasher = DefaultHasher::new();
        result.hash(&mut hasher);
        hashes.push(hasher.finish());
    }
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{name}: the results of two runs differ");
    println!("{name}\t{:016x}\t{:.1}", hashes[0], 1e3 * least.as_secs_f64());
}
