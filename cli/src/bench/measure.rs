//! Measures systems, which take turns on the same data.

use super::case::{Algorithm, Case, name};
use super::input::Input;
use super::system::System;
use crate::dtype::Key;
use polysort_measure::{Cell, Effort, Row, Series, Trial, batch, take_turns};

/// The trials of each system on each data set that are verified and not timed.
const WARM_UPS: usize = 1;

/// The measurements of a system.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) system: &'static str,
    pub(crate) backend: &'static str,
    pub(crate) algorithm: Algorithm,
    /// The trials on all data sets.
    pub(crate) series: Series,
    /// The arrays that each trial sorts.
    arrays: usize,
}

impl Measured {
    /// Returns the median time of one array in nanoseconds.
    pub(crate) fn median(&self) -> u64 {
        let [median, ..] = self.series.ranked().of_one(self.arrays);
        median
    }

    /// Returns the row of a record.
    pub(crate) fn row(&self, run: &str, case: &Case) -> Row {
        let &Case { op, dtype, payload, pattern, direction, len } = case;
        let cell = Cell {
            op: name(&op),
            key: dtype.name(),
            payload: name(&payload),
            pattern: name(&pattern),
            n: len,
            threads: None,
            order: name(&direction),
            scope: "end_to_end".into(),
        };
        let is_verified = self.series.is_verified();
        let row = Row::new(run, (self.system, self.backend), &cell, &self.series.ranked(), self.arrays, is_verified);
        Row { algorithm: name(&self.algorithm), ..row }
    }
}

/// Runs all systems of a case `reps` times on each of `seeds` data sets. Each run is timed, and its answer is compared with that of std's stable sort.
pub(crate) fn measure<K: Key>(case: &Case, systems: &[System<K>], reps: usize, seeds: usize) -> Vec<Measured> {
    let mut series = vec![Series::default(); systems.len()];
    for seed in 0..seeds as u64 {
        let input = Input::new(case, seed);
        let answer = input.answer(case);
        take_turns(&mut series, Effort::rounds(WARM_UPS, reps), |at| {
            let (time, got) = systems[at].run(&input)?;
            Ok::<_, polysort::Error>(Trial::new(time, input.is_answer(&got, &answer, systems[at].is_stable())))
        });
    }
    let measured = |(system, series): (&System<K>, Series)| {
        let &System { system, backend, algorithm, .. } = system;
        Measured { system, backend, algorithm, series, arrays: batch(case.len) }
    };
    systems.iter().zip(series).map(measured).collect()
}
