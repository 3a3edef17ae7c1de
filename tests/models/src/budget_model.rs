//! Calls that share a budget: never more bytes than the cap, and every call gets its turn.

use crate::budget::Budget;
use core::time::Duration;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use std::sync::Arc;

/// No permit comes too late in a model: its waits have no end but a notification.
const PATIENCE: Duration = Duration::MAX;

/// Takes `bytes`, and gives them back after `in_flight` was found within the cap.
fn call(budget: &Arc<Budget>, in_flight: &AtomicU64, bytes: u64) {
    let permit = budget.take(bytes, PATIENCE, || true).expect("nobody is refused");
    let others = in_flight.fetch_add(bytes, Ordering::SeqCst);
    assert!(others == 0 || others + bytes <= budget.cap(), "{others} bytes and {bytes} more");
    in_flight.fetch_sub(bytes, Ordering::SeqCst);
    drop(permit);
}

#[test]
fn calls_stay_within_the_cap_and_all_end() {
    for sizes in [[60, 60, 40], [30, 200, 30], [50, 50, 50]] {
        // Every order in which threads are stopped twice at places where they could go on.
        let mut models = loom::model::Builder::new();
        models.preemption_bound = Some(2);
        models.check(move || {
            let (budget, in_flight) = (Arc::new(Budget::new(100)), Arc::new(AtomicU64::new(0)));
            let others = [sizes[1], sizes[2]].map(|bytes| {
                let (budget, in_flight) = (budget.clone(), in_flight.clone());
                thread::spawn(move || call(&budget, &in_flight, bytes))
            });
            call(&budget, &in_flight, sizes[0]);
            for other in others {
                other.join().expect("no thread panics");
            }
            // All of it is there again.
            assert!(budget.try_take(100).is_some());
        });
    }
}

#[test]
fn a_call_that_waits_is_not_overtaken() {
    loom::model(|| {
        let budget = Arc::new(Budget::new(100));
        let first = budget.try_take(60).expect("it is alone");
        let waiting = {
            let budget = budget.clone();
            thread::spawn(move || budget.take(100, PATIENCE, || true).map(|permit| permit.bytes()))
        };
        // Either the other call does not wait yet, or it is before this one.
        drop(budget.try_take(40));
        drop(first);
        assert_eq!(waiting.join().expect("no thread panics"), Ok(100));
    });
}
