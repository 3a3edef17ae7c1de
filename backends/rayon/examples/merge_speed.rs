//! Prints the speed of merges of `u32` runs beside a copy of the same bytes by as many threads: medians of alternating rounds.
//!
//! `cargo run --release -p polysort-rayon --example merge_speed [THREADS]`

use polysort_core::Error;
use polysort_measure::{Effort, Series, Trial, take_turns, timed};
use polysort_rayon::RayonBackend;

const LEN: usize = 1 << 26;
const ROUNDS: usize = 9;

fn main() -> Result<(), Error> {
    let threads = std::env::args().nth(1).and_then(|threads| threads.parse().ok()).unwrap_or(2);
    let backend = RayonBackend::with_threads(threads)?;
    let keys: Vec<u32> = (0..LEN as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29) as u32 ^ i as u32).collect();
    let mut merged = vec![1; LEN];
    println!("runs,threads,merge_ms,copy_ms,copy_over_merge");
    for runs in [2, 8, 16, 32, 64, 256, 4096] {
        let mut sorted = keys.clone();
        sorted.chunks_mut(LEN / runs).for_each(<[u32]>::sort_unstable);
        let slices: Vec<&[u32]> = sorted.chunks(LEN / runs).collect();
        let mut series = vec![Series::default(); 2];
        take_turns(&mut series, Effort::rounds(0, ROUNDS), |system| {
            let (time, merge) = match system {
                0 => timed(|| backend.merge_into(&slices, &mut merged)),
                _ => timed(|| {
                    std::thread::scope(|scope| {
                        let share = LEN.div_ceil(threads);
                        for (to, from) in merged.chunks_mut(share).zip(sorted.chunks(share)) {
                            scope.spawn(|| to.copy_from_slice(from));
                        }
                    });
                    Ok(vec![])
                }),
            };
            merge.map(|_| Trial::new(time, system != 0 || merged.is_sorted()))
        });
        assert!(series[0].is_verified(), "{:?}", series[0].verdict);
        let [merge, copy] = [0, 1].map(|system: usize| series[system].ranked().median().as_secs_f64());
        println!("{runs},{threads},{:.1},{:.1},{:.2}", 1e3 * merge, 1e3 * copy, copy / merge);
    }
    Ok(())
}
