//! `Crew`: a thread pool that helps calls with their copies.
//!
//! The threads start when they are first needed, and end with their device. They run copies only. So a call that waits
//! for them never waits for another call. A rayon pool is not suitable: while a rayon thread waits for its part of a
//! copy, it may run another task, and that task may call the backend.

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, start_thread};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A thread pool. Dropping it ends the threads.
#[derive(Default)]
pub(crate) struct Crew(Arc<Team>);

/// The state that the threads share with the calls.
#[derive(Default)]
struct Team {
    state: Mutex<State>,
    /// Notified when there are jobs for waiting threads, and when the threads must end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Jobs that no thread has started, first come, first served. A job for three threads is in the queue three times.
    jobs: VecDeque<Arc<Job>>,
    /// The number of threads that have been started.
    threads: usize,
    /// The number of threads that wait for a job and have not been notified yet.
    idle: usize,
    has_ended: bool,
}

/// Work that a caller shares with the threads.
struct Job {
    work: Work,
    progress: Mutex<Progress>,
    /// Notified when a thread has done its part.
    changed: Condvar,
}

#[derive(Default)]
struct Progress {
    /// The number of threads that run the work at the moment.
    at_work: usize,
    /// Whether a thread has panicked in the work.
    has_panicked: bool,
}

/// A pointer to a reference to the caller's work: to a `&(dyn Fn() + Sync)`, without its lifetimes.
struct Work(*const ());

#[allow(unsafe_code, reason = "threads that outlive a call do work that it lends them")]
// SAFETY: the work is `Sync`, so that any thread may call it through a reference.
unsafe impl Send for Work {}

#[allow(unsafe_code, reason = "threads that outlive a call do work that it lends them")]
// SAFETY: as for `Send`. Threads only call the work.
unsafe impl Sync for Work {}

impl Work {
    fn of(work: &&(dyn Fn() + Sync)) -> Self {
        Self(core::ptr::from_ref(work).cast())
    }

    /// # Safety
    /// The reference that [`Work::of`] got, and the one behind it, must be valid until this returns.
    #[allow(unsafe_code, reason = "threads that outlive a call do work that it lends them")]
    unsafe fn call(&self) {
        // SAFETY: `of` made the pointer from a reference of this type. The caller guarantees that the reference is valid.
        let work: &&(dyn Fn() + Sync) = unsafe { &*self.0.cast() };
        work();
    }
}

impl Crew {
    /// Calls `work` in this thread and, at the same time, in up to `others` threads of the pool. Returns when all of
    /// these calls have returned. Busy threads do not help, so one call of `work` alone must be able to do all of the
    /// work. This thread calls `beside` first.
    ///
    /// # Panics
    /// If a call of `work` panics, or `beside`.
    pub(crate) fn run(&self, others: usize, beside: impl FnOnce(), work: &(dyn Fn() + Sync)) {
        if others == 0 {
            beside();
            return work();
        }
        let job = Arc::new(Job { work: Work::of(&work), progress: Mutex::default(), changed: Condvar::new() });
        // Threads of the pool may call `work` until `lent` is dropped. `lent` is dropped before `work`, also if this
        // thread panics.
        let lent = Lent { team: &self.0, job };
        self.0.add(&lent.job, others);
        beside();
        work();
        let has_panicked = lent.end();
        assert!(!has_panicked, "a thread that helped with a copy panicked");
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.0.state().has_ended = true;
        self.0.changed.notify_all();
    }
}

/// A job that threads of the pool may start. Dropping it withdraws the job.
struct Lent<'a> {
    team: &'a Team,
    job: Arc<Job>,
}

impl Lent<'_> {
    /// Removes the job from the queue, and waits for the threads that have started it. Returns whether one has panicked.
    fn end(&self) -> bool {
        self.team.state().jobs.retain(|job| !Arc::ptr_eq(job, &self.job));
        let mut progress = self.job.progress();
        while progress.at_work > 0 {
            progress = self.job.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
        progress.has_panicked
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl Team {
    /// Gives the job to up to `others` idle threads. Starts more threads if there are fewer than `others`.
    fn add(self: &Arc<Self>, job: &Arc<Job>, others: usize) {
        let mut state = self.state();
        let woken = others.min(state.idle);
        state.idle -= woken;
        let mut started = 0;
        while state.threads < others && woken + started < others {
            let team = self.clone();
            if !start_thread(move || team.work()) {
                // The system has no thread: the caller and the existing threads do the work.
                break;
            }
            state.threads += 1;
            started += 1;
        }
        state.jobs.extend((0..woken + started).map(|_| job.clone()));
        drop(state);
        (0..woken).for_each(|_| self.changed.notify_one());
    }

    /// The main loop of each thread: runs job after job, until the pool ends.
    fn work(&self) {
        while let Some(job) = self.begin_next() {
            // SAFETY: `Crew::run` made the work from references that live until its `Lent` is dropped. The drop waits
            // until `at_work` is 0. `begin_next` has counted this thread in `at_work`, and took the job from the queue
            // under the lock under which `Lent::end` would have removed it.
            #[allow(unsafe_code, reason = "threads that outlive a call do work that it lends them")]
            let call = || unsafe { job.work.call() };
            let has_panicked = catch_unwind(AssertUnwindSafe(call)).is_err();
            let mut progress = job.progress();
            progress.at_work -= 1;
            progress.has_panicked |= has_panicked;
            drop(progress);
            job.changed.notify_all();
        }
    }

    /// Waits for a job, and marks it as started. Returns `None` when the pool ends.
    fn begin_next(&self) -> Option<Arc<Job>> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                job.progress().at_work += 1;
                return Some(job);
            }
            if state.has_ended {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
