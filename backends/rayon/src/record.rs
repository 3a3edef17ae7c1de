//! What moves: an ordered key, alone or with its payload.

use bytemuck::{Pod, Zeroable};
use num_traits::Bounded;
use polysort_core::Word;

/// One record of a sort: a key whose unsigned order is the order asked for, and what belongs to it.
pub(crate) trait Record: Pod + Send + Sync {
    type Key: Word;

    fn key(self) -> Self::Key;

    /// The record with another key.
    fn map_key(self, map: impl FnOnce(Self::Key) -> Self::Key) -> Self;
}

impl<W: Word> Record for W {
    type Key = W;

    #[inline(always)]
    fn key(self) -> W {
        self
    }

    #[inline(always)]
    fn map_key(self, map: impl FnOnce(W) -> W) -> Self {
        map(self)
    }
}

/// Whether a record is nothing but its key, and the sort compares every bit of the key: `ones` has all bits set. Nobody can tell equal records of this kind
/// apart, so they may come in any order.
pub(crate) fn are_words<R: Record>(ones: R::Key) -> bool {
    size_of::<R>() == size_of::<R::Key>() && align_of::<R>() == align_of::<R::Key>() && ones == R::Key::max_value()
}

/// A key and its payload side by side, without padding.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
pub(crate) struct Pair<W, V> {
    pub(crate) key: W,
    pub(crate) value: V,
}

impl<W: Word, V: Pod + Send + Sync> Record for Pair<W, V> {
    type Key = W;

    #[inline(always)]
    fn key(self) -> W {
        self.key
    }

    #[inline(always)]
    fn map_key(self, map: impl FnOnce(W) -> W) -> Self {
        Self { key: map(self.key), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_records_of_nothing_but_a_key_that_is_compared_whole() {
        assert!(are_words::<u32>(u32::MAX) && are_words::<u128>(u128::MAX));
        assert!(!are_words::<u32>(u32::MAX >> 1));
        assert!(!are_words::<Pair<u32, u32>>(u32::MAX) && !are_words::<Pair<u32, [u8; 0]>>(u32::MAX));
    }
}
