//! Rounds in which the systems of a cell take turns, so that whatever else the machine does falls on all of them.

use crate::system::System;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long a cell is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Time for the timed runs of one system, more or less.
    pub budget: Duration,
    /// Timed runs, at least (of a system that is not left behind) and at most.
    pub reps: (usize, usize),
    /// Bytes that are written before each run, so that caches hold nothing of the run before.
    pub evicted: usize,
}

/// A system that takes this many times as long as the best in its first run, and longer than the cell's budget, is timed once.
const LEFT_BEHIND: u32 = 4;

/// What was measured of one system.
#[derive(Debug)]
pub struct Timed {
    /// As in [`System`].
    pub system: &'static str,
    /// As in [`System`].
    pub backend: &'static str,
    /// The times of all slices together, in ascending order.
    pub times: Vec<Duration>,
    /// Whether each run gave the right answer.
    pub verified: bool,
}

/// Measures `systems`; those that panic are left out. `shift` turns the order in which they begin.
pub fn measure(systems: Vec<System<'_>>, effort: Effort, shift: usize) -> Vec<Timed> {
    let mut runners: Vec<Runner<'_>> = systems.into_iter().filter_map(Runner::warmed_up).collect();
    let mut evicted = vec![0_u8; effort.evicted];
    let Some(best) = runners.iter().map(|runner| runner.first).min() else { return vec![] };
    let (begin, mut rests) = (Instant::now(), Duration::ZERO);
    let count = runners.len();
    for round in 0..effort.reps.1 {
        let over = begin.elapsed().saturating_sub(rests) > effort.budget * count as u32;
        if over && round >= effort.reps.0 {
            break;
        }
        for turn in 0..count {
            let runner = &mut runners[(turn + round + shift) % count];
            let left_behind = runner.first > best * LEFT_BEHIND && runner.first > effort.budget;
            if round == 0 || !left_behind {
                evicted.fill(black_box(round as u8));
                runner.time();
                rests += runner.system.rest;
            }
        }
    }
    runners.into_iter().map(Runner::end).collect()
}

struct Runner<'a> {
    system: System<'a>,
    first: Duration,
    times: Vec<Duration>,
    verified: bool,
}

impl<'a> Runner<'a> {
    /// Runs twice without counting; `None` if the system panics.
    fn warmed_up(system: System<'a>) -> Option<Self> {
        let mut runner = Self { system, first: Duration::ZERO, times: vec![], verified: true };
        catch_unwind(AssertUnwindSafe(|| {
            runner.time();
            runner.time();
        }))
        .ok()?;
        runner.first = runner.times.drain(..).min()?;
        Some(runner)
    }

    fn time(&mut self) {
        self.system.task.prepare();
        let begin = Instant::now();
        self.system.task.run();
        self.times.push(begin.elapsed());
        std::thread::sleep(self.system.rest);
        self.verified &= self.system.task.verify();
    }

    fn end(mut self) -> Timed {
        self.times.sort_unstable();
        let System { system, backend, .. } = self.system;
        Timed { system, backend, times: self.times, verified: self.verified }
    }
}
