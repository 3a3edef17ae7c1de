//! What the contract promises for every backend: what a spec, segments, limits and permutations refuse, and one device for all callers.

use crate::support::Std;
use polysort_core::{
    Backend, Error, Limits, Masks, Options, Order, Segments, Sort, Spec, ValuesMut, Word, pairs_by_argsort, permutation,
};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

#[test]
fn a_spec_names_what_is_wrong_with_it() {
    assert!(matches!(Spec::new::<u16>(Masks::UNSIGNED, 3, 17), Err(Error::InvalidRange { begin: 3, end: 17, width: 16, .. })));
    assert!(matches!(Spec::new::<u16>(Masks::UNSIGNED, 9, 8), Err(Error::InvalidRange { begin: 9, end: 8, width: 16, .. })));
    assert!(matches!(Spec::new::<u16>(Masks::float(32), 0, 16), Err(Error::Unsupported { .. })));
    let wide = Spec::unsigned::<u16>();
    assert!(wide.check_pairs::<u16>(3, 3).is_ok());
    assert!(matches!(wide.check_pairs::<u16>(3, 2), Err(Error::LengthMismatch { left_len: 3, right_len: 2, .. })));
    assert!(matches!(wide.check_pairs::<u8>(3, 3), Err(Error::InvalidRange { end: 16, width: 8, .. })));
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
fn no_range_that_is_too_long_means_all_bits() {
    use std::ops::Bound;
    let refused = |options: Options| match Spec::of::<char>(options) {
        Err(Error::InvalidRange { begin, end, width: 21, .. }) => (begin, end),
        other => panic!("{options:?} gave {other:?}"),
    };
    for order in [Order::Ascending, Order::Descending] {
        let all = Options::ordered(order);
        assert_eq!(refused(all.bits(0..22)), (0, 22));
        assert_eq!(refused(all.bits(0..u32::MAX)), (0, u32::MAX));
        assert_eq!(refused(all.bits(..=u32::MAX - 1)), (0, u32::MAX));
        assert_eq!(refused(all.bits(..=u32::MAX)), (0, u32::MAX));
        assert_eq!(refused(all.bits(22..)), (22, 21));
        assert_eq!(refused(all.bits((Bound::Excluded(u32::MAX), Bound::Unbounded))), (u32::MAX, 21));
    }
    let mut keys = ['b', 'a'];
    assert!(Std::<0>.sort_with(&mut keys, Options::ascending().bits(0..u32::MAX)).is_err());
    assert_eq!(keys, ['b', 'a']);
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
        Err(Error::InvalidOffsets { index, begin, end, at_least, keys: 10, .. }) => (index, begin, end, at_least),
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(Segments::Offsets(&[0, 4, 3, 2])), (1, 4, 3, 4));
    assert_eq!(wrong(Segments::Offsets(&[0, 4, 11])), (1, 4, 11, 4));
    assert_eq!(wrong(Segments::Ranges { begins: &[0, 3], ends: &[4, 5] }), (1, 3, 5, 4));
    assert_eq!(wrong(Segments::Rows { rows: 3, len: 3, stride: 2 }), (1, 2, 5, 3));
    assert_eq!(wrong(Segments::Rows { rows: 3, len: 3, stride: 4 }), (2, 8, 11, 7));
    assert_eq!(wrong(Segments::Rows { rows: 3, len: 1, stride: usize::MAX }), (1, usize::MAX, usize::MAX, 1));
    assert!(Segments::Rows { rows: 3, len: 2, stride: 4 }.check(10).is_ok());
    // One row has no next one, and rows without keys are none, however many there are.
    assert!(Segments::Rows { rows: 1, len: 10, stride: 0 }.check(10).is_ok());
    assert!(Segments::Rows { rows: usize::MAX, len: 0, stride: 0 }.check(0).is_ok());
    assert!(
        Segments::Rows { rows: 7, len: 0, stride: 2 }.is_empty() && !Segments::Rows { rows: 1, len: 1, stride: 0 }.is_empty()
    );
    assert!(Segments::Rows { rows: 3, len: 2, stride: 4 }.ranges().eq([0..2, 4..6, 8..10]));
    assert_eq!(Segments::Rows { rows: 4, len: 2, stride: usize::MAX / 2 }.range(3), usize::MAX..usize::MAX);
    assert!(Segments::Offsets(&[2, 2, 10]).check(10).is_ok());
    assert!(Segments::Offsets(&[]).check(0).is_ok());
    assert!(Segments::Ranges { begins: &[1, 5], ends: &[3, 5] }.check(10).is_ok());
}

#[test]
fn segments_are_empty_if_there_are_none() {
    assert!(Segments::Offsets(&[]).is_empty() && Segments::Offsets(&[0]).is_empty());
    assert!(Segments::Ranges { begins: &[], ends: &[] }.is_empty());
    // One segment without keys.
    assert!(!Segments::Offsets(&[0, 0]).is_empty());
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_permutation_has_at_most_as_many_elements_as_there_are_indices() {
    let most = permutation::MAX_LEN as usize;
    assert!(permutation::check_len(most).is_ok());
    let outcome = permutation::check_len(most + 1);
    assert!(matches!(outcome, Err(Error::TooLong { asked: 0x1_0000_0001, limit: 0x1_0000_0000, .. })), "{outcome:?}");
}

#[test]
fn permutations_are_checked_before_anything_moves() {
    let mut items = vec!["a".to_string(), "b".into(), "c".into()];
    for (wrong, position, index) in [([0, 1, 1], 2, 1), ([0, 3, 1], 1, 3)] {
        match permutation::apply(&mut items, &wrong) {
            Err(Error::InvalidPermutation { position: p, index: i, len: 3, .. }) => assert_eq!((p, i), (position, index)),
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
    assert_eq!([0, 1, 8, usize::MAX].map(|size| limits.longest(size)), [4000, 4000, 500, 0]);
    limits.min_element_bytes = 4;
    assert_eq!([0, 1, 2, 4, 8].map(|size| limits.longest(size)), [1000, 1000, 1000, 1000, 500]);
    assert_eq!(Limits::default().longest(0), u64::MAX);
}

#[test]
fn values_of_any_size_go_by_argsort_and_gather() {
    let (mut keys, mut values) = ([3_u8, 1, 2, 1], [[3_u8; 5], [1; 5], [2; 5], [9; 5]]);
    pairs_by_argsort(&Std::<0>, &mut keys, ValuesMut::of(&mut values), None, Spec::unsigned::<u8>()).unwrap();
    assert_eq!((keys, values), ([1, 1, 2, 3], [[1; 5], [9; 5], [2; 5], [3; 5]]));
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
    assert_eq!(error.to_string(), "out of memory: 100 bytes were asked for, 50 are available; sort fewer keys at a time");
    let unavailable = Error::Unavailable { backend: "the card".into(), why: "it is not plugged in".into(), source: None };
    assert_eq!(unavailable.to_string(), "the card is unavailable: it is not plugged in; choose another backend");
    assert!(!unavailable.is_misuse());
}
