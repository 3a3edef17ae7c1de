//! Calls that share a device that may fail: one call at a time opens it, and a loss that is reported late closes no newer device.

use crate::Error;
use crate::retry::Retry;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

fn failure() -> Error {
    Error::Unavailable { backend: "a model".into(), why: "it fails".into(), source: None }
}

/// What the threads of a test share: a device is the number of its opening.
struct Shared {
    retry: Retry<u32>,
    is_opening: AtomicBool,
    opened: AtomicU32,
}

impl Shared {
    fn of(retry: Retry<u32>) -> Arc<Self> {
        Arc::new(Self { retry, is_opening: AtomicBool::new(false), opened: AtomicU32::new(0) })
    }

    /// Opens the next device, or gets the one that is open.
    fn get(&self) -> Option<u32> {
        let open = |_| {
            assert!(!self.is_opening.swap(true, Ordering::SeqCst), "two calls open at a time");
            let number = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
            self.is_opening.store(false, Ordering::SeqCst);
            Ok(number)
        };
        self.retry.get(open).ok().map(|opened| opened.device)
    }
}

#[test]
fn one_call_opens_and_the_others_wait_for_nothing() {
    loom::model(|| {
        let shared = Shared::of(Retry::untried());
        let others = [(); 2].map(|()| {
            let shared = shared.clone();
            thread::spawn(move || shared.get())
        });
        let mut found = vec![shared.get()];
        found.extend(others.map(|other| other.join().expect("no thread panics")));
        assert!(found.contains(&Some(1)) && found.iter().all(|device| matches!(device, None | Some(1))), "{found:?}");
        assert_eq!(shared.opened.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_late_report_of_a_loss_closes_no_newer_device() {
    loom::model(|| {
        let shared = Shared::of(Retry::of(Ok(0)));
        // Both calls have the first device when it is lost.
        let opened = [(); 2].map(|()| shared.retry.get(|_| Err(failure())).expect("it is open"));
        let others = opened.map(|opened| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.retry.note(&opened, &Err::<(), _>(failure()), |_| true);
                shared.get()
            })
        });
        let found = others.map(|other| other.join().expect("no thread panics"));
        // The first loss lets the next call open the device; a second loss would let one call go on without it.
        assert_eq!(shared.opened.load(Ordering::SeqCst), 1, "{found:?}");
        assert_eq!(shared.retry.latest().and_then(Result::ok), Some(1));
        assert!(found.contains(&Some(1)), "{found:?}");
    });
}
