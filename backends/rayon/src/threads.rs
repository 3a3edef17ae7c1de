//! The threads that a call may use. Nothing else in this crate starts work on another thread, so a number that a caller chose is
//! respected by every step, and a call on one thread never meets a pool.

use crate::tuning::{ENTER_NS, PARALLEL_WORK, STEP_NS, THREAD_NS};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// A number of threads of the rayon pool that the calling thread belongs to; one is the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads(usize);

impl Threads {
    /// The calling thread alone.
    pub(crate) const ONE: Self = Self(1);

    /// As many of `available` threads as a sort is worth that takes one thread so many `nanoseconds`. `available` is asked only if it may be
    /// more than one.
    ///
    /// On `t` threads the sort is taken to last `ENTER_NS + THREAD_NS * t + work / t`, where `work` is `nanoseconds` times
    /// [`PARALLEL_WORK`]. This is least
    /// at the square root of `work / THREAD_NS`.
    pub(crate) fn worth(nanoseconds: u64, available: impl FnOnce() -> usize) -> Self {
        let work = (nanoseconds / PARALLEL_WORK.1).saturating_mul(PARALLEL_WORK.0);
        let pays = |threads: u64| threads > 1 && ENTER_NS + THREAD_NS * threads + work / threads < nanoseconds;
        let best = (work / THREAD_NS).isqrt();
        if !pays(best) {
            return Self::ONE;
        }
        let threads = best.min(available() as u64);
        if pays(threads) { Self(threads as usize) } else { Self::ONE }
    }

    /// As many of these threads as a sort is worth that takes one thread so many `nanoseconds`.
    pub(crate) fn worth_sorting(self, nanoseconds: u64) -> Self {
        Self::worth(nanoseconds, || self.0)
    }

    /// As many of these threads as a step is worth that takes one thread so many `nanoseconds`.
    pub(crate) fn at_most(self, nanoseconds: u64) -> Self {
        Self(self.0.min((nanoseconds / STEP_NS) as usize).max(1))
    }

    pub(crate) fn count(self) -> usize {
        self.0
    }

    pub(crate) fn is_one(self) -> bool {
        self.0 == 1
    }

    /// The results of `work(0)`, `work(1)` and so on, `count` of them.
    pub(crate) fn map<R: Send>(self, count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        let work: &(dyn Fn(usize) -> R + Sync) = &work;
        if self.is_one() || count == 1 {
            return (0..count).map(work).collect();
        }
        let results: Vec<Mutex<Option<R>>> = (0..count).map(|_| Mutex::new(None)).collect();
        side_by_side(count, &|index| {
            let result = work(index);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        let result = |slot: Mutex<Option<R>>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.into_iter().map(|slot| result(slot).expect("each index has run, or its panic goes on")).collect()
    }

    /// Does `work` for each of `tasks`: each thread takes the next one when it is done with the last. `state` makes what a thread uses for
    /// all its tasks.
    pub(crate) fn for_each<T: Send, S>(self, tasks: Vec<T>, state: impl Fn() -> S + Sync, work: impl Fn(&mut S, T) + Sync) {
        let workers = self.0.min(tasks.len());
        let work: &(dyn Fn(&mut S, T) + Sync) = &work;
        if workers <= 1 {
            let mut state = state();
            return tasks.into_iter().for_each(|task| work(&mut state, task));
        }
        let tasks = Mutex::new(tasks.into_iter());
        // A panic in `work` does not happen while the lock is held.
        let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
        side_by_side(workers, &|_| {
            let mut state = state();
            while let Some(task) = next() {
                work(&mut state, task);
            }
        });
    }

    /// Does both, `left` on the calling thread.
    pub(crate) fn join<A: Send, B: Send>(self, left: impl FnOnce() -> A + Send, right: impl FnOnce() -> B + Send) -> (A, B) {
        let (mut left, mut right) = (Once::new(left), Once::new(right));
        if self.is_one() {
            left.run();
            right.run();
        } else {
            both(&mut || left.run(), &mut || right.run());
        }
        (left.result(), right.result())
    }
}

/// Work that runs once, and its result.
struct Once<F, R> {
    work: Option<F>,
    result: Option<R>,
}

impl<R, F: FnOnce() -> R> Once<F, R> {
    fn new(work: F) -> Self {
        Self { work: Some(work), result: None }
    }

    fn run(&mut self) {
        self.result = self.work.take().map(|work| work());
    }

    fn result(self) -> R {
        self.result.expect("it has run, or its panic goes on")
    }
}

// Rayon's own functions are compiled for each closure that they get, which made up more than half of this crate's code. So they get one
// closure each.

/// Does `work(0)`, `work(1)` and so on, `count` of them, on as many threads as are free.
fn side_by_side(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(work);
}

/// Does both, `left` on the calling thread.
fn both(left: &mut (dyn FnMut() + Send), right: &mut (dyn FnMut() + Send)) {
    rayon::join(left, right);
}

/// Does `work` on a thread of `pool`, or of the pool that the calling thread belongs to.
pub(crate) fn within(pool: Option<&ThreadPool>, work: impl FnOnce() + Send) {
    fn within(pool: Option<&ThreadPool>, work: &mut (dyn FnMut() + Send)) {
        match pool {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        }
    }
    let mut work = Once::new(work);
    within(pool, &mut || work.run());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_sorts_get_more_threads() {
        let threads = |nanoseconds, available| Threads::worth(nanoseconds, || available).count();
        for available in 1..=64 {
            let mut last = 1;
            for nanoseconds in (0..40).map(|bits| 1 << bits) {
                let now = threads(nanoseconds, available);
                assert!(now >= last && now <= available, "{now} of {available} threads for {nanoseconds} ns");
                last = now;
            }
            assert_eq!(last, available);
        }
        assert_eq!(threads(u64::MAX, 3), 3);
    }

    #[test]
    fn short_sorts_do_not_ask_for_threads() {
        let asked = |nanoseconds| {
            let mut asked = false;
            Threads::worth(nanoseconds, || {
                asked = true;
                16
            });
            asked
        };
        assert!(!asked(0) && !asked(100_000));
        assert!(asked(1_000_000));
    }
}
