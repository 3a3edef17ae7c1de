//! Maps from keys to digits that a partition computes for each key: some bits of the key, or these bits within a range.

use crate::window::Window;
use polysort_core::Word;

/// A map from keys to small numbers that keeps their order.
pub(crate) trait Classify<W>: Copy + Sync {
    fn class(self, key: W) -> usize;
}

/// The bits of a key from `shift` on, as many as `mask` has.
#[derive(Clone, Copy)]
pub(crate) struct Bits {
    pub(crate) shift: u32,
    pub(crate) mask: usize,
}

impl Bits {
    /// The bits of a window, which has fewer than a word has.
    pub(crate) fn of(window: Window) -> Self {
        Self { shift: window.low, mask: window.digits() - 1 }
    }

    /// The number of different digits.
    pub(crate) fn count(self) -> usize {
        self.mask + 1
    }

    /// Whether a digit is all of a key.
    pub(crate) fn is_whole<W: Word>(self) -> bool {
        self.shift == 0 && self.mask.count_ones() == W::BITS
    }

    /// The same without the lowest `bits` of them.
    pub(crate) fn coarser(self, bits: u32) -> Self {
        Self { shift: self.shift + bits, mask: self.mask >> bits }
    }
}

impl<W: Word> Classify<W> for Bits {
    #[inline(always)]
    fn class(self, key: W) -> usize {
        (key >> self.shift as usize).index() & self.mask
    }
}

/// The difference between a key and `base`, from bit `shift` on, but at most `last`. Only the bits of the key in `ones` count.
#[derive(Clone, Copy)]
pub(crate) struct Clamped<W> {
    pub(crate) ones: W,
    pub(crate) base: W,
    pub(crate) shift: u32,
    pub(crate) last: usize,
}

impl<W: Word> Classify<W> for Clamped<W> {
    #[inline(always)]
    fn class(self, key: W) -> usize {
        let above = (key & self.ones).saturating_sub(self.base) >> self.shift as usize;
        // Compared as a word: an index holds no more than 64 bits.
        if above > W::truncate(self.last as u128) { self.last } else { above.index() }
    }
}
