//! What the contract promises whatever the backend: refusals, keys that break their word, fallbacks, one device for all.

use polysort_core::{
    Backend, Error, Fallback, Limits, Masks, Options, Segments, Sort, Sortable, Spec, Word, permutation, sort_pairs_by_argsort,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// `std`'s stable sort, with a type parameter so that each test has a device of its own.
#[derive(Clone, Debug)]
struct Std<const TEST: usize>;

impl<const TEST: usize> Backend for Std<TEST> {
    fn open() -> Result<Self, Error> {
        Ok(Self)
    }

    fn name(&self) -> String {
        "std".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        keys.sort_by_key(|&key| spec.rank(key));
        Ok(())
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        let mut order = permutation::identity(keys.len())?;
        order.sort_by_key(|&i| spec.rank(keys[i as usize]));
        permutation::gather_pairs(keys, values, &order);
        Ok(())
    }
}

#[test]
fn a_spec_names_what_is_wrong_with_it() {
    assert!(matches!(Spec::new::<u16>(Masks::UNSIGNED, 3, 17), Err(Error::InvalidRange { begin: 3, end: 17, width: 16 })));
    assert!(matches!(Spec::new::<u16>(Masks::UNSIGNED, 9, 8), Err(Error::InvalidRange { begin: 9, end: 8, width: 16 })));
    assert!(matches!(Spec::new::<u16>(Masks::float(32), 0, 16), Err(Error::Unsupported { .. })));
    let error = Spec::of::<bool>(Options::ascending().bits(0..2)).unwrap_err();
    assert_eq!(error.to_string(), "the bit range 0..2 is not a range of a key of 1 bits");
    assert!(error.is_misuse());
}

#[test]
fn open_ranges_reach_the_keys_ends() {
    let window = |options| Spec::of::<char>(options).map(|spec| (spec.begin, spec.end)).unwrap();
    assert_eq!(window(Options::ascending()), (0, 21));
    assert_eq!(window(Options::ascending().bits(5..)), (5, 21));
    assert_eq!(window(Options::ascending().bits(..=7)), (0, 8));
    assert_eq!(window(Options::descending().bits(..)), (0, 21));
}

#[test]
fn ranks_are_the_window_of_the_ordered_bits() {
    let spec = Spec::new::<u32>(Masks::signed(32), 8, 24).unwrap();
    assert_eq!(spec.rank(0x1234_5678_u32), 0x3456);
    assert_eq!(Spec::new::<u32>(Masks::UNSIGNED.reversed(32), 28, 32).unwrap().rank(0x1234_5678_u32), 0xe);
    assert_eq!(Spec::new::<u128>(Masks::UNSIGNED, 64, 64).unwrap().rank(u128::MAX), 0);
}

#[test]
fn segments_name_the_first_that_is_wrong() {
    let wrong = |segments: Segments<'_>| match segments.check(10) {
        Err(Error::InvalidOffsets { index, begin, end, at_least, keys: 10 }) => (index, begin, end, at_least),
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(Segments::Offsets(&[0, 4, 3, 2])), (1, 4, 3, 4));
    assert_eq!(wrong(Segments::Offsets(&[0, 4, 11])), (1, 4, 11, 4));
    assert_eq!(wrong(Segments::Ranges { begins: &[0, 3], ends: &[4, 5] }), (1, 3, 5, 4));
    assert!(Segments::Offsets(&[2, 2, 10]).check(10).is_ok());
    assert!(Segments::Offsets(&[]).check(0).is_ok());
    assert!(Segments::Ranges { begins: &[1, 5], ends: &[3, 5] }.check(10).is_ok());
}

#[test]
fn permutations_are_checked_before_anything_moves() {
    let mut items = vec!["a".to_string(), "b".into(), "c".into()];
    for (wrong, position, index) in [([0, 1, 1], 2, 1), ([0, 3, 1], 1, 3)] {
        match permutation::apply(&mut items, &wrong) {
            Err(Error::InvalidPermutation { position: p, index: i, len: 3 }) => assert_eq!((p, i), (position, index)),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(permutation::apply(&mut items, &[0]), Err(Error::LengthMismatch { left_len: 3, right_len: 1, .. })));
    assert_eq!(items, ["a", "b", "c"]);
    permutation::apply(&mut items, &[2, 0, 1]).unwrap();
    assert_eq!(items, ["c", "a", "b"]);
}

#[test]
fn limits_refuse_with_both_numbers() {
    let mut limits = Limits::default();
    limits.max_bytes = 4000;
    assert_eq!(limits.longest(4), 1000);
    limits.check("this device", 1000, 4).unwrap();
    assert!(matches!(limits.check("this device", 1001, 4), Err(Error::TooLong { asked: 1001, limit: 1000, .. })));
}

#[test]
fn values_of_any_size_go_by_argsort_and_gather() {
    let (mut keys, mut values) = ([3_u8, 1, 2, 1], [[3_u8; 5], [1; 5], [2; 5], [9; 5]]);
    sort_pairs_by_argsort(&Std::<0>, &mut keys, &mut values, Spec::unsigned::<u8>()).unwrap();
    assert_eq!((keys, values), ([1, 1, 2, 3], [[1; 5], [9; 5], [2; 5], [3; 5]]));
}

/// A key that is well behaved until it is told not to be.
macro_rules! unruly_key {
    ($key:ident, $to_bits:expr, $from_bits:expr) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct $key(u16);
        impl Sortable for $key {
            type Bits = u16;
            const WIDTH: u32 = 12;
            fn to_bits(self) -> u16 {
                let to_bits: fn(u16) -> u16 = $to_bits;
                to_bits(self.0)
            }
            fn from_bits(bits: u16) -> Self {
                let from_bits: fn(u16) -> u16 = $from_bits;
                $key(from_bits(bits))
            }
        }
    };
}

#[test]
fn a_key_wider_than_it_says_is_refused_and_nothing_moves() {
    unruly_key!(Wide, |v| v, |b| b);
    let mut keys = [Wide(7), Wide(0x1000), Wide(1)];
    let mut values = [1_u32, 2, 3];
    let refused = Std::<0>.sort_pairs(&mut keys, &mut values).unwrap_err();
    assert!(matches!(refused, Error::InvalidKey { index: 1, bits: 0x1000, .. }), "{refused}");
    assert_eq!((keys, values), ([Wide(7), Wide(0x1000), Wide(1)], [1, 2, 3]));
    assert!(Std::<0>.argsort(&keys).is_err());
}

#[test]
fn a_key_that_does_not_come_back_is_refused_and_nothing_moves() {
    unruly_key!(Lossy, |v| v, |b| b & !1);
    let mut keys = [Lossy(8), Lossy(3), Lossy(2)];
    let mut values = [1_u32, 2, 3];
    let refused = Std::<0>.sort_pairs(&mut keys, &mut values).unwrap_err();
    assert!(matches!(refused, Error::InvalidKey { index: 1, bits: 3, .. }), "{refused}");
    assert!(Std::<0>.sort(&mut keys).is_err());
    assert_eq!((keys, values), ([Lossy(8), Lossy(3), Lossy(2)], [1, 2, 3]));
}

#[test]
fn a_key_that_changes_its_bits_gives_an_error_or_a_wrong_order_but_keeps_the_slice() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unruly_key!(Moody, |_| (CALLS.fetch_add(1, SeqCst) * 7 % 4096) as u16, |b| b);
    let mut keys: Vec<Moody> = (0..100).map(Moody).collect();
    let before = keys.clone();
    assert!(matches!(Std::<0>.sort(&mut keys), Err(Error::InvalidKey { .. })));
    assert_eq!(keys, before);
    // An argsort never maps back: the order is wrong, but it is a permutation.
    let mut order = Std::<0>.argsort(&keys).unwrap();
    order.sort_unstable();
    assert!(order.into_iter().eq(0..100));
}

#[test]
fn a_key_that_panics_is_passed_on_and_nothing_moves() {
    unruly_key!(Panics, |v| if v == 5 { panic!("five is right out") } else { v }, |b| b);
    unruly_key!(PanicsBack, |v| v, |b| if b == 5 { panic!("no way back") } else { b });
    let (mut keys, mut values) = ([Panics(9), Panics(5), Panics(1)], [1_u32, 2, 3]);
    let panic = catch_unwind(AssertUnwindSafe(|| Std::<0>.sort_pairs(&mut keys, &mut values))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"five is right out"));
    assert_eq!((keys, values), ([Panics(9), Panics(5), Panics(1)], [1, 2, 3]));

    let (mut keys, mut values) = ([PanicsBack(9), PanicsBack(5), PanicsBack(1)], [1_u32, 2, 3]);
    assert!(catch_unwind(AssertUnwindSafe(|| Std::<0>.sort_pairs(&mut keys, &mut values))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| Std::<0>.sort(&mut keys))).is_err());
    assert_eq!((keys, values), ([PanicsBack(9), PanicsBack(5), PanicsBack(1)], [1, 2, 3]));

    let mut items = vec!["b".to_string(), "a".into()];
    let closure = AssertUnwindSafe(|| Std::<0>.sort_by_key(&mut items, |_| -> u8 { panic!("no key") }));
    assert!(catch_unwind(closure).is_err());
    assert_eq!(items, ["b", "a"]);
}

/// Fails each sort with an error of its own, after writing nothing.
#[derive(Clone, Debug)]
struct Broken(Error);

impl Backend for Broken {
    fn open() -> Result<Self, Error> {
        Err(Error::Unavailable { backend: "broken".into(), why: "it is not plugged in".into(), source: None })
    }

    fn name(&self) -> String {
        "broken".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, _: &mut [W], _: Spec) -> Result<(), Error> {
        Err(self.0.clone())
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> {
        Err(self.0.clone())
    }
}

#[test]
fn a_fallback_takes_over_what_the_first_cannot_and_says_so() {
    let lost = Error::DeviceLost { backend: "broken".into(), why: "gone".into(), source: None };
    let both = Fallback::new(Ok(Broken(lost)), Std::<0>);
    let (mut keys, mut values) = ([2_u8, 1], ["b".as_bytes()[0], b'a']);
    both.sort(&mut keys).unwrap();
    both.sort_pairs(&mut [2, 1], &mut values).unwrap();
    assert_eq!((keys, values), ([1, 2], *b"ab"));
    assert_eq!(both.argsort(&[3.0, 1.0, 2.0]).unwrap(), [1, 2, 0]);
    assert_eq!(both.top_k(&[3, 1, 2], 1).unwrap().indices, [0]);
    both.sort_segments(&mut [1_u8, 0], &[0, 2]).unwrap();
    both.sort_pairs_segments(&mut [1_u8, 0], &mut [1_u8, 0], &[0, 2]).unwrap();
    assert_eq!(both.argsort_segments(&[1_u8, 0], &[0, 2]).unwrap(), [1, 0]);
    assert_eq!(both.bottom_k_segments(&[1_u8, 0, 7], 1, &[0, 2, 3]).unwrap().indices, [1, 2]);
    let report = both.report();
    assert_eq!((report.taken, report.fell_back), (0, 8));
    assert!(matches!(report.last_reason, Some(Error::DeviceLost { .. })));
    assert_eq!(both.name(), "broken, else std");
}

#[test]
fn a_fallback_from_what_cannot_be_opened() {
    let both = Fallback::<Broken, Std<1>>::global().unwrap();
    let mut keys = [2_i8, -1];
    both.sort(&mut keys).unwrap();
    assert_eq!(keys, [-1, 2]);
    assert!(matches!(both.primary(), Err(Error::Unavailable { .. })));
    assert!(matches!(both.report().last_reason, Some(Error::Unavailable { .. })));
    assert_eq!(both.name(), "std");
}

#[test]
fn a_callers_mistake_does_not_fall_back() {
    let mistake = Error::InvalidRange { begin: 2, end: 1, width: 8 };
    let both = Fallback::new(Ok(Broken(mistake)), Std::<0>);
    assert!(matches!(both.sort(&mut [2_u8, 1]), Err(Error::InvalidRange { .. })));
    assert_eq!(both.report().fell_back, 0);
}

#[test]
fn a_device_opens_once_and_again_after_it_was_lost() {
    static OPENED: AtomicUsize = AtomicUsize::new(0);
    static LOST: AtomicBool = AtomicBool::new(false);
    #[derive(Clone)]
    struct Counted(usize);
    impl Backend for Counted {
        fn open() -> Result<Self, Error> {
            // Long enough for others to come in.
            std::thread::sleep(std::time::Duration::from_millis(20));
            LOST.store(false, SeqCst);
            Ok(Counted(OPENED.fetch_add(1, SeqCst)))
        }
        fn name(&self) -> String {
            format!("device {}", self.0)
        }
        fn limits(&self) -> Limits {
            Limits::default()
        }
        fn is_lost(&self) -> bool {
            LOST.load(SeqCst)
        }
        fn sort_bits<W: Word>(&self, _: &mut [W], _: Spec) -> Result<(), Error> {
            Ok(())
        }
        fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, _: &mut [W], _: &mut [V], _: Spec) -> Result<(), Error> {
            Ok(())
        }
    }
    let names = || {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| Counted::global().unwrap().name())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        })
    };
    assert_eq!(names(), ["device 0"; 4]);
    LOST.store(true, SeqCst);
    assert_eq!(names(), ["device 1"; 4]);
}

#[test]
fn errors_say_what_to_do() {
    let error = Error::OutOfMemory { asked: 100, limit: Some(50) };
    assert_eq!(error.to_string(), "out of memory: 100 bytes were asked for, 50 are to be had; sort fewer keys at a time");
    let unavailable = Broken::open().unwrap_err();
    assert_eq!(unavailable.to_string(), "broken is unavailable: it is not plugged in; choose another backend or `Fallback`");
    assert!(!unavailable.is_misuse());
}
