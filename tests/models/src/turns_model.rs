//! Threads that wait for one device: never two inside the driver, and each of them ends.

use crate::turns::Turns;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

/// A device that has done the first `done` submissions.
#[derive(Default)]
struct Device {
    done: AtomicUsize,
    inside: AtomicUsize,
}

impl Device {
    /// Waits inside the driver for a submission, with which all earlier ones are done.
    fn wait(&self, submission: usize) {
        assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "two threads wait inside the driver");
        self.done.fetch_max(submission, Ordering::SeqCst);
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn one_thread_at_a_time_waits_inside_the_driver_and_all_go_on() {
    let mut models = loom::model::Builder::new();
    models.preemption_bound = Some(2);
    models.check(|| {
        let (turns, device) = (Arc::new(Turns::new()), Arc::new(Device::default()));
        let call = |submission: usize| {
            let (turns, device) = (turns.clone(), device.clone());
            move || {
                let is_done = || device.done.load(Ordering::SeqCst) >= submission;
                let had_its_turn = turns.take(is_done, || device.wait(submission)).is_some();
                assert!(is_done(), "a thread left before its submission was done");
                had_its_turn
            }
        };
        let others = [3, 1].map(|submission| thread::spawn(call(submission)));
        let mut turns_had = usize::from(call(2)());
        for other in others {
            turns_had += usize::from(other.join().expect("no thread panics"));
        }
        assert!((1..=3).contains(&turns_had));
    });
}

#[test]
fn a_thread_inside_the_driver_may_wait_again() {
    loom::model(|| {
        let turns = Arc::new(Turns::new());
        let other = {
            let turns = turns.clone();
            thread::spawn(move || turns.take(|| false, || ()))
        };
        assert_eq!(turns.take(|| false, || turns.take(|| false, || 7)), Some(Some(7)));
        assert_eq!(other.join().expect("no thread panics"), Some(()));
    });
}

#[test]
fn a_panic_inside_the_driver_ends_the_turn() {
    loom::model(|| {
        let turns = Arc::new(Turns::new());
        let other = {
            let turns = turns.clone();
            thread::spawn(move || turns.take(|| false, || ()))
        };
        let panic =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| turns.take(|| false, || panic!("the driver is broken"))));
        assert!(panic.is_err());
        assert_eq!(other.join().expect("no thread panics"), Some(()));
    });
}
