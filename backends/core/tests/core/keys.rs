//! Keys of every kind through every operation: nothing of a key is lost, and a key that breaks the contract is refused.

use crate::support::Std;
use polysort_core::{Error, InPlace, MaskKey, Masks, NoneLast, Options, Sort, Sortable, Spec, permutation};
use std::cmp::Reverse;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const BACKEND: Std<0> = Std;

/// A score with an id that the bits do not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Item {
    score: u32,
    id: u32,
}

impl Sortable for Item {
    type Bits = u32;

    fn to_bits(self) -> u32 {
        self.score
    }

    fn from_bits(_: u32) -> Self {
        panic!("a sort must not make items of bits that do not hold them")
    }
}

const ITEMS: [Item; 6] = [
    Item { score: 3, id: 0 },
    Item { score: 1, id: 1 },
    Item { score: 3, id: 2 },
    Item { score: 2, id: 3 },
    Item { score: 1, id: 4 },
    Item { score: 2, id: 5 },
];

fn ids(items: &[Item]) -> Vec<u32> {
    items.iter().map(|item| item.id).collect()
}

#[test]
fn a_key_that_its_bits_do_not_hold_is_moved_whole() -> Result<(), Error> {
    let mut items = ITEMS;
    BACKEND.sort(&mut items)?;
    assert_eq!(ids(&items), [1, 4, 3, 5, 0, 2]);
    let mut items = ITEMS;
    BACKEND.sort_with(&mut items, Options::descending())?;
    assert_eq!(ids(&items), [0, 2, 3, 5, 1, 4]);
    let mut items = ITEMS;
    BACKEND.sort_with(&mut items, Options::ascending().bits(1..))?;
    assert_eq!(ids(&items), [1, 4, 0, 2, 3, 5]);

    let (mut items, mut values) = (ITEMS, [10, 11, 12, 13, 14, 15]);
    BACKEND.sort_pairs(&mut items, &mut values)?;
    assert_eq!((ids(&items), values), (vec![1, 4, 3, 5, 0, 2], [11, 14, 13, 15, 10, 12]));

    let mut items = ITEMS;
    BACKEND.sort_segments(&mut items, &[0, 2, 6])?;
    assert_eq!(ids(&items), [1, 0, 4, 3, 5, 2]);
    let (mut items, mut values) = (ITEMS, [10, 11, 12, 13, 14, 15]);
    BACKEND.sort_pairs_segments(&mut items, &mut values, &[0, 2, 6])?;
    assert_eq!((ids(&items), values), (vec![1, 0, 4, 3, 5, 2], [11, 10, 14, 13, 15, 12]));

    let mut sorted = [Item { score: 0, id: 99 }; 6];
    BACKEND.sort_into(&ITEMS, &mut sorted)?;
    assert_eq!(ids(&sorted), [1, 4, 3, 5, 0, 2]);
    let (mut sorted, mut moved) = ([Item { score: 0, id: 99 }; 6], [0; 6]);
    BACKEND.sort_pairs_into(&ITEMS, &[10, 11, 12, 13, 14, 15], &mut sorted, &mut moved)?;
    assert_eq!((ids(&sorted), moved), (vec![1, 4, 3, 5, 0, 2], [11, 14, 13, 15, 10, 12]));

    assert_eq!(ids(&BACKEND.top_k(&ITEMS, 3)?.keys), [0, 2, 3]);
    Ok(())
}

#[test]
fn compounds_of_a_key_that_its_bits_do_not_hold_are_moved_whole() -> Result<(), Error> {
    /// Its tuple with an `u16` is not larger than the tuple's bits.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Small {
        score: u8,
        id: u8,
    }
    impl Sortable for Small {
        type Bits = u8;
        fn to_bits(self) -> u8 {
            self.score
        }
        fn from_bits(bits: u8) -> Self {
            Small { score: bits, id: 0 }
        }
    }
    assert!(size_of::<(Small, u16)>() <= size_of::<<(Small, u16) as Sortable>::Bits>());
    let small = |score, id| Small { score, id };
    let mut pairs = [(small(2, 7), 5_u16), (small(1, 8), 6), (small(2, 9), 4)];
    BACKEND.sort(&mut pairs)?;
    assert_eq!(pairs, [(small(1, 8), 6), (small(2, 9), 4), (small(2, 7), 5)]);
    let mut triples = [(false, small(2, 7), 5_u8), (false, small(1, 8), 6), (false, small(2, 9), 4)];
    BACKEND.sort(&mut triples)?;
    assert_eq!(triples.map(|triple| triple.1.id), [8, 9, 7]);
    let mut reversed = [Reverse(small(1, 7)), Reverse(small(2, 8)), Reverse(small(1, 9))];
    BACKEND.sort(&mut reversed)?;
    assert_eq!(reversed.map(|reversed| reversed.0.id), [8, 7, 9]);
    let mut singles = [(small(2, 7),), (small(1, 8),)];
    BACKEND.sort(&mut singles)?;
    assert_eq!(singles, [(small(1, 8),), (small(2, 7),)]);
    Ok(())
}

#[test]
fn a_lossy_key_that_says_what_is_identical_is_refused() {
    /// Not larger than its bits, which leave the id out.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Lossy {
        score: u8,
        id: u8,
    }
    impl Sortable for Lossy {
        type Bits = u16;
        const IDENTICAL: Option<fn(Self, Self) -> bool> = Some(|a, b| a == b);
        fn to_bits(self) -> u16 {
            self.score.into()
        }
        fn from_bits(bits: u16) -> Self {
            Lossy { score: bits as u8, id: 0 }
        }
    }
    let lossy = |score, id| Lossy { score, id };
    refused(&[lossy(3, 0), lossy(2, 0), lossy(1, 4), lossy(0, 5)], 2);
    refused(&[(lossy(3, 0), 'x'), (lossy(2, 7), 'y')], 1);
    refused(&[Reverse(lossy(3, 0)), Reverse(lossy(2, 0)), Reverse(lossy(2, 7))], 2);
    refused(&[(true, lossy(3, 0), 1_u8), (true, lossy(2, 7), 1)], 1);
    refused(&[(lossy(3, 1),)], 0);
    refused(&[Some(lossy(3, 0)), None, Some(lossy(2, 7))], 2);
    refused(&[NoneLast(Some(lossy(3, 0))), NoneLast(None), NoneLast(Some(lossy(2, 7)))], 2);
    // What returns indices does not rebuild keys.
    assert_eq!(BACKEND.argsort(&[lossy(3, 1), lossy(2, 2)]).ok(), Some(vec![1, 0]));
}

/// Each operation that moves the keys refuses the one at `index`, and leaves all slices as they were.
fn refused<K: Sortable + Debug + PartialEq>(keys: &[K], index: usize) {
    let check = |operation: &str, outcome: Result<(), Error>| match outcome {
        Err(Error::InvalidKey { index: found, .. }) => assert_eq!(found, index, "{operation} of {keys:?}"),
        other => panic!("{operation} of {keys:?} gave {other:?}"),
    };
    let (mut moved, values) = (keys.to_vec(), (0..keys.len() as u32).collect::<Vec<u32>>());
    let mut moved_values = values.clone();
    check("sort", BACKEND.sort(&mut moved));
    check("sort_pairs", BACKEND.sort_pairs(&mut moved, &mut moved_values));
    check("sort_segments", BACKEND.sort_segments(&mut moved, &[0, keys.len()]));
    check("sort_pairs_segments", BACKEND.sort_pairs_segments(&mut moved, &mut moved_values, &[0, keys.len()]));
    check("sort_into", BACKEND.sort_into(keys, &mut moved));
    check("sort_pairs_into", BACKEND.sort_pairs_into(keys, &values, &mut moved, &mut moved_values));
    assert_eq!((&*moved, moved_values), (keys, values));
}

/// A key whose `WIDTH` is too small for values above 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Narrow(u32);

impl Sortable for Narrow {
    type Bits = u32;
    const WIDTH: u32 = 4;

    fn to_bits(self) -> u32 {
        self.0
    }

    fn from_bits(bits: u32) -> Self {
        assert!(bits < 16, "a sort must check the width before it calls from_bits");
        Narrow(bits)
    }
}

#[test]
fn a_key_inside_a_tuple_that_is_wider_than_it_says_is_refused() {
    // The excess bits would become bits of the first key.
    refused(&[(3_u8, Narrow(1)), (1, Narrow(99)), (2, Narrow(1))], 1);
    // Those of the first key would be cut off.
    refused(&[(Narrow(1), 3_u8), (Narrow(2), 3), (Narrow(1 << 30), 1)], 2);
    refused(&[('a', Narrow(0)), ('b', Narrow(16))], 1);
    refused(&[(1_u8, Narrow(16), 1_u8)], 0);
    refused(&[(1_u8, 1_u8, 2_u8, Narrow(16))], 0);
    refused(&[(1_u8, (true, Narrow(16)))], 0);
    refused(&[Reverse((1_u8, Narrow(15))), Reverse((1_u8, Narrow(16)))], 1);
    refused(&[(Narrow(15),), (Narrow(16),)], 1);
    refused(&[Narrow(15), Narrow(16)], 1);
    // Without a rebuilt key the order alone would be wrong.
    for outcome in [
        BACKEND.argsort(&[(3_u8, Narrow(1)), (1, Narrow(99))]).map(drop),
        BACKEND.top_k(&[(3_u8, Narrow(1)), (1, Narrow(99))], 1).map(drop),
        BACKEND.sort(&mut [(ITEMS[0], Narrow(1)), (ITEMS[1], Narrow(99))]),
    ] {
        assert!(matches!(outcome, Err(Error::InvalidKey { index: 1, .. })), "{outcome:?}");
    }
    // A key of your own that is made of such a tuple has the bits of the first key as they are.
    assert_eq!((1_u8, Narrow(99)).to_bits() >> Narrow::WIDTH, 1);
    // The bits of the second tuple fill the width of the tuple, and not more.
    for (first, inside) in [(1_u8, 99), (255, 31)] {
        let message = BACKEND.sort(&mut [(first, Narrow(inside))]).unwrap_err().to_string();
        assert!(message.contains("key 0") && message.contains("inside this one"), "{message}");
    }
}

#[test]
fn keys_of_no_bits_are_equal_and_take_no_room() -> Result<(), Error> {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Unit;
    impl Sortable for Unit {
        type Bits = u8;
        const WIDTH: u32 = 0;
        fn to_bits(self) -> u8 {
            0
        }
        fn from_bits(bits: u8) -> Self {
            assert_eq!(bits, 0, "bits that to_bits did not return");
            Unit
        }
    }
    fn sorts<K: Sortable + Ord + Debug>(mut keys: Vec<K>) -> Result<(), Error> {
        let mut expected = keys.clone();
        expected.sort();
        BACKEND.sort(&mut keys)?;
        assert_eq!(keys, expected);
        polysort::laws::check(&keys, Ord::cmp).unwrap();
        Ok(())
    }
    let wide = [3_u128, u128::MAX, 0, 1 << 127];
    sorts(wide.map(|key| (Unit, key)).to_vec())?;
    sorts(wide.map(|key| (key, Unit)).to_vec())?;
    sorts(wide.map(|key| Reverse((Unit, key))).to_vec())?;
    sorts(wide.map(|key| (Unit, key, Unit)).to_vec())?;
    sorts(vec![(Unit, Unit); 3])?;
    sorts(vec![Reverse(Unit); 3])?;
    sorts(vec![(Unit,); 3])?;
    let mut values = [1_u8, 2, 3];
    BACKEND.sort_pairs_with(&mut [Unit; 3], &mut values, Options::descending())?;
    assert_eq!(values, [1, 2, 3]);
    Ok(())
}

#[test]
fn a_tuple_of_one_key_is_that_key() -> Result<(), Error> {
    let mut keys = [(2.0_f32,), (-0.0,), (f32::NAN,), (0.0,), (f32::NEG_INFINITY,)];
    BACKEND.sort(&mut keys)?;
    assert_eq!(format!("{keys:?}"), "[(-inf,), (-0.0,), (0.0,), (2.0,), (NaN,)]");
    assert_eq!((<(char,)>::WIDTH, <(char, (bool,))>::WIDTH), (21, 22));
    Ok(())
}

#[test]
fn a_mask_key_without_an_in_place_view_sorts_by_its_masks_everywhere() -> Result<(), Error> {
    /// A depth that does not say that its memory can be sorted in place.
    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(transparent)]
    struct Depth(f32);
    impl Sortable for Depth {
        type Bits = u32;
        fn to_bits(self) -> u32 {
            Self::MASKS.apply(self.0.to_bits())
        }
        fn from_bits(bits: u32) -> Self {
            Depth(f32::from_bits(Self::MASKS.invert(bits)))
        }
    }
    impl MaskKey for Depth {
        const MASKS: Masks = Masks::float(32);
    }
    let keys = [Depth(2.0), Depth(-1.0), Depth(-0.0), Depth(0.0), Depth(-8.0)];
    for options in [Options::ascending(), Options::descending(), Options::descending().bits(20..)] {
        let mut on_host = keys;
        BACKEND.sort_with(&mut on_host, options)?;
        // As a device sorts them: raw memory, by the spec of the masks.
        let mut order = permutation::identity(keys.len())?;
        let spec = Spec::of_masks::<Depth>(options)?;
        order.sort_by_key(|&i| spec.rank(keys[i as usize].0.to_bits()));
        assert_eq!(permutation::gather(&keys, &order), on_host, "{options:?}");
        assert_eq!(spec, Spec::of_masks::<f32>(options)?);
        assert_eq!(spec, Spec::of::<f32>(options)?);
    }
    polysort::laws::check_masks::<Depth>([0, 1, 1 << 31, u32::MAX]).unwrap();
    assert!(matches!(Spec::of_masks::<Depth>(Options::ascending().bits(..33)), Err(Error::InvalidRange { .. })));
    Ok(())
}

/// A key that behaves well until a closure says otherwise.
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
    refused(&[Wide(7), Wide(0x1000), Wide(1)], 1);
    let error = BACKEND.argsort(&[Wide(7), Wide(0x1000)]).unwrap_err();
    assert!(matches!(error, Error::InvalidKey { index: 1, bits: 0x1000, .. }), "{error}");
    assert!(error.to_string().contains("wider than the 12 bits"), "{error}");
}

#[test]
fn a_key_that_does_not_come_back_is_refused_and_nothing_moves() {
    unruly_key!(Lossy, |v| v, |b| b & !1);
    refused(&[Lossy(8), Lossy(3), Lossy(2)], 1);
    // Also if it is far behind.
    let many: Vec<Lossy> = (0..5000).map(|i| Lossy(if i == 4321 { 1 } else { 2 })).collect();
    refused(&many, 4321);
}

#[test]
fn a_key_that_changes_its_bits_gives_an_error_or_a_wrong_order_but_keeps_the_slice() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unruly_key!(Moody, |_| (CALLS.fetch_add(1, SeqCst) * 7 % 4096) as u16, |b| b);
    let mut keys: Vec<Moody> = (0..100).map(Moody).collect();
    let before = keys.clone();
    assert!(matches!(BACKEND.sort(&mut keys), Err(Error::InvalidKey { .. })));
    assert_eq!(keys, before);
    // An argsort does not rebuild keys: the order is wrong, but it is a permutation.
    let mut order = BACKEND.argsort(&keys).unwrap();
    order.sort_unstable();
    assert!(order.into_iter().eq(0..100));
}

#[test]
fn a_key_that_panics_is_passed_on_and_nothing_moves() {
    unruly_key!(Panics, |v| if v == 5 { panic!("five is right out") } else { v }, |b| b);
    unruly_key!(PanicsBack, |v| v, |b| if b == 5 { panic!("no way back") } else { b });
    let (mut keys, mut values) = ([Panics(9), Panics(5), Panics(1)], [1_u32, 2, 3]);
    let panic = catch_unwind(AssertUnwindSafe(|| BACKEND.sort_pairs(&mut keys, &mut values))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"five is right out"));
    assert_eq!((keys, values), ([Panics(9), Panics(5), Panics(1)], [1, 2, 3]));

    let (mut keys, mut values) = ([PanicsBack(9), PanicsBack(5), PanicsBack(1)], [1_u32, 2, 3]);
    assert!(catch_unwind(AssertUnwindSafe(|| BACKEND.sort_pairs(&mut keys, &mut values))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| BACKEND.sort(&mut keys))).is_err());
    assert_eq!((keys, values), ([PanicsBack(9), PanicsBack(5), PanicsBack(1)], [1, 2, 3]));

    let mut items = vec!["b".to_string(), "a".into()];
    let closure = AssertUnwindSafe(|| BACKEND.sort_by_key(&mut items, |_| -> u8 { panic!("no key") }));
    assert!(catch_unwind(closure).is_err());
    assert_eq!(items, ["b", "a"]);
}

/// The check before the sort goes well; the panic comes when the sorted keys are made.
#[test]
fn a_key_that_panics_after_the_sort_leaves_everything_as_it_was() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    unruly_key!(Fickle, |v| v, |b| if CALLS.fetch_add(1, SeqCst) == 4 { panic!("not this time") } else { b });
    let before = [Fickle(9), Fickle(5), Fickle(1)];
    let (mut keys, mut values) = (before, [1_u32, 2, 3]);
    type Operation = fn(&mut [Fickle], &mut [u32]) -> Result<(), Error>;
    let operations: [Operation; 6] = [
        |keys, _| BACKEND.sort(keys),
        |keys, values| BACKEND.sort_pairs(keys, values),
        |keys, _| BACKEND.sort_segments(keys, &[0, 3]),
        |keys, values| BACKEND.sort_pairs_segments(keys, values, &[0, 3]),
        |sorted, _| BACKEND.sort_into(&[Fickle(2), Fickle(1), Fickle(0)], sorted),
        |sorted, moved| BACKEND.sort_pairs_into(&[Fickle(2), Fickle(1), Fickle(0)], &[4, 5, 6], sorted, moved),
    ];
    for operation in operations {
        CALLS.store(0, SeqCst);
        assert!(catch_unwind(AssertUnwindSafe(|| operation(&mut keys, &mut values))).is_err());
        assert_eq!((keys, values), (before, [1, 2, 3]));
    }
}

/// An impl of the two functions alone, with an in-place view or without one, keeps compiling.
#[test]
fn an_in_place_view_is_used_where_there_is_one() -> Result<(), Error> {
    #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(transparent)]
    struct InPlaceKey(i16);
    impl Sortable for InPlaceKey {
        type Bits = u16;
        const IN_PLACE: Option<InPlace<Self>> = Some(InPlace::of());
        fn to_bits(self) -> u16 {
            panic!("a sort in place does not map keys")
        }
        fn from_bits(_: u16) -> Self {
            panic!("a sort in place does not map keys")
        }
    }
    impl MaskKey for InPlaceKey {
        const MASKS: Masks = Masks::signed(16);
    }
    let mut keys = [InPlaceKey(3), InPlaceKey(-2)];
    BACKEND.sort(&mut keys)?;
    assert_eq!(keys, [InPlaceKey(-2), InPlaceKey(3)]);
    let mut sorted = [InPlaceKey(0); 2];
    BACKEND.sort_into_with(&keys, &mut sorted, Options::descending())?;
    assert_eq!(sorted, [InPlaceKey(3), InPlaceKey(-2)]);
    Ok(())
}
