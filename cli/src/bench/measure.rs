//! Measures systems in turn. Each run is timed and its answer is checked.

use super::case::{Algorithm, Case};
use super::input::Input;
use super::system::System;
use crate::dtype::Key;

/// How often each system runs on each data set, and the number of data sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// The first runs, which are checked but not timed.
    pub(crate) warmups: usize,
    pub(crate) reps: usize,
    pub(crate) seeds: u64,
}

/// Whether the answers of a system were right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every answer was that of std's stable sort.
    Verified,
    /// At least one answer was wrong.
    Wrong,
    /// The system returned an error. It did not run again.
    Failed(String),
}

/// The measurements of a system.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) system: &'static str,
    pub(crate) backend: &'static str,
    pub(crate) algorithm: Algorithm,
    pub(crate) verdict: Verdict,
    /// Nanoseconds per array of each timed run, ascending.
    pub(crate) nanos: Vec<u64>,
}

impl Measured {
    /// Returns the time in nanoseconds that `percent` of the runs do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> u64 {
        let rank = (self.nanos.len() * percent).div_ceil(100);
        self.nanos[rank.max(1) - 1]
    }

    pub(crate) fn median(&self) -> u64 {
        self.percentile(50)
    }
}

/// Runs all systems on all data sets of a case.
pub(crate) fn measure<K: Key>(case: &Case, systems: &[System<K>], rounds: Rounds) -> Vec<Measured> {
    let blank = |&System { system, backend, algorithm, .. }: &System<K>| Measured {
        system,
        backend,
        algorithm,
        verdict: Verdict::Verified,
        nanos: vec![],
    };
    let mut measured: Vec<Measured> = systems.iter().map(blank).collect();
    for seed in 0..rounds.seeds {
        let input = Input::new(case, seed);
        let answer = input.answer(case);
        for round in 0..rounds.warmups + rounds.reps {
            for position in 0..systems.len() {
                let at = (position + round) % systems.len();
                let (system, measured) = (&systems[at], &mut measured[at]);
                if matches!(measured.verdict, Verdict::Failed(_)) {
                    continue;
                }
                match system.run(&input) {
                    Err(error) => measured.verdict = Verdict::Failed(error.to_string()),
                    Ok((time, got)) => {
                        if !input.is_answer(&got, &answer, system.is_stable()) {
                            measured.verdict = Verdict::Wrong;
                        }
                        if round >= rounds.warmups {
                            measured.nanos.push((time.as_nanos() / input.arrays() as u128) as u64);
                        }
                    }
                }
            }
        }
    }
    for measured in &mut measured {
        measured.nanos.sort_unstable();
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_of_runs() {
        let of = |nanos: &[u64]| Measured {
            system: "",
            backend: "",
            algorithm: Algorithm::Auto,
            verdict: Verdict::Verified,
            nanos: nanos.to_vec(),
        };
        let hundred = of(&(1..=100).collect::<Vec<_>>());
        assert_eq!((hundred.percentile(5), hundred.median(), hundred.percentile(95)), (5, 50, 95));
        assert_eq!((of(&[3]).percentile(5), of(&[3]).percentile(95)), (3, 3));
        assert_eq!((of(&[1, 2, 9]).percentile(5), of(&[1, 2, 9]).median(), of(&[1, 2, 9]).percentile(95)), (1, 2, 9));
    }
}
