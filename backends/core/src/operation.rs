//! The operations that a backend runs: the one list of them.

use crate::{Segments, Values, ValuesMut};
use core::ops::Range;

/// An operation on keys that are words of one size. A [`Spec`](crate::Spec), passed beside it, gives the order.
///
/// [`Sort`](crate::Sort) makes operations from the user's keys. A backend that implements [`run`](crate::Backend::run) matches every variant. So a
/// backend that does not handle a new variant no longer compiles.
///
/// With `segments`, each segment is processed separately. `None` means that all keys are one segment.
#[derive(Debug)]
pub enum Operation<'a, W> {
    /// Sorts the keys.
    Sort {
        /// The keys, sorted in place.
        keys: &'a mut [W],
        /// The segments to sort separately; `None` for all keys at once.
        segments: Option<Segments<'a>>,
    },
    /// Sorts the keys and moves each value with its key.
    SortPairs {
        /// The keys, sorted in place.
        keys: &'a mut [W],
        /// As many values.
        values: ValuesMut<'a>,
        /// The segments to sort separately; `None` for all keys at once.
        segments: Option<Segments<'a>>,
    },
    /// Sorts the keys into another slice.
    SortInto {
        /// The keys, which stay as they are.
        keys: &'a [W],
        /// As many keys, overwritten.
        sorted: &'a mut [W],
    },
    /// Sorts the keys into another slice, and moves each value with its key.
    SortPairsInto {
        /// The keys, which stay as they are.
        keys: &'a [W],
        /// As many values, which stay as they are.
        values: Values<'a>,
        /// As many keys, overwritten.
        sorted_keys: &'a mut [W],
        /// As many values of the same size, overwritten.
        sorted_values: ValuesMut<'a>,
    },
    /// Puts the keys at some positions where [`Sort`](Operation::Sort) would put them. No key before these positions sorts after one of them, and no key
    /// behind these positions sorts before one of them. Apart from that, the keys before and behind are in any order.
    PartialSort {
        /// The keys, moved in place.
        keys: &'a mut [W],
        /// The positions, which count from the start of each segment. Positions that a segment does not have are left out.
        positions: Range<usize>,
        /// The segments to process separately; `None` for all keys at once.
        segments: Option<Segments<'a>>,
    },
    /// Writes the stable sorting permutation: the key at position `i` of the sorted order comes from position `indices[i]`. Indices count from the start of
    /// `keys`; a position outside all segments gets its own index.
    Argsort {
        /// The keys, which stay as they are.
        keys: &'a [W],
        /// The segments to sort separately; `None` for all keys at once.
        segments: Option<Segments<'a>>,
        /// As many indices as keys, overwritten.
        indices: &'a mut [u32],
    },
    /// Writes the indices of the first `k` keys of the stable sorted order, in that order. Of segments, the results follow each other; a segment of fewer keys
    /// gives all of them. Indices count from the start of `keys`.
    TopK {
        /// The keys, which stay as they are.
        keys: &'a [W],
        /// How many keys are selected, at most.
        k: usize,
        /// Where `k` keys each are selected.
        segments: Option<Segments<'a>>,
        /// [`selected_len`] indices, overwritten.
        indices: &'a mut [u32],
    },
    /// Finds the runs of equal neighboring keys: writes the index of the first key of each run, and after them the number of keys.
    Runs {
        /// The keys, which stay as they are.
        keys: &'a [W],
        /// The list that is replaced by the offsets, one more than there are runs. Its contents after an error are unspecified.
        offsets: &'a mut Vec<usize>,
    },
}

impl<W> Operation<'_, W> {
    /// Borrows the operation, so that it can be run again if this run fails.
    pub fn by_ref(&mut self) -> Operation<'_, W> {
        match self {
            Self::Sort { keys, segments } => Operation::Sort { keys, segments: *segments },
            Self::SortPairs { keys, values, segments } => {
                Operation::SortPairs { keys, values: values.by_ref(), segments: *segments }
            }
            Self::SortInto { keys, sorted } => Operation::SortInto { keys, sorted },
            Self::SortPairsInto { keys, values, sorted_keys, sorted_values } => {
                Operation::SortPairsInto { keys, values: *values, sorted_keys, sorted_values: sorted_values.by_ref() }
            }
            Self::PartialSort { keys, positions, segments } => {
                Operation::PartialSort { keys, positions: positions.clone(), segments: *segments }
            }
            Self::Argsort { keys, segments, indices } => Operation::Argsort { keys, segments: *segments, indices },
            Self::TopK { keys, k, segments, indices } => Operation::TopK { keys, k: *k, segments: *segments, indices },
            Self::Runs { keys, offsets } => Operation::Runs { keys, offsets },
        }
    }

    /// Returns the keys that the operation reads.
    pub fn keys(&self) -> &[W] {
        match self {
            Self::Sort { keys, .. } | Self::SortPairs { keys, .. } | Self::PartialSort { keys, .. } => keys,
            Self::SortInto { keys, .. }
            | Self::SortPairsInto { keys, .. }
            | Self::Argsort { keys, .. }
            | Self::TopK { keys, .. }
            | Self::Runs { keys, .. } => keys,
        }
    }

    /// The bytes of the payload that moves with each key: 4 for an operation that returns indices.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Sort { .. } | Self::SortInto { .. } | Self::PartialSort { .. } | Self::Runs { .. } => 0,
            Self::SortPairs { values, .. } => values.size(),
            Self::SortPairsInto { values, .. } => values.size(),
            Self::Argsort { .. } | Self::TopK { .. } => size_of::<u32>(),
        }
    }
}

/// Returns the number of keys that a selection of `k` keys returns. Without segments, it is the smaller of `k` and `len`. With segments, each gives
/// the smaller of `k` and its length, the result is their sum, and `len` is not used.
///
/// # Panics
/// If the segments have more begins than ends. [`Segments::check`] refuses those.
pub fn selected_len(k: usize, segments: Option<Segments<'_>>, len: usize) -> usize {
    segments.map_or(len.min(k), |segments| segments.ranges().map(|range| range.len().min(k)).sum())
}

/// An operation on keys of any of the five words: what a backend gets. [`with_word!`](crate::with_word) gives access to the
/// [`Operation`] inside.
#[derive(Debug)]
pub enum AnyOperation<'a> {
    /// On keys of 8 bits.
    U8(Operation<'a, u8>),
    /// On keys of 16 bits.
    U16(Operation<'a, u16>),
    /// On keys of 32 bits.
    U32(Operation<'a, u32>),
    /// On keys of 64 bits.
    U64(Operation<'a, u64>),
    /// On keys of 128 bits.
    U128(Operation<'a, u128>),
}

/// Evaluates an expression with the [`Operation`] that an [`AnyOperation`] holds, whatever its word.
///
/// ```
/// use polysort_core::{AnyOperation, with_word};
/// fn bytes_of_keys(operation: &AnyOperation<'_>) -> usize {
///     with_word!(operation, operation => size_of_val(operation.keys()))
/// }
/// ```
#[macro_export]
macro_rules! with_word {
    ($any:expr, $operation:ident => $then:expr) => {
        match $any {
            $crate::AnyOperation::U8($operation) => $then,
            $crate::AnyOperation::U16($operation) => $then,
            $crate::AnyOperation::U32($operation) => $then,
            $crate::AnyOperation::U64($operation) => $then,
            $crate::AnyOperation::U128($operation) => $then,
        }
    };
}

impl AnyOperation<'_> {
    /// Borrows the operation, so that it can be run again if this run fails.
    pub fn by_ref(&mut self) -> AnyOperation<'_> {
        with_word!(self, operation => operation.by_ref().into())
    }
}
