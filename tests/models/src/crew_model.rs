//! Calls that share a team: each does all of its work, the team is at nothing that was taken back, and ends.

use crate::crew::Crew;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

/// Shares out three parts of work, and returns how often they were done.
fn call(crew: &Crew, others: usize) -> usize {
    // What the team gets a reference to is gone when this returns.
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    crew.run(others, &|| {
        while next.fetch_add(1, Ordering::SeqCst) < 3 {
            done.fetch_add(1, Ordering::SeqCst);
        }
    });
    done.load(Ordering::SeqCst)
}

/// Checks every order in which threads are stopped so many times at places where they could go on.
fn check(stops: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut models = loom::model::Builder::new();
    models.preemption_bound = Some(stops);
    models.check(run);
}

#[test]
fn a_call_does_all_of_its_work_before_it_returns() {
    check(3, || assert_eq!(call(&Crew::default(), 1), 3));
    check(2, || assert_eq!(call(&Crew::default(), 2), 3));
}

#[test]
fn calls_share_a_team() {
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
