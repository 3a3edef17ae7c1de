//! Keys of any number of bits: their laws, and their order by every operation, against `std`'s stable sort.

use crate::support::Plain;
use core::cmp::{Ordering, Reverse};
use core::fmt::Debug;
use polysort::Fallback;
use polysort::laws::{check, check_wide};
use polysort_core::{
    AnyOperation, Backend, Error, Limits, NoneLast, Operation, Options, Sort, Sortable, Spec, Wide, WideKey, sorts_by_run,
    with_word,
};
use std::sync::{Arc, Mutex};

/// Numbers that look random.
fn mixed(seed: u64) -> impl Iterator<Item = u64> {
    (1..)
        .map(move |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .map(|x| (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 3)
}

/// Sorts keys both ways, and compares with `std`'s stable sort.
fn sorts<K: WideKey + Debug + PartialEq>(keys: &[K], compare: impl Fn(&K, &K) -> Ordering + Copy) {
    for (options, is_descending) in [(Options::ascending(), false), (Options::descending(), true)] {
        let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
        expected.sort_by(|&a, &b| {
            let ascending = compare(&keys[a as usize], &keys[b as usize]);
            if is_descending { ascending.reverse() } else { ascending }
        });
        assert_eq!(Plain.argsort_wide_with(keys, options).unwrap(), expected, "{options:?}");
        let mut sorted = keys.to_vec();
        Plain.sort_wide_with(&mut sorted, options).unwrap();
        assert!(expected.iter().zip(&sorted).all(|(&at, key)| keys[at as usize] == *key), "{options:?}");
    }
}

#[test]
fn arrays_are_in_lexicographic_order() {
    let draws: Vec<u64> = mixed(1).take(3000).collect();
    let bytes: Vec<[u8; 19]> =
        draws.iter().map(|&x| core::array::from_fn(|i| if i < 9 { 7 } else { (x >> i) as u8 & 1 })).collect();
    check_wide(&bytes[..200], Ord::cmp).unwrap();
    sorts(&bytes, Ord::cmp);
    let words: Vec<[u64; 4]> = draws.iter().map(|&x| [x & 1, x >> 1 & 3, u64::MAX, x]).collect();
    check_wide(&words[..200], Ord::cmp).unwrap();
    sorts(&words, Ord::cmp);
    let numbers: Vec<[i32; 5]> = draws.iter().map(|&x| core::array::from_fn(|i| (x >> i) as i32 % 3)).collect();
    check_wide(&numbers[..200], Ord::cmp).unwrap();
    sorts(&numbers, Ord::cmp);
    let small: Vec<[u32; 2]> = draws.iter().map(|&x| [x as u32 & 3, (x >> 30) as u32]).collect();
    check_wide(&small[..200], Ord::cmp).unwrap();
    sorts(&small, Ord::cmp);
    sorts(&[[1_u128, 5], [1, 3], [0, 9]], Ord::cmp);
    sorts(&[[[1_u16; 3]; 5], [[0; 3]; 5], [[1; 3]; 5]], Ord::cmp);
    let floats: Vec<[f32; 3]> =
        draws.iter().map(|&x| [f32::NAN, -0.0, f32::from_bits(x as u32)]).filter(|key| !key[2].is_nan()).collect();
    let compare = |a: &[f32; 3], b: &[f32; 3]| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(a[2].total_cmp(&b[2]));
    check_wide(&floats[..200], compare).unwrap();
}

#[test]
fn keys_of_few_bits_are_packed() {
    // 21 bits each: a word of 64 bits has three of them and one more bit.
    let draws: Vec<u64> = mixed(2).take(2000).collect();
    let letter = |x: u64| char::from_u32((x % 0xd800) as u32).unwrap();
    let words: Vec<[char; 7]> =
        draws.iter().map(|&x| core::array::from_fn(|i| if i < 5 { 'a' } else { letter(x >> (5 * i)) })).collect();
    assert_eq!(<[char; 7]>::TOTAL_BITS, 147);
    check_wide(&words[..200], Ord::cmp).unwrap();
    sorts(&words, Ord::cmp);
    let flags: Vec<[bool; 131]> = draws.iter().map(|&x| core::array::from_fn(|i| x >> (i % 60) & 1 == 1 && i > 100)).collect();
    check_wide(&flags[..50], Ord::cmp).unwrap();
    sorts(&flags, Ord::cmp);
}

#[test]
fn tuples_are_in_lexicographic_order() {
    type Key = Wide<(Reverse<u8>, [u8; 6], NoneLast<i64>, char, Wide<(bool, u128)>, u64)>;
    let draws: Vec<u64> = mixed(3).take(3000).collect();
    let keys: Vec<Key> = draws
        .iter()
        .map(|&x| {
            let optional = NoneLast((x & 1 == 0).then_some((x >> 1 & 1) as i64 - 1));
            Wide((Reverse((x >> 2 & 1) as u8), [3; 6], optional, 'é', Wide((x >> 3 & 1 == 1, u128::from(x) << 80)), x))
        })
        .collect();
    assert_eq!(Key::TOTAL_BITS, 8 + 48 + 65 + 21 + 129 + 64);
    check_wide(&keys[..200], Ord::cmp).unwrap();
    sorts(&keys, Ord::cmp);
}

#[test]
fn keys_of_at_most_128_bits_are_wide_keys_too() {
    let draws: Vec<u64> = mixed(4).take(500).collect();
    let pairs: Vec<(i32, u64)> = draws.iter().map(|&x| (x as i32 % 5, x)).collect();
    check_wide(&pairs, Ord::cmp).unwrap();
    sorts(&pairs, Ord::cmp);
    let full: Vec<u128> = draws.iter().map(|&x| u128::from(x) << 100 | u128::from(x)).chain([0, u128::MAX]).collect();
    check_wide(&full, Ord::cmp).unwrap();
    sorts(&full, Ord::cmp);
    sorts(&[true, false, true], Ord::cmp);
    // Keys of no bits are all equal.
    sorts(&[(), ()], Ord::cmp);
    sorts(&[[(); 3]; 3], Ord::cmp);
    sorts(&[[0_u64; 0]; 3], Ord::cmp);
    check_wide(&[[(); 3]; 3], Ord::cmp).unwrap();
    sorts::<[u64; 3]>(&[], Ord::cmp);
}

#[test]
fn a_window_of_bits_counts_from_the_least_significant() {
    let keys: Vec<[u32; 5]> = mixed(5).take(800).map(|x| core::array::from_fn(|i| (x >> (3 * i)) as u32 & 0x1_0001)).collect();
    let bits = |key: &[u32; 5]| -> Vec<bool> { (0..160).rev().map(|at| key[4 - at / 32] >> (at % 32) & 1 == 1).collect() };
    for (begin, end) in [(0, 160), (0, 1), (0, 64), (1, 66), (31, 33), (16, 145), (159, 160), (80, 80), (64, 128)] {
        let of = |key: &[u32; 5]| bits(key)[160 - end as usize..160 - begin as usize].to_vec();
        let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
        expected.sort_by_key(|&at| of(&keys[at as usize]));
        assert_eq!(Plain.argsort_wide_with(&keys, Options::ascending().bits(begin..end)).unwrap(), expected, "{begin}..{end}");
    }
    assert!(matches!(
        Plain.argsort_wide_with(&keys, Options::ascending().bits(0..161)),
        Err(Error::InvalidRange { begin: 0, end: 161, width: 160, .. })
    ));
}

/// The numbers of keys and of segments of an argsort.
type Call = (usize, Option<usize>);

/// A backend that notes its argsorts, and fails in one of them.
#[derive(Clone, Debug, Default)]
struct Noting {
    calls: Arc<Mutex<Vec<Call>>>,
    fails_in_call: Option<usize>,
}

impl Backend for Noting {
    fn open() -> Result<Self, Error> {
        Ok(Self::default())
    }

    fn name(&self) -> String {
        "noting".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        let mut calls = self.calls.lock().unwrap();
        calls.push(with_word!(&operation, operation => match operation {
            Operation::Argsort { keys, segments, .. } => (keys.len(), segments.map(|segments| segments.len())),
            other => panic!("{other:?}"),
        }));
        if self.fails_in_call == Some(calls.len()) {
            return Err(Error::DeviceLost { backend: self.name(), why: "a test".into(), source: None });
        }
        Plain.run(operation, spec)
    }
}

#[test]
fn only_keys_that_are_equal_so_far_are_sorted_again() {
    // Four words; all keys differ in the first one, but for five that are equal in it and three of these in the second one.
    let mut keys: Vec<[u64; 4]> = (0..100).map(|i| [i * 7919 % 1000, i, i, i]).collect();
    for (at, row) in [(10, 5), (11, 5), (12, 5), (13, 1), (14, 2)] {
        keys[at] = [5000, row, at as u64, 0];
    }
    let backend = Noting::default();
    backend.argsort_wide(&keys).unwrap();
    // One group of equal keys is no segment, so that a backend sorts it with all that it has.
    assert_eq!(*backend.calls.lock().unwrap(), [(100, None), (5, None), (3, None)]);
    keys[20] = keys[21];
    let backend = Noting::default();
    backend.argsort_wide(&keys).unwrap();
    assert_eq!(*backend.calls.lock().unwrap(), [(100, None), (7, Some(2)), (5, Some(2)), (2, None)]);
}

#[test]
fn a_failure_in_any_call_loses_nothing_and_falls_back() {
    let before: Vec<[u64; 3]> = mixed(6).take(50).map(|x| [x & 1, 1, x]).collect();
    for call in 1..=3 {
        let failing = Noting { fails_in_call: Some(call), ..Noting::default() };
        let mut keys = before.clone();
        assert!(matches!(failing.sort_wide(&mut keys), Err(Error::DeviceLost { .. })));
        assert_eq!(keys, before);

        let failing = Noting { fails_in_call: Some(call), ..Noting::default() };
        let fallback = Fallback::new(Ok(failing), Plain);
        fallback.sort_wide(&mut keys).unwrap();
        assert!(keys.is_sorted());
        assert_eq!((fallback.report().taken, fallback.report().fell_back), (2, 1));
    }
}

#[test]
fn bits_beyond_a_width_are_refused() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Narrow(u8);
    impl Sortable for Narrow {
        type Bits = u8;
        const WIDTH: u32 = 4;
        fn to_bits(self) -> u8 {
            self.0
        }
        fn from_bits(bits: u8) -> Self {
            Narrow(bits)
        }
    }
    assert_eq!(check(&[Narrow(15)], Ord::cmp), Ok(()));
    let mut keys = [[Narrow(3); 40]; 3];
    Plain.sort_wide(&mut keys).unwrap();
    keys[1][39] = Narrow(16);
    // The error shows the first of the 160 bits.
    const THREES: u128 = u128::MAX / 5;
    assert!(matches!(Plain.argsort_wide(&keys), Err(Error::InvalidKey { index: 1, bits: THREES, .. })));
    assert_eq!(check_wide(&keys, Ord::cmp).unwrap_err().law, "bits fit in WIDTH");
    let tuples = keys.map(|key| Wide((1_u8, key)));
    assert!(matches!(Plain.argsort_wide(&tuples), Err(Error::InvalidKey { index: 1, .. })));
}

#[test]
fn a_wide_key_of_ones_own_is_checked() {
    /// A point, sorted by y before x. `IS_RIGHT` or not.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Point<const IS_RIGHT: bool> {
        x: u64,
        y: u64,
    }
    impl<const IS_RIGHT: bool> WideKey for Point<IS_RIGHT> {
        const TOTAL_BITS: u32 = 128;
        fn bits_from(self, first: u32) -> u64 {
            if IS_RIGHT {
                Wide((self.y, self.x)).bits_from(first)
            } else {
                [self.y, self.x].get(first as usize / 64).copied().unwrap_or(0)
            }
        }
    }
    let compare = |a: (u64, u64), b: (u64, u64)| a.cmp(&b);
    let points: Vec<Point<true>> = mixed(7).take(100).map(|x| Point { x, y: x & 3 }).collect();
    check_wide(&points, |a, b| compare((a.y, a.x), (b.y, b.x))).unwrap();
    sorts(&points, |a, b| compare((a.y, a.x), (b.y, b.x)));
    let violation = check_wide(&points, |a, b| compare((a.x, a.y), (b.x, b.y))).unwrap_err();
    assert_eq!(violation.law, "bits are in the order of the keys");
    // Words alone are not enough: inside an array, reads start at any bit.
    let wrong: Vec<Point<false>> = points.iter().map(|point| Point { x: point.x, y: point.y }).collect();
    let violation = check_wide(&wrong, |a, b| compare((a.y, a.x), (b.y, b.x))).unwrap_err();
    assert_eq!(violation.law, "bits_from gives the bits from any bit on, and 0 from TOTAL_BITS on");
}
