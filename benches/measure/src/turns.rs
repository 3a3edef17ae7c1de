//! Rounds in which systems take turns, so that whatever else the machine does falls on all of them.

use crate::times::{Times, median};
use core::fmt::Display;
use std::time::{Duration, Instant};

/// A system whose warm-up takes this many times as long as the fastest one's, and longer than the budget, is timed in one round only.
const LEFT_BEHIND: u32 = 4;

/// How long systems are measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The first rounds. Their results are verified, and their times are not kept.
    pub warm_ups: usize,
    /// The fewest timed rounds.
    pub least: usize,
    /// The most timed rounds.
    pub most: usize,
    /// The time for all that a system does in the timed rounds, more or less. After it, no round begins beyond the fewest.
    pub budget: Duration,
    /// The index of the system that begins the first round.
    pub first: usize,
}

impl Effort {
    /// Returns an effort of exactly `timed` rounds, after `warm_ups` rounds that are not timed. System 0 begins.
    pub const fn rounds(warm_ups: usize, timed: usize) -> Self {
        Self { warm_ups, least: timed, most: timed, budget: Duration::MAX, first: 0 }
    }
}

/// One trial: a system ran once on a case.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The time of what is measured alone, without preparation and verification.
    pub time: Duration,
    /// Whether the result is that of the reference.
    pub is_right: bool,
    /// The time after the trial in which the threads of the system fell asleep. The budget does not count it.
    pub rest: Duration,
}

impl Trial {
    /// Returns a trial without a rest.
    pub const fn new(time: Duration, is_right: bool) -> Self {
        Self { time, is_right, rest: Duration::ZERO }
    }
}

/// Whether the results of a system were right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Every result was that of the reference.
    #[default]
    Verified,
    /// At least one result was wrong.
    Wrong,
    /// The system returned an error, and did not run again.
    Failed(String),
}

/// The trials of one system.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The times, in the order of the rounds.
    pub times: Vec<Duration>,
    /// Whether all results were right, those of warm-ups too.
    pub verdict: Verdict,
}

impl Series {
    /// Returns the times in ascending order.
    pub fn ranked(&self) -> Times {
        self.times.iter().copied().collect()
    }

    /// Returns the series if the system did not fail.
    ///
    /// # Errors
    /// The text of the error that the system returned.
    pub fn completed(&self) -> Result<&Self, String> {
        if let Verdict::Failed(why) = &self.verdict { Err(why.clone()) } else { Ok(self) }
    }

    /// Whether every result was right.
    pub fn is_verified(&self) -> bool {
        self.verdict == Verdict::Verified
    }

    /// Returns the median, over all rounds, of this system's time over the other one's time in the same round. A load that comes and goes falls on both
    /// times of a ratio.
    pub fn over(&self, other: &Self) -> f64 {
        median(self.times.iter().zip(&other.times).map(|(own, other)| own.as_secs_f64() / other.as_secs_f64()))
    }
}

/// Returns the order in which `count` systems run in a round. Each round begins with the system after the one that began the round before.
pub fn order(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |turn| (turn + round) % count)
}

/// Measures systems, which take turns. Adds the times and the verdict of system `i` to `series[i]`.
///
/// `run` gets the index of a system, runs the system once, and verifies the result. It times the system alone, without what it does before and after. A
/// system whose series has failed does not run.
pub fn take_turns<E: Display>(series: &mut [Series], effort: Effort, mut run: impl FnMut(usize) -> Result<Trial, E>) {
    let mut turn = |series: &mut [Series], system: usize| -> Option<Trial> {
        let verdict = &mut series[system].verdict;
        if matches!(verdict, Verdict::Failed(_)) {
            return None;
        }
        match run(system) {
            Ok(run) => {
                if !run.is_right {
                    *verdict = Verdict::Wrong;
                }
                Some(run)
            }
            Err(error) => {
                *verdict = Verdict::Failed(error.to_string());
                None
            }
        }
    };
    let Effort { warm_ups, least, most, budget, first } = effort;
    let mut warm = vec![Duration::MAX; series.len()];
    for round in 0..warm_ups {
        for system in order(series.len(), first + round) {
            if let Some(run) = turn(series, system) {
                warm[system] = warm[system].min(run.time);
            }
        }
    }
    let fastest = warm.iter().copied().min().unwrap_or_default();
    let limit = fastest.saturating_mul(LEFT_BEHIND).max(budget);
    let running = series.iter().filter(|series| !matches!(series.verdict, Verdict::Failed(_))).count();
    let (begin, mut rests) = (Instant::now(), Duration::ZERO);
    for round in 0..most {
        if round >= least && begin.elapsed().saturating_sub(rests) > budget.saturating_mul(running as u32) {
            break;
        }
        for system in order(series.len(), first + warm_ups + round) {
            if round > 0 && warm[system] > limit {
                continue;
            }
            if let Some(run) = turn(series, system) {
                series[system].times.push(run.time);
                rests += run.rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: Trial = Trial::new(Duration::from_nanos(1), true);

    fn new(count: usize) -> Vec<Series> {
        vec![Series::default(); count]
    }

    #[test]
    fn each_round_begins_with_another_system() {
        let (mut series, mut ran) = (new(3), vec![]);
        take_turns(&mut series, Effort { first: 2, ..Effort::rounds(1, 3) }, |system| {
            ran.push(system);
            Ok::<_, String>(RIGHT)
        });
        assert_eq!(ran.chunks(3).collect::<Vec<_>>(), [[2, 0, 1], [0, 1, 2], [1, 2, 0], [2, 0, 1]]);
        // The warm-up is not timed.
        assert!(series.iter().all(|series| series.times.len() == 3 && series.is_verified()));
    }

    #[test]
    fn one_wrong_result_is_enough_also_in_a_warm_up() {
        for wrong in 0..4 {
            let (mut series, mut round) = (new(2), 0);
            take_turns(&mut series, Effort::rounds(1, 3), |system| {
                let is_right = system == 0 || round != wrong;
                round += system;
                Ok::<_, String>(Trial { is_right, ..RIGHT })
            });
            let verdicts = [Verdict::Verified, Verdict::Wrong];
            assert!(series.iter().zip(verdicts).all(|(series, verdict)| series.verdict == verdict), "{wrong}: {series:?}");
        }
    }

    #[test]
    fn a_system_that_fails_does_not_run_again() {
        let (mut series, mut runs) = (new(2), [0, 0]);
        for _ in 0..2 {
            take_turns(&mut series, Effort::rounds(0, 3), |system| {
                runs[system] += 1;
                if system == 0 && runs[0] == 2 { Err("no memory") } else { Ok(RIGHT) }
            });
        }
        assert_eq!((runs, series[0].times.len(), series[1].times.len()), ([2, 6], 1, 6));
        assert_eq!(series[0].verdict, Verdict::Failed("no memory".into()));
        assert_eq!(series[0].completed().err().as_deref(), Some("no memory"));
        assert!(series[1].is_verified() && series[1].completed().is_ok());
    }

    #[test]
    fn times_are_kept_in_the_order_of_rounds() {
        let (mut series, mut next) = (new(2), 0);
        take_turns(&mut series, Effort::rounds(0, 3), |_| {
            next += 1;
            Ok::<_, String>(Trial::new(Duration::from_nanos([10, 5, 8, 8, 40, 10][next - 1]), true))
        });
        let nanos = |at: usize| series[at].times.iter().map(Duration::as_nanos).collect::<Vec<_>>();
        assert_eq!((nanos(0), nanos(1)), (vec![10, 8, 40], vec![5, 8, 10]));
        // 2, 1 and 4.
        assert_eq!((series[0].over(&series[1]), series[0].ranked().median().as_nanos()), (2.0, 10));
    }

    #[test]
    fn a_budget_ends_the_rounds_and_rests_do_not_count() {
        let effort = Effort { least: 2, most: 50, budget: Duration::from_millis(10), ..Effort::rounds(1, 0) };
        let rounds = |rest| {
            let mut series = new(1);
            take_turns(&mut series, effort, |_| {
                std::thread::sleep(Duration::from_millis(6));
                Ok::<_, String>(Trial { rest, ..RIGHT })
            });
            series[0].times.len()
        };
        assert_eq!(rounds(Duration::ZERO), 2);
        assert_eq!(rounds(Duration::from_secs(1)), 50);
    }

    #[test]
    fn a_slow_system_is_timed_once() {
        let effort = Effort { least: 5, most: 5, budget: Duration::from_millis(10), ..Effort::rounds(1, 0) };
        let rounds = |slow| {
            let mut series = new(2);
            take_turns(&mut series, effort, |system| Ok::<_, String>(Trial::new(Duration::from_millis([5, slow][system]), true)));
            [series[0].times.len(), series[1].times.len()]
        };
        assert_eq!((rounds(20), rounds(21)), ([5, 5], [5, 1]));
        // Within the budget, all are timed.
        let mut series = new(2);
        take_turns(&mut series, Effort::rounds(1, 5), |system| {
            Ok::<_, String>(Trial::new(Duration::from_secs([1, 100][system]), true))
        });
        assert_eq!(series[1].times.len(), 5);
    }
}
