//! Calls that share the device of a type: it opens once, and again once after its loss.

use crate::Error;
use crate::global::Devices;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;

/// A device that knows its number and can be lost.
#[derive(Clone)]
struct Inner {
    number: u32,
    is_lost: Arc<AtomicBool>,
}

/// A device that opens `Inner`, as a fallback does.
#[derive(Clone)]
struct Outer(Inner);

#[derive(Default)]
struct Shared {
    devices: Devices,
    /// How often `Inner` was opened.
    opened: AtomicU32,
}

impl Shared {
    fn inner(&self) -> Result<Inner, Error> {
        let open = || {
            let number = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
            Ok(Inner { number, is_lost: Arc::new(AtomicBool::new(false)) })
        };
        self.devices.get(open, |inner: &Inner| inner.is_lost.load(Ordering::SeqCst))
    }

    fn outer(&self) -> Result<Outer, Error> {
        self.devices.get(|| self.inner().map(Outer), |_| false)
    }

    fn number(&self) -> u32 {
        self.inner().expect("it opens").number
    }
}

#[test]
fn a_device_opens_once_also_for_a_device_that_opens_another() {
    loom::model(|| {
        let shared = Arc::new(Shared::default());
        let (one, other) = (shared.clone(), shared.clone());
        let others = [thread::spawn(move || one.number()), thread::spawn(move || other.outer().expect("it opens").0.number)];
        let mut numbers = vec![shared.number()];
        numbers.extend(others.map(|other| other.join().expect("no thread panics")));
        assert_eq!((numbers, shared.opened.load(Ordering::SeqCst)), (vec![1; 3], 1));
    });
}

#[test]
fn a_lost_device_is_opened_once_more() {
    loom::model(|| {
        let shared = Arc::new(Shared::default());
        let first = shared.inner().expect("it opens");
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.number())
        };
        first.is_lost.store(true, Ordering::SeqCst);
        assert_eq!(shared.number(), 2, "this thread knows of the loss");
        let other = other.join().expect("no thread panics");
        assert!(other == 1 || other == 2);
        assert_eq!(shared.opened.load(Ordering::SeqCst), 2);
    });
}
