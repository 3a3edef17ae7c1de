//! Calls that share a thread pool: each does all of its work, no thread runs a job that was withdrawn, and the threads end.

use crate::crew::Crew;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

/// Runs three parts of work on the pool, and returns the number of parts that were done.
fn call(crew: &Crew, others: usize) -> usize {
    // The threads get references to these counters, which are dropped when this returns.
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    crew.run(others, || (), &|| {
        while next.fetch_add(1, Ordering::SeqCst) < 3 {
            done.fetch_add(1, Ordering::SeqCst);
        }
    });
    done.load(Ordering::SeqCst)
}

/// Runs a test in all orders with at most `preemptions` preemptions.
fn check(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut models = loom::model::Builder::new();
    models.preemption_bound = Some(preemptions);
    models.check(run);
}

#[test]
fn a_call_does_all_of_its_work_before_it_returns() {
    check(3, || assert_eq!(call(&Crew::default(), 1), 3));
    check(2, || assert_eq!(call(&Crew::default(), 2), 3));
}

#[test]
fn two_calls_share_the_threads() {
    check(2, || {
        let crew = Arc::new(Crew::default());
        let other = {
            let crew = crew.clone();
            thread::spawn(move || call(&crew, 1))
        };
        assert_eq!(call(&crew, 1), 3);
        assert_eq!(other.join().unwrap(), 3);
    });
}
