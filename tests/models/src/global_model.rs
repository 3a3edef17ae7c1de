//! Calls that share the device of a backend type: it opens once, and again once after its loss.

use crate::global::Slots;
use crate::{Backend, Error, Spec, Word};
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;
use polysort_core::{Limits, Pod};
use std::sync::Arc;

loom::lazy_static! {
    static ref SLOTS: Slots = Slots::default();
    /// How often `Inner` was opened.
    static ref OPENED: AtomicU32 = AtomicU32::new(0);
}

/// A backend that knows its number and can be lost.
#[derive(Clone)]
struct Inner {
    number: u32,
    is_lost: Arc<AtomicBool>,
}

/// A backend that opens `Inner`, as a fallback does.
#[derive(Clone)]
struct Outer(Inner);

/// The functions of a backend that no test here calls.
macro_rules! does_not_sort {
    () => {
        fn name(&self) -> String {
            "a model".into()
        }

        fn limits(&self) -> Limits {
            Limits::default()
        }

        fn sort_bits<W: Word>(&self, _: &mut [W], _: Spec) -> Result<(), Error> {
            unreachable!("a model does not sort")
        }

        fn sort_pairs_bits<W: Word, V: Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> {
            unreachable!("a model does not sort")
        }
    };
}

impl Backend for Inner {
    fn open() -> Result<Self, Error> {
        Ok(Self { number: OPENED.fetch_add(1, Ordering::SeqCst) + 1, is_lost: Arc::new(AtomicBool::new(false)) })
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    does_not_sort!();
}

impl Backend for Outer {
    fn open() -> Result<Self, Error> {
        SLOTS.shared().map(Self)
    }

    does_not_sort!();
}

fn number() -> u32 {
    SLOTS.shared::<Inner>().expect("it opens").number
}

#[test]
fn a_device_opens_once_also_for_a_backend_that_opens_another() {
    loom::model(|| {
        let others = [thread::spawn(number), thread::spawn(|| SLOTS.shared::<Outer>().expect("it opens").0.number)];
        let mut numbers = vec![number()];
        numbers.extend(others.map(|other| other.join().expect("no thread panics")));
        assert_eq!((numbers, OPENED.load(Ordering::SeqCst)), (vec![1; 3], 1));
    });
}

#[test]
fn a_lost_device_is_opened_once_more() {
    loom::model(|| {
        let first = SLOTS.shared::<Inner>().expect("it opens");
        let other = thread::spawn(number);
        first.is_lost.store(true, Ordering::SeqCst);
        assert_eq!(number(), 2, "this thread knows of the loss");
        let other = other.join().expect("no thread panics");
        assert!(other == 1 || other == 2);
        assert_eq!(OPENED.load(Ordering::SeqCst), 2);
    });
}
