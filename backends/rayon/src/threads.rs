//! The threads that a call may use. Nothing else in this crate starts work on another thread, so a number that a caller chose is
//! respected by every step, and a call on one thread never meets a pool.

use crate::tuning::{ENTER_NS, THREAD_NS};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// A number of threads of the rayon pool that the calling thread belongs to; one is the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads(usize);

impl Threads {
    /// The calling thread alone.
    pub(crate) const ONE: Self = Self(1);

    /// As many of `available` threads as `nanoseconds` of work on one thread are worth. `available` is asked only if it may be more
    /// than one.
    pub(crate) fn worth(nanoseconds: u64, available: impl FnOnce() -> usize) -> Self {
        if nanoseconds < ENTER_NS {
            return Self::ONE;
        }
        Self(available()).at_most(nanoseconds)
    }

    /// As many of these threads as `nanoseconds` of work on one thread are worth.
    pub(crate) fn at_most(self, nanoseconds: u64) -> Self {
        Self(self.0.min((nanoseconds / THREAD_NS) as usize).max(1))
    }

    pub(crate) fn count(self) -> usize {
        self.0
    }

    pub(crate) fn is_one(self) -> bool {
        self.0 == 1
    }

    /// The results of `work(0)`, `work(1)` and so on, `count` of them.
    pub(crate) fn map<R: Send>(self, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        if self.is_one() || count == 1 {
            return (0..count).map(work).collect();
        }
        (0..count).into_par_iter().with_max_len(1).map(&work).collect()
    }

    /// Does `work` for each of `tasks`: each thread takes the next one when it is done with the last. `state` makes what a thread uses for
    /// all its tasks.
    pub(crate) fn for_each<T: Send, S>(self, tasks: Vec<T>, state: impl Fn() -> S + Sync, work: impl Fn(&mut S, T) + Sync) {
        let workers = self.0.min(tasks.len());
        if workers <= 1 {
            let mut state = state();
            return tasks.into_iter().for_each(|task| work(&mut state, task));
        }
        let tasks = Mutex::new(tasks.into_iter());
        // A panic in `work` does not happen while the lock is held.
        let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
        (0..workers).into_par_iter().with_max_len(1).for_each(|_| {
            let mut state = state();
            while let Some(task) = next() {
                work(&mut state, task);
            }
        });
    }

    /// Does both, `left` on the calling thread.
    pub(crate) fn join<A: Send, B: Send>(self, left: impl FnOnce() -> A + Send, right: impl FnOnce() -> B + Send) -> (A, B) {
        if self.is_one() { (left(), right()) } else { rayon::join(left, right) }
    }
}
