//! The right answers, from `std`'s stable sort, and comparisons with them.

use core::fmt::Debug;
use core::ops::Range;
use polysort_core::Options;
use polysort_kit::{Case, Oracle, Pattern, TestKey};

/// Returns the permutation that sorts each of `segments` by itself, stably.
pub fn in_order<K: TestKey>(keys: &[K], options: Options, segments: impl IntoIterator<Item = Range<usize>>) -> Vec<u32> {
    let segments: Vec<Range<usize>> = segments.into_iter().collect();
    // The oracle reads the options of a case, and nothing else of it.
    let case = Case { pattern: Pattern::Equal, len: keys.len(), options, seed: 0 };
    Oracle::new(keys, case).segments_permutation(&segments)
}

/// Compares keys bit for bit.
///
/// # Panics
/// If they differ: with the first position at which they do.
#[track_caller]
pub fn same_keys<K: TestKey>(what: &str, got: &[K], expected: impl IntoIterator<Item = K>) {
    let raws = |key: K| key.raw();
    same(what, got.iter().copied().map(raws), expected.into_iter().map(raws));
}

/// Compares what two iterators give.
///
/// # Panics
/// If it differs: with the first position at which it does.
#[track_caller]
pub fn same<T: PartialEq + Debug>(what: &str, got: impl IntoIterator<Item = T>, expected: impl IntoIterator<Item = T>) {
    let (mut got, mut expected) = (got.into_iter(), expected.into_iter());
    for at in 0.. {
        match (got.next(), expected.next()) {
            (None, None) => break,
            (got, expected) => assert!(got == expected, "{what}: {got:x?} at {at}, expected {expected:x?}"),
        }
    }
}

/// Returns the bits of keys in ascending order: equal for two slices of the same keys, in whatever order.
pub fn multiset<K: TestKey>(keys: &[K]) -> Vec<u128> {
    let mut raws: Vec<u128> = keys.iter().map(|key| key.raw()).collect();
    raws.sort_unstable();
    raws
}

/// Checks a partial sort of each segment: `moved` has the keys of the segment. Those at `positions` are where a stable sort puts them. No key before them
/// sorts after one of them, and no key behind them sorts before one of them. Keys outside of all segments are as they were.
///
/// # Panics
/// If one of these does not hold.
#[track_caller]
pub fn partly_sorted<K: TestKey>(keys: &[K], moved: &[K], options: Options, segments: &[Range<usize>], positions: Range<usize>) {
    let order = in_order(keys, options, segments.iter().cloned());
    let sorted: Vec<K> = order.iter().map(|&at| keys[at as usize]).collect();
    let (mut expected, mut got) = (keys.to_vec(), moved.to_vec());
    // The parts of `moved`, each sorted by itself, are a sort of the whole if no key is in a wrong part.
    let mut parts = vec![];
    for segment in segments {
        let start = segment.start + positions.start.min(segment.len());
        let end = segment.start + positions.end.min(segment.len());
        same_keys("keys at the positions", &moved[start..end], sorted[start..end].iter().copied());
        by_raw(&mut expected[segment.clone()]);
        by_raw(&mut got[segment.clone()]);
        if start < end {
            parts.push((segment.clone(), [segment.start..start, start..end, end..segment.end]));
        }
    }
    same_keys("all keys", &got, expected);
    let whole = in_order(moved, options, parts.iter().map(|(segment, _)| segment.clone()));
    let by_parts = in_order(moved, options, parts.into_iter().flat_map(|(_, parts)| parts));
    same("parts of the keys", by_parts, whole);
}

fn by_raw<K: TestKey>(keys: &mut [K]) {
    keys.sort_unstable_by_key(|key| key.raw());
}
