//! The systems of a cell take turns.

use crate::system::System;
use polysort_measure::{Effort, Series, Verdict, take_turns};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What was measured of one system.
#[derive(Debug)]
pub struct Timed {
    /// As in [`System`].
    pub system: &'static str,
    /// As in [`System`].
    pub backend: &'static str,
    /// The trials. Each sorts all slices.
    pub series: Series,
}

/// Measures `systems`; those that panic are left out. Writes `evicted` bytes before each run, so that caches hold nothing of the run before.
pub fn measure(mut systems: Vec<System<'_>>, effort: Effort, evicted: usize) -> Vec<Timed> {
    let mut series = vec![Series::default(); systems.len()];
    let (mut evicted, mut runs) = (vec![0_u8; evicted], 0_u8);
    take_turns(&mut series, effort, |at| {
        runs = runs.wrapping_add(1);
        evicted.fill(black_box(runs));
        catch_unwind(AssertUnwindSafe(|| systems[at].run())).map_err(|_| "it panicked")
    });
    let timed = systems.into_iter().zip(series).filter(|(_, series)| !matches!(series.verdict, Verdict::Failed(_)));
    timed.map(|(System { system, backend, .. }, series)| Timed { system, backend, series }).collect()
}
