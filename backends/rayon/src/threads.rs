//! The threads that a call may use. Nothing else in this crate starts work on another thread, so a number that a caller chose is
//! respected by every step, and a call on one thread never meets a pool.

use crate::tuning::{Costs, SCAN_COSTS, SELECTION_COSTS, SORT_COSTS, STEP_NS};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// How long one thread takes for some work, in nanoseconds, by the kind of the work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// A sort: several rounds of tasks, and more work on several threads than on one.
    Sort(u64),
    /// A merge of runs, a search of vectors, a count or a split of keys: one round of tasks, or two.
    Scan(u64),
    /// A selection: a scan of which each share begins slowly, and whose shares are joined by one thread.
    Selection(u64),
}

impl Work {
    /// The time on one thread, and what several threads cost.
    fn costs(self) -> (u64, Costs) {
        match self {
            Self::Sort(nanoseconds) => (nanoseconds, SORT_COSTS),
            Self::Scan(nanoseconds) => (nanoseconds, SCAN_COSTS),
            Self::Selection(nanoseconds) => (nanoseconds, SELECTION_COSTS),
        }
    }
}

/// A number of threads of the rayon pool that the calling thread belongs to; one is the calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads(usize);

impl Threads {
    /// The calling thread alone.
    pub(crate) const ONE: Self = Self(1);

    /// As many of `available` threads as the work is worth. `available` is asked only if it may be more than one.
    ///
    /// On `t` threads the work is taken to last `enter_ns + thread_ns * t + work / t` ([`Costs`]). This is least at the square root of
    /// `work / thread_ns`. One thread does work of which more threads are not expected to save `least_gain_ns`.
    pub(crate) fn worth(work: Work, available: impl FnOnce() -> usize) -> Self {
        let (nanoseconds, costs) = work.costs();
        if nanoseconds <= costs.enter_ns.max(costs.least_gain_ns) {
            return Self::ONE;
        }
        let work = (nanoseconds / costs.more_work.1).saturating_mul(costs.more_work.0);
        let most = nanoseconds - costs.least_gain_ns;
        let pays = |threads: u64| threads > 1 && costs.enter_ns + costs.thread_ns * threads + work / threads < most;
        let best = (work / costs.thread_ns).isqrt();
        if !pays(best) {
            return Self::ONE;
        }
        let threads = best.min(available() as u64);
        if pays(threads) { Self(threads as usize) } else { Self::ONE }
    }

    /// This many threads, whatever the work.
    #[cfg(test)]
    pub(crate) fn several(count: usize) -> Self {
        Self(count)
    }

    /// As many of these threads as the work is worth.
    pub(crate) fn that_pay(self, work: Work) -> Self {
        Self::worth(work, || self.0)
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
    pub(crate) fn map<R: Send>(self, count: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
        if self.is_one() || count == 1 {
            return (0..count).map(work).collect();
        }
        let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
        self.for_each(results.iter_mut().enumerate().collect(), &|| (), &|(), (index, result)| *result = Some(work(index)));
        results.into_iter().map(|result| result.expect("each index has run, or its panic goes on")).collect()
    }

    /// Does `work` for each of `tasks`: each thread takes the next one when it is done with the last. `state` makes what a thread uses for
    /// all its tasks.
    pub(crate) fn for_each<T: Send, S>(self, tasks: Vec<T>, state: &(dyn Fn() -> S + Sync), work: &(dyn Fn(&mut S, T) + Sync)) {
        let workers = self.0.min(tasks.len());
        let tasks = Mutex::new(tasks.into_iter());
        // A panic in `work` does not happen while the lock is held.
        let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let worker = |_| {
            let mut state = state();
            while let Some(task) = next() {
                work(&mut state, task);
            }
        };
        match workers {
            0 | 1 => worker(0),
            _ => side_by_side(workers, &worker),
        }
    }

    /// Does `work` on each thread for a share of `slice`, with the position of the share's first element.
    pub(crate) fn for_each_share<T: Send>(self, slice: &mut [T], work: &(dyn Fn(usize, &mut [T]) + Sync)) {
        if self.is_one() {
            return work(0, slice);
        }
        let share = slice.len().div_ceil(self.0).max(1);
        let shares = slice.chunks_mut(share).enumerate().collect();
        self.for_each(shares, &|| (), &|(), (at, own): (usize, &mut [T])| work(at * share, own));
    }

    /// Does both: `left` on the calling thread if that belongs to the pool.
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

// Functions are compiled for each closure that they get, which made up more than half of this crate's code. So rayon's functions get one closure
// each, and those above get references.

/// Does `work(0)`, `work(1)` and so on, `count` of them, on as many threads as are free.
fn side_by_side(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(work);
}

/// Does both: `left` on the calling thread if that belongs to the pool.
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
    fn longer_work_gets_more_threads() {
        let threads = |work, available| Threads::worth(work, || available).count();
        for kind in [Work::Sort, Work::Scan, Work::Selection] {
            for available in 1..=64 {
                let mut last = 1;
                for nanoseconds in (0..40).map(|bits| 1 << bits) {
                    let now = threads(kind(nanoseconds), available);
                    assert!(now >= last && now <= available, "{now} of {available} threads for {:?}", kind(nanoseconds));
                    last = now;
                }
                assert_eq!(last, available);
            }
            assert_eq!(threads(kind(u64::MAX), 3), 3);
        }
    }

    /// No other number of threads is much better by the model, and more than one is better than one.
    #[test]
    fn the_number_of_threads_is_the_best_one_by_the_model() {
        for kind in [Work::Sort, Work::Scan, Work::Selection] {
            for available in [1_usize, 2, 3, 8, 16, 64] {
                for nanoseconds in (100..400).map(|step| 1.05_f64.powi(step) as u64) {
                    let (_, costs) = kind(nanoseconds).costs();
                    let work = nanoseconds as f64 * costs.more_work.0 as f64 / costs.more_work.1 as f64;
                    let several = |threads: usize| {
                        let (enter, each) = (costs.enter_ns as f64, costs.thread_ns as f64);
                        enter + each * threads as f64 + work / threads as f64
                    };
                    let best = (2..=available).map(several).fold(f64::INFINITY, f64::min);
                    let threads = Threads::worth(kind(nanoseconds), || available).count();
                    if threads > 1 {
                        let most = nanoseconds as f64 * 1.001 - costs.least_gain_ns as f64;
                        assert!(several(threads) < most, "{threads} threads for {:?}", kind(nanoseconds));
                        assert!(several(threads) < best * 1.02, "{threads} of {available} threads for {:?}", kind(nanoseconds));
                    } else {
                        let least = nanoseconds as f64 * 0.97 - costs.least_gain_ns as f64;
                        assert!(best > least, "one of {available} threads for {:?}", kind(nanoseconds));
                    }
                }
            }
        }
    }

    #[test]
    fn a_step_gets_threads_that_have_enough_to_do() {
        let threads = Threads(4);
        let counts = [0, 1, 2, 3, 4, 5].map(|steps| threads.at_most(steps * STEP_NS).count());
        assert_eq!(counts, [1, 1, 2, 3, 4, 4]);
        assert_eq!(threads.at_most(2 * STEP_NS - 1), Threads::ONE);
    }

    /// Each task runs once, on no more threads than there are tasks or threads, each with a state of its own.
    #[test]
    fn each_task_runs_once() {
        for (threads, tasks) in [(1, 5), (3, 1), (3, 0), (3, 2), (3, 100)] {
            let (states, done) = (Mutex::new(0), Mutex::new(vec![0; tasks]));
            let state = || *states.lock().unwrap() += 1;
            Threads(threads).for_each((0..tasks).collect(), &state, &|(), task: usize| done.lock().unwrap()[task] += 1);
            assert_eq!(*done.lock().unwrap(), vec![1; tasks]);
            assert_eq!(*states.lock().unwrap(), threads.min(tasks).max(1), "{tasks} tasks of {threads} threads");
            assert!(Threads(threads).map(tasks, &|at| 2 * at).into_iter().eq((0..tasks).map(|at| 2 * at)));
        }
    }

    /// Shares are as many as threads, or as elements if these are fewer, and together they are the slice.
    #[test]
    fn each_element_is_in_one_share() {
        for (threads, len, shares) in [(1, 0, 1), (1, 5, 1), (3, 0, 0), (3, 2, 2), (3, 9, 3), (3, 10, 3)] {
            let (mut slice, count) = (vec![0; len], Mutex::new(0));
            Threads(threads).for_each_share(&mut slice, &|start, own| {
                own.iter_mut().enumerate().for_each(|(at, element)| *element += start + at + 1);
                *count.lock().unwrap() += 1;
            });
            assert!(slice.into_iter().eq(1..=len), "{len} elements on {threads} threads");
            assert_eq!(*count.lock().unwrap(), shares, "{len} elements on {threads} threads");
        }
    }

    /// Work that one thread does never meets a pool: it runs on the thread that asks.
    #[test]
    fn one_thread_is_the_calling_thread() {
        let caller = std::thread::current().id();
        let is_here = || std::thread::current().id() == caller;
        assert!(Threads::ONE.map(9, &|_| is_here()).into_iter().all(|here| here));
        assert!(Threads(3).map(1, &|_| is_here()).into_iter().all(|here| here));
        Threads::ONE.for_each(vec![(); 9], &|| (), &|(), ()| assert!(is_here()));
        Threads(3).for_each(vec![()], &|| (), &|(), ()| assert!(is_here()));
        assert_eq!(Threads::ONE.join(is_here, is_here), (true, true));
        // This thread is of no pool, so several threads are others.
        assert!(Threads(3).map(9, &|_| is_here()).into_iter().all(|here| !here));
        assert_eq!(Threads(3).join(is_here, is_here), (false, false));
    }

    /// A scan has one round of tasks, a sort has several.
    #[test]
    fn scans_get_more_threads_than_sorts_of_the_same_time() {
        let threads = |work| Threads::worth(work, || 16).count();
        let times = [100_000, 200_000, 400_000, 800_000];
        assert!(times.iter().all(|&time| threads(Work::Scan(time)) > threads(Work::Sort(time))));
    }

    #[test]
    fn short_sorts_do_not_ask_for_threads() {
        let asked = |nanoseconds| {
            let mut asked = false;
            Threads::worth(Work::Sort(nanoseconds), || {
                asked = true;
                16
            });
            asked
        };
        assert!(!asked(0) && !asked(100_000));
        assert!(asked(1_000_000));
    }
}
