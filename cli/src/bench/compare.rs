//! Comparisons of keys by std's order, and std's stable sort of pairs.
//!
//! The direction is a const parameter, so that no comparison tests it.

use crate::dtype::Key;
use core::cmp::Ordering;

/// Compares two keys.
#[inline]
pub(crate) fn by<K: Key, const DESCENDING: bool>(a: &K, b: &K) -> Ordering {
    if DESCENDING { b.compare(a) } else { a.compare(b) }
}

/// Compares two pairs by their keys.
#[inline]
pub(crate) fn by_key<K: Key, V, const DESCENDING: bool>(a: &(K, V), b: &(K, V)) -> Ordering {
    by::<K, DESCENDING>(&a.0, &b.0)
}

/// Sorts pairs by their keys, stably.
pub(crate) fn sort_pairs<K: Key, const DESCENDING: bool>(pairs: &mut [(K, u32)]) {
    pairs.sort_by(by_key::<K, u32, DESCENDING>);
}
