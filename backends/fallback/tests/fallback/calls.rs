//! Fallbacks: which backend answers, and when a primary backend that failed is tried again.

use crate::support::watched;
use polysort_core::{AnyOperation, Backend, Error, Limits, Sort, Spec, Word, sorts_by_run};
use polysort_fallback::Fallback;
use polysort_kit::StdBackend;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};

/// What the backends of one test do.
struct Script {
    /// Opening a backend fails.
    fails_to_open: AtomicBool,
    /// How often opening one was tried, and did not fail.
    tried: AtomicUsize,
    opened: AtomicUsize,
    /// Backends with a lower number are lost.
    lost_below: AtomicUsize,
    /// What each sort fails with, if it fails.
    failure: Mutex<Option<Error>>,
}

impl Script {
    const fn new() -> Self {
        Self {
            fails_to_open: AtomicBool::new(false),
            tried: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            lost_below: AtomicUsize::new(0),
            failure: Mutex::new(None),
        }
    }

    fn failure(&self) -> MutexGuard<'_, Option<Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tried(&self) -> usize {
        self.tried.load(SeqCst)
    }

    /// All backends that are open now are lost.
    fn lose(&self) {
        self.lost_below.store(self.opened.load(SeqCst), SeqCst);
    }
}

static SCRIPTS: [Script; 10] = [const { Script::new() }; 10];

/// A backend that opens, is lost and fails as the script of its test says.
#[derive(Clone, Debug)]
struct Scripted<const TEST: usize> {
    number: usize,
}

impl<const TEST: usize> Scripted<TEST> {
    fn answer(&self) -> Result<(), Error> {
        if self.is_lost() {
            return Err(lost());
        }
        SCRIPTS[TEST].failure().clone().map_or(Ok(()), Err)
    }
}

impl<const TEST: usize> Backend for Scripted<TEST> {
    fn open() -> Result<Self, Error> {
        let script = &SCRIPTS[TEST];
        script.tried.fetch_add(1, SeqCst);
        if script.fails_to_open.load(SeqCst) {
            return Err(unavailable());
        }
        Ok(Self { number: script.opened.fetch_add(1, SeqCst) })
    }

    fn name(&self) -> String {
        "scripted".into()
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.max_len = 7;
        limits
    }

    fn is_lost(&self) -> bool {
        self.number < SCRIPTS[TEST].lost_below.load(SeqCst)
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.answer()?;
        StdBackend.run(operation, spec)
    }
}

fn unavailable() -> Error {
    Error::Unavailable { backend: "scripted".into(), why: "it is not plugged in".into(), source: None }
}

fn lost() -> Error {
    Error::DeviceLost { backend: "scripted".into(), why: "gone".into(), source: None }
}

/// Sorts two keys and returns whether the primary backend did it.
fn is_taken<P: Backend, S: Backend>(both: &Fallback<P, S>) -> bool {
    let (before, mut keys) = (both.report(), [2_u8, 1]);
    both.sort(&mut keys).unwrap();
    assert_eq!(keys, [1, 2]);
    let (taken, fell_back) = (both.report().taken - before.taken, both.report().fell_back - before.fell_back);
    assert_eq!(taken + fell_back, 1);
    taken == 1
}

#[test]
fn the_second_takes_over_what_the_first_cannot_and_counts_it() {
    let both = Fallback::new(Scripted::<0>::open(), StdBackend);
    *SCRIPTS[0].failure() = Some(Error::OutOfMemory { asked: 8, limit: None });
    let (mut keys, mut values) = ([2_u8, 1], *b"ba");
    both.sort(&mut keys).unwrap();
    both.sort_pairs(&mut [2, 1], &mut values).unwrap();
    assert_eq!((keys, values), ([1, 2], *b"ab"));
    both.sort_into(&[2_u8, 1], &mut keys).unwrap();
    both.sort_pairs_into(&[2_u8, 1], b"ba", &mut keys, &mut values).unwrap();
    assert_eq!((keys, values), ([1, 2], *b"ab"));
    assert_eq!(both.argsort(&[3.0, 1.0, 2.0]).unwrap(), [1, 2, 0]);
    assert_eq!(both.top_k(&[3, 1, 2], 1).unwrap().indices, [0]);
    both.sort_segments(&mut [1_u8, 0], &[0, 2]).unwrap();
    both.sort_pairs_segments(&mut [1_u8, 0], &mut [1_u8, 0], &[0, 2]).unwrap();
    assert_eq!(both.argsort_segments(&[1_u8, 0], &[0, 2]).unwrap(), [1, 0]);
    assert_eq!(both.bottom_k_segments(&[1_u8, 0, 7], 1, &[0, 2, 3]).unwrap().indices, [1, 2]);
    let report = both.report();
    assert_eq!((report.taken, report.fell_back), (0, 10));
    assert!(matches!(report.last_reason, Some(Error::OutOfMemory { .. })));
    assert_eq!(both.name(), "scripted, else std");
    // It failed, but is neither lost nor opened again.
    assert_eq!((SCRIPTS[0].tried(), both.primary().is_ok()), (1, true));
    *SCRIPTS[0].failure() = None;
    assert!(is_taken(&both));
}

#[test]
fn a_callers_mistake_does_not_fall_back() {
    let both = Fallback::new(Scripted::<1>::open(), StdBackend);
    *SCRIPTS[1].failure() = Some(Spec::new::<u8>(polysort_core::Masks::UNSIGNED, 2, 1).unwrap_err());
    assert!(matches!(both.sort(&mut [2_u8, 1]), Err(Error::InvalidRange { .. })));
    assert_eq!(both.report().fell_back, 0);
}

#[test]
fn a_first_that_does_not_open_is_tried_again_by_the_next_call() {
    SCRIPTS[2].fails_to_open.store(true, SeqCst);
    let both = Fallback::<Scripted<2>, StdBackend>::global().unwrap();
    assert_eq!((both.name().as_str(), SCRIPTS[2].tried()), ("std", 1));
    assert!(matches!(both.primary(), Err(Error::Unavailable { .. })));
    assert_eq!(SCRIPTS[2].tried(), 1, "looking at the first backend is no try");
    assert!(!is_taken(&both));
    assert!(matches!(both.report().last_reason, Some(Error::Unavailable { .. })));
    assert_eq!(SCRIPTS[2].tried(), 2);
    // After two failures one call goes without it. The clone is the same fallback.
    let clone = both.clone();
    SCRIPTS[2].fails_to_open.store(false, SeqCst);
    assert!(!is_taken(&clone));
    assert!(is_taken(&both));
    assert_eq!((clone.name().as_str(), clone.report().taken), ("scripted, else std", 1));
    let shared = Fallback::<Scripted<2>, StdBackend>::global().unwrap();
    assert!(is_taken(&shared));
    assert_eq!((SCRIPTS[2].tried(), shared.report().taken), (3, 2), "the shared one is the same one still");
}

/// After `k` failures in a row, `2^(k-1) - 1` calls go without a try, 1023 at most. A success starts anew.
#[test]
fn tries_become_rarer_up_to_a_bound_and_a_success_resets_them() {
    let script = &SCRIPTS[3];
    script.fails_to_open.store(true, SeqCst);
    let both = Fallback::<Scripted<3>, StdBackend>::open().unwrap();
    let until_tried = || {
        let before = script.tried();
        (0..5000).find(|_| !is_taken(&both) && script.tried() > before).expect("a try within 5000 calls")
    };
    for expected in [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1023, 1023] {
        assert_eq!(until_tried(), expected);
    }
    script.fails_to_open.store(false, SeqCst);
    for _ in 0..1023 {
        assert!(!is_taken(&both));
    }
    assert!(is_taken(&both));
    script.lose();
    assert!(!is_taken(&both));
    assert!(is_taken(&both), "the count of failures starts anew after a success");
}

#[test]
fn a_first_that_is_lost_is_opened_again() {
    let script = &SCRIPTS[4];
    let both = Fallback::<Scripted<4>, StdBackend>::open().unwrap();
    assert!(is_taken(&both));
    script.lose();
    assert!(!both.is_lost(), "the second one is there");
    assert!(!is_taken(&both), "the call that finds the loss goes to the second one");
    assert!(matches!(both.primary(), Err(Error::DeviceLost { .. })));
    assert!(matches!(both.report().last_reason, Some(Error::DeviceLost { .. })));
    assert!(is_taken(&both));
    assert_eq!((script.tried(), both.primary().unwrap().number), (2, 1));
    // Devices that open and are lost at once are tried less and less often as well.
    let before = script.tried();
    script.lost_below.store(usize::MAX, SeqCst);
    for _ in 0..130 {
        assert!(!is_taken(&both));
    }
    assert_eq!(script.tried() - before, 7, "in calls 2, 4, 8, 16, …, 128");
}

#[test]
fn it_is_lost_with_the_second_and_has_the_limits_of_the_second() {
    let script = &SCRIPTS[5];
    let both = Fallback::new(Ok(StdBackend), Scripted::<5>::open().unwrap());
    assert_eq!((both.limits(), both.limits().longest(1)), (both.secondary().limits(), 7));
    assert!(!both.is_lost());
    script.lose();
    assert!(both.is_lost());
    let other = Fallback::new(Scripted::<5>::open(), StdBackend);
    assert_eq!(other.limits(), Limits::default());
    // The shared one opens again with its second backend.
    let shared = Fallback::<StdBackend, Scripted<5>>::global().unwrap();
    let number = shared.secondary().number;
    script.lose();
    assert!(shared.is_lost());
    assert_eq!(Fallback::<StdBackend, Scripted<5>>::global().unwrap().secondary().number, number + 1);
}

#[test]
fn calls_that_come_while_the_first_opens_do_not_wait() {
    static INSIDE: Barrier = Barrier::new(2);
    static LEAVE: Barrier = Barrier::new(2);
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    #[derive(Clone, Debug)]
    struct Slow;
    impl Backend for Slow {
        fn open() -> Result<Self, Error> {
            if TRIED.fetch_add(1, SeqCst) == 0 {
                return Err(unavailable());
            }
            INSIDE.wait();
            LEAVE.wait();
            Ok(Slow)
        }
        fn name(&self) -> String {
            "slow".into()
        }
        fn limits(&self) -> Limits {
            Limits::default()
        }
        fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
            StdBackend.sort_bits(keys, spec)
        }
        fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
            StdBackend.sort_pairs_bits(keys, values, spec)
        }
    }
    watched(|| {
        let both = Fallback::<Slow, StdBackend>::open().unwrap();
        let same = both.clone();
        let opening = std::thread::spawn(move || same.sort(&mut [2, 1]));
        INSIDE.wait();
        for _ in 0..3 {
            both.sort(&mut [2, 1]).unwrap();
        }
        assert_eq!((both.report().taken, both.report().fell_back), (0, 3));
        LEAVE.wait();
        opening.join().unwrap().unwrap();
        assert_eq!((both.report().taken, TRIED.load(SeqCst)), (1, 2));
    });
}

#[test]
fn a_panic_while_the_first_opens_counts_as_a_failure() {
    static TRIED: AtomicUsize = AtomicUsize::new(0);
    #[derive(Clone, Debug)]
    struct Panics;
    impl Backend for Panics {
        fn open() -> Result<Self, Error> {
            match TRIED.fetch_add(1, SeqCst) {
                0 => Err(unavailable()),
                1 => panic!("the driver is broken"),
                _ => Ok(Self),
            }
        }
        fn name(&self) -> String {
            "panics".into()
        }
        fn limits(&self) -> Limits {
            Limits::default()
        }
        fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
            StdBackend.sort_bits(keys, spec)
        }
        fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
            StdBackend.sort_pairs_bits(keys, values, spec)
        }
    }
    let both = Fallback::<Panics, StdBackend>::open().unwrap();
    let mut keys = [2, 1];
    assert!(catch_unwind(AssertUnwindSafe(|| both.sort(&mut keys))).is_err());
    assert_eq!(keys, [2, 1]);
    let taken: Vec<bool> = (0..3).map(|_| is_taken(&both)).collect();
    assert_eq!((taken, TRIED.load(SeqCst)), (vec![false, true, true], 3));
}

/// A call that finds an old device lost does not throw away the one that another call has opened meanwhile.
#[test]
fn a_late_loss_does_not_close_the_next_device() {
    static LATE: Barrier = Barrier::new(2);
    static GO: Barrier = Barrier::new(2);
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    static WAITS: AtomicBool = AtomicBool::new(true);
    #[derive(Clone, Debug)]
    struct Numbered(usize);
    impl Backend for Numbered {
        fn open() -> Result<Self, Error> {
            Ok(Self(OPENED.fetch_add(1, SeqCst)))
        }
        fn name(&self) -> String {
            "numbered".into()
        }
        fn limits(&self) -> Limits {
            Limits::default()
        }
        fn is_lost(&self) -> bool {
            self.0 == 0
        }
        fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
            if self.0 > 0 {
                return StdBackend.sort_bits(keys, spec);
            }
            // The first call on the first device notes its loss late.
            if WAITS.swap(false, SeqCst) {
                LATE.wait();
                GO.wait();
            }
            Err(lost())
        }
        fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> {
            Err(lost())
        }
    }
    watched(|| {
        let both = Fallback::new(Numbered::open(), StdBackend);
        let same = both.clone();
        let late = std::thread::spawn(move || same.sort(&mut [2, 1]));
        LATE.wait();
        assert!(!is_taken(&both));
        assert!(is_taken(&both));
        GO.wait();
        late.join().unwrap().unwrap();
        assert_eq!(both.primary().unwrap().0, 1);
        assert!(is_taken(&both));
        assert_eq!(OPENED.load(SeqCst), 2);
    });
}
