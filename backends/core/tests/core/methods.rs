//! Each method of `Sort`, by itself: its result is that of std's stable sort.

use crate::support::Std;
use polysort_core::{Error, Masks, Options, Runs, Segments, Sort};

const BACKEND: Std<0> = Std;
const KEYS: [u8; 6] = [5, 2, 9, 2, 0, 7];
/// Two segments, with a key before each.
const SEGMENTS: Segments<'static> = Segments::Ranges { begins: &[1, 5], ends: &[4, 6] };
const DOWN: Options = Options::descending();

/// The keys after `change`.
fn changed(change: impl FnOnce(&mut [u8; 6]) -> Result<(), Error>) -> [u8; 6] {
    let mut keys = KEYS;
    change(&mut keys).unwrap();
    keys
}

/// The keys and their positions after `change`.
fn moved(change: impl FnOnce(&mut [u8; 6], &mut [u16; 6]) -> Result<(), Error>) -> ([u8; 6], [u16; 6]) {
    let (mut keys, mut values) = (KEYS, [0, 1, 2, 3, 4, 5]);
    change(&mut keys, &mut values).unwrap();
    (keys, values)
}

#[test]
fn sorts_in_place() {
    assert_eq!(changed(|keys| BACKEND.sort(keys)), [0, 2, 2, 5, 7, 9]);
    assert_eq!(changed(|keys| BACKEND.sort_with(keys, DOWN)), [9, 7, 5, 2, 2, 0]);
    // By the lowest bit alone: the even keys stay in order, then the odd ones.
    assert_eq!(changed(|keys| BACKEND.sort_with(keys, Options::ascending().bits(0..1))), [2, 2, 0, 5, 9, 7]);
    assert_eq!(moved(|keys, values| BACKEND.sort_pairs(keys, values)), ([0, 2, 2, 5, 7, 9], [4, 1, 3, 0, 5, 2]));
    assert_eq!(moved(|keys, values| BACKEND.sort_pairs_with(keys, values, DOWN)), ([9, 7, 5, 2, 2, 0], [2, 5, 0, 1, 3, 4]));
    let mut items = [(5_u8, 'a'), (2, 'b'), (9, 'c'), (2, 'd')];
    BACKEND.sort_by_key(&mut items, |item| item.0).unwrap();
    assert_eq!(items, [(2, 'b'), (2, 'd'), (5, 'a'), (9, 'c')]);
    BACKEND.sort_by_key_with(&mut items, |item| item.0, DOWN).unwrap();
    assert_eq!(items, [(9, 'c'), (5, 'a'), (2, 'b'), (2, 'd')]);
}

#[test]
fn sorts_into_other_slices() {
    let (mut sorted, mut values) = ([1; 6], [9_u16; 6]);
    BACKEND.sort_into(&KEYS, &mut sorted).unwrap();
    assert_eq!(sorted, [0, 2, 2, 5, 7, 9]);
    BACKEND.sort_into_with(&KEYS, &mut sorted, DOWN).unwrap();
    assert_eq!(sorted, [9, 7, 5, 2, 2, 0]);
    BACKEND.sort_pairs_into(&KEYS, &[0, 1, 2, 3, 4, 5], &mut sorted, &mut values).unwrap();
    assert_eq!((sorted, values), ([0, 2, 2, 5, 7, 9], [4, 1, 3, 0, 5, 2]));
    BACKEND.sort_pairs_into_with(&KEYS, &[0, 1, 2, 3, 4, 5], &mut sorted, &mut values, DOWN).unwrap();
    assert_eq!((sorted, values), ([9, 7, 5, 2, 2, 0], [2, 5, 0, 1, 3, 4]));
}

#[test]
fn sorts_segments() {
    assert_eq!(changed(|keys| BACKEND.sort_segments(keys, SEGMENTS)), [5, 2, 2, 9, 0, 7]);
    assert_eq!(changed(|keys| BACKEND.sort_segments_with(keys, SEGMENTS, DOWN)), [5, 9, 2, 2, 0, 7]);
    assert_eq!(changed(|keys| BACKEND.sort_segments(keys, &[0, 3, 6])), [2, 5, 9, 0, 2, 7]);
    let of_pairs = moved(|keys, values| BACKEND.sort_pairs_segments(keys, values, &[0, 3, 6]));
    assert_eq!(of_pairs, ([2, 5, 9, 0, 2, 7], [1, 0, 2, 4, 3, 5]));
    let of_pairs = moved(|keys, values| BACKEND.sort_pairs_segments_with(keys, values, SEGMENTS, DOWN));
    assert_eq!(of_pairs, ([5, 9, 2, 2, 0, 7], [0, 2, 1, 3, 4, 5]));
    assert_eq!(BACKEND.argsort_segments(&KEYS, &[0, 3, 6]).unwrap(), [1, 0, 2, 4, 3, 5]);
    assert_eq!(BACKEND.argsort_segments_with(&KEYS, SEGMENTS, DOWN).unwrap(), [0, 2, 1, 3, 4, 5]);
}

#[test]
fn indices_of_sorted_and_of_selected_keys() {
    assert_eq!(BACKEND.argsort(&KEYS).unwrap(), [4, 1, 3, 0, 5, 2]);
    assert_eq!(BACKEND.argsort_with(&KEYS, DOWN).unwrap(), [2, 5, 0, 1, 3, 4]);
    let top = BACKEND.top_k(&KEYS, 2).unwrap();
    assert_eq!((top.keys, top.indices), (vec![9, 7], vec![2, 5]));
    let bottom = BACKEND.bottom_k(&KEYS, 3).unwrap();
    assert_eq!((bottom.keys, bottom.indices), (vec![0, 2, 2], vec![4, 1, 3]));
    assert_eq!(BACKEND.top_k_with(&KEYS, 1, Options::ascending()).unwrap().keys, [0]);
    assert_eq!(BACKEND.top_k_segments(&KEYS, 1, &[0, 3, 6]).unwrap().indices, [2, 5]);
    assert_eq!(BACKEND.bottom_k_segments(&KEYS, 1, &[0, 3, 6]).unwrap().indices, [1, 4]);
    assert_eq!(BACKEND.top_k_segments_with(&KEYS, 2, SEGMENTS, DOWN).unwrap().keys, [9, 2, 7]);
}

#[test]
fn a_part_of_the_order() {
    let first = |keys: [u8; 6], len| keys[..len].to_vec();
    assert_eq!(first(changed(|keys| BACKEND.partial_sort(keys, 3)), 3), [0, 2, 2]);
    assert_eq!(first(changed(|keys| BACKEND.partial_sort_with(keys, 2, DOWN)), 2), [9, 7]);
    let of_each = changed(|keys| BACKEND.partial_sort_segments(keys, 1, &[0, 3, 6]));
    assert_eq!((of_each[0], of_each[3]), (2, 0));
    let of_each = changed(|keys| BACKEND.partial_sort_segments_with(keys, 1, &[0, 3, 6], DOWN));
    assert_eq!((of_each[0], of_each[3]), (9, 7));
    assert_eq!(changed(|keys| BACKEND.select_nth(keys, 3))[3], 5);
    assert_eq!(changed(|keys| BACKEND.select_nth_with(keys, 1, DOWN))[1], 7);
    let of_each = changed(|keys| BACKEND.select_nth_segments(keys, 0, &[0, 3, 6]));
    assert_eq!((of_each[0], of_each[3]), (2, 0));
    let of_each = changed(|keys| BACKEND.select_nth_segments_with(keys, 0, &[0, 3, 6], DOWN));
    assert_eq!((of_each[0], of_each[3]), (9, 7));
    assert!(matches!(BACKEND.select_nth(&mut KEYS.clone(), 6), Err(Error::InvalidPosition { position: 6, len: 6, .. })));
}

#[test]
fn wide_keys() {
    let keys = [[3_u64, 1, 9], [1, 2, 3], [3, 1, 8], [1, 2, 3]];
    assert_eq!(BACKEND.argsort_wide(&keys).unwrap(), [1, 3, 2, 0]);
    assert_eq!(BACKEND.argsort_wide_with(&keys, DOWN).unwrap(), [0, 2, 1, 3]);
    let mut sorted = keys;
    BACKEND.sort_wide(&mut sorted).unwrap();
    assert_eq!(sorted, [[1, 2, 3], [1, 2, 3], [3, 1, 8], [3, 1, 9]]);
    BACKEND.sort_wide_with(&mut sorted, DOWN).unwrap();
    assert_eq!(sorted, [[3, 1, 9], [3, 1, 8], [1, 2, 3], [1, 2, 3]]);
}

#[test]
fn runs_of_equal_keys() {
    let keys = [4_u8, 4, 6, 7, 7, 7];
    let runs = BACKEND.runs(&keys).unwrap();
    assert_eq!((runs.len(), runs.is_empty(), &runs.offsets[..]), (3, false, &[0, 2, 3, 6][..]));
    assert_eq!((runs.unique(&keys), runs.lengths().collect()), (vec![4, 6, 7], vec![2, 1, 3]));
    // The lowest bit does not count.
    assert_eq!(BACKEND.runs_with(&keys, Options::ascending().bits(1..8)).unwrap().offsets, [0, 2, 6]);
    let none: Runs = BACKEND.runs::<u8>(&[]).unwrap();
    assert_eq!((none.len(), none.is_empty(), &none.offsets[..]), (0, true, &[0][..]));
}

#[test]
fn masks_that_change_no_word() {
    assert!(Masks::UNSIGNED.is_identity::<u8>() && !Masks::signed(8).is_identity::<u8>());
    assert!(Masks::signed(16).is_identity::<u8>(), "the sign is no bit of the word");
    assert!(!Masks { clear: 0, set: 1 }.is_identity::<u8>());
}
