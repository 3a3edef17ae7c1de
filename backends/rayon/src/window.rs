//! The bits that are still to be sorted by.

use polysort_core::{Spec, Word};

/// Bits `low..high` of an ordered key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) low: u32,
    pub(crate) high: u32,
}

impl Window {
    pub(crate) fn of(spec: Spec) -> Self {
        Self { low: spec.begin, high: spec.end }
    }

    pub(crate) fn width(self) -> u32 {
        self.high - self.low
    }

    pub(crate) fn is_empty(self) -> bool {
        self.low >= self.high
    }

    /// The window without the bits at its ends in which no two keys differ. `varying` has a bit set where keys differ.
    pub(crate) fn narrowed<W: Word>(self, varying: W) -> Self {
        let varying = varying & self.ones();
        if varying.is_zero() {
            return Self { low: self.low, high: self.low };
        }
        Self { low: varying.trailing_zeros(), high: W::BITS - varying.leading_zeros() }
    }

    /// The top `bits` bits of the window, or all of it if it has fewer.
    pub(crate) fn top(self, bits: u32) -> Self {
        Self { low: self.high - bits.min(self.width()), high: self.high }
    }

    /// What is left below `top`.
    pub(crate) fn below(self, top: Self) -> Self {
        Self { low: self.low, high: top.low }
    }

    /// A word with the bits of the window set.
    pub(crate) fn ones<W: Word>(self) -> W {
        if self.is_empty() {
            return W::zero();
        }
        let above = (W::BITS - self.high) as usize;
        ((W::max_value() << above) >> (above + self.low as usize)) << self.low as usize
    }

    /// The bits of `word` in the window, as a number. The window has at most 16 bits.
    #[inline(always)]
    pub(crate) fn digit<W: Word>(self, word: W) -> usize {
        (word >> self.low as usize).index() & ((1 << self.width()) - 1)
    }

    /// The number of digits that a window of at most 16 bits can give.
    pub(crate) fn digits(self) -> usize {
        1 << self.width()
    }
}
