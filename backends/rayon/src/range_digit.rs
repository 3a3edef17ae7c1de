//! Digits that are parts of a range of ranks, all of them equally long.
//!
//! Plain digits are the top bits of the keys. Others leave keys at the ends of all ranks out of their range; the digit at either end takes these keys:
//!
//! ```text
//! ranks   |0                |start             start + 2^bits digits|            |
//! digits  |------- 0 -------| 1 | 2 | 3 |  …  |     2^bits          |- 2^bits + 1|
//! ```

use crate::classify::{Bits, Clamped};
use crate::window::Window;
use core::ops::Range;
use polysort_core::Word;

/// A digit: which part of a range a rank is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeDigit<W> {
    /// The window that the keys are to be sorted by.
    window: Window,
    /// The least rank of digit 0, but for those below it.
    base: W,
    shift: u32,
    pub(crate) count: usize,
    /// The inner digits. All ranks of an inner digit lie in its own part of the range. The digits before and after them also take the ranks below or above the
    /// range.
    first_inner: usize,
    end_inner: usize,
}

impl<W: Word> RangeDigit<W> {
    /// The topmost `bits` bits of `block`; keys differ in no bit of their window above it.
    pub(crate) fn plain(block: Window, bits: u32) -> Self {
        let top = block.top(bits);
        let count = top.digits();
        Self { window: block, base: W::zero(), shift: top.low, count, first_inner: 0, end_inner: count }
    }

    /// The topmost `bits` bits below bit `high`, of ranks that agree with `first` above it; one digit more for others.
    pub(crate) fn clamped(window: Window, first: W, high: u32, bits: u32) -> Self {
        let high = high.max(window.low);
        let bits = bits.min(high - window.low);
        let shift = high - bits;
        let start = first & !Window { low: 0, high }.ones::<W>();
        let digit = W::one() << shift as usize;
        // The digit below the first takes all that is less.
        let first_inner = usize::from(start >= digit);
        let base = if first_inner == 1 { start - digit } else { start };
        let end_inner = first_inner + (1 << bits);
        Self { window, base, shift, count: end_inner + 1, first_inner, end_inner }
    }

    /// Splits the ranks from `least` to `greatest` into at most `2^bits + 1` equally long digits. The first digit also has all ranks below `least`, the
    /// last one all ranks above `greatest`.
    pub(crate) fn spanning(window: Window, least: W, greatest: W, bits: u32) -> Self {
        let shift = (W::BITS - (greatest - least).leading_zeros()).saturating_sub(bits).max(window.low);
        let base = least & !Window { low: 0, high: shift }.ones::<W>();
        let last = ((greatest - base) >> shift as usize).index();
        Self { window, base, shift, count: last + 1, first_inner: 1, end_inner: last }
    }

    /// Whether digits are plain bits of the key.
    pub(crate) fn as_bits(self) -> Option<Bits> {
        let is_plain = self.end_inner == self.count;
        is_plain.then_some(Bits { shift: self.shift, mask: self.count - 1 })
    }

    pub(crate) fn as_clamped(self) -> Clamped<W> {
        Clamped { ones: self.window.ones(), base: self.base, shift: self.shift, last: self.count - 1 }
    }

    /// The digits whose ranks all lie in their own part of the range.
    pub(crate) fn inner(self) -> Range<usize> {
        self.first_inner..self.end_inner
    }

    /// What is left to sort keys by that have one of `digits`: the window up to the highest bit in which the first and the last rank of these digits differ.
    pub(crate) fn left(self, digits: Range<usize>) -> Window {
        if digits.start < self.first_inner || digits.end > self.end_inner {
            return self.window;
        }
        let start = |digit: usize| self.base + (W::truncate(digit as u128) << self.shift as usize);
        let last = start(digits.end - 1) | Window { low: 0, high: self.shift }.ones::<W>();
        Window { high: W::BITS - (start(digits.start) ^ last).leading_zeros(), ..self.window }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Classify;

    #[test]
    fn a_plain_digit_is_the_top_bits_of_its_block() {
        let block = Window { low: 3, high: 20 };
        let digit = RangeDigit::<u32>::plain(block, 5);
        assert_eq!((digit.count, digit.inner()), (32, 0..32));
        let bits = digit.as_bits().expect("plain bits");
        assert_eq!((bits.shift, bits.mask), (15, 31));
        assert_eq!(digit.left(7..8), Window { low: 3, high: 15 });
        assert_eq!(digit.left(31..32), Window { low: 3, high: 15 });
        assert_eq!(digit.left(8..12), Window { low: 3, high: 17 });
        assert_eq!(digit.left(0..32), block);
        // Fewer bits than may be.
        let all = RangeDigit::<u32>::plain(Window { low: 8, high: 12 }, 5);
        assert_eq!(all.count, 16);
        assert!(all.left(3..4).is_empty());
    }

    /// The digits of a clamped digit by its definition, of ranks at both sides of each bound.
    #[test]
    fn a_clamped_digit_has_one_digit_for_all_that_is_below_and_one_for_all_above() {
        // (first, high, bits, low end of the window; the base, the shift, the first inner digit, and the inner digits)
        let cases = [
            (0x1234_5678_u32, 12, 4, 0, 0x1234_5000_u32, 8, 1, 16),
            (0x0000_0678, 12, 4, 0, 0, 8, 0, 16),
            (0x0000_1000, 12, 1, 0, 0x1000, 11, 1, 2),
            (0xffff_ffff, 12, 4, 0, 0xffff_f000, 8, 1, 16),
            (0x1234_5678, 12, 9, 6, 0x1234_5000, 6, 1, 64),
            (0x0000_0010, 2, 5, 4, 0x10, 4, 1, 1),
        ];
        for (first, high, bits, low, start, shift, below, inner) in cases {
            let window = Window { low, high: 32 };
            let digit = RangeDigit::clamped(window, first, high, bits);
            assert_eq!(digit.inner(), below..below + inner, "{digit:?}");
            assert_eq!(digit.count, below + inner + 1, "{digit:?}");
            assert!(digit.as_bits().is_none());
            let class = |rank: u32| digit.as_clamped().class(rank & window.ones::<u32>());
            for at in 0..inner {
                let least = start + ((at as u32) << shift);
                assert_eq!((class(least), class(least + ((1 << shift) - 1))), (below + at, below + at), "{digit:?}");
                assert_eq!(digit.left(below + at..below + at + 1), Window { low, high: shift });
            }
            assert_eq!(digit.left(below..below + inner), Window { low, high: shift + inner.ilog2() });
            if below == 1 {
                assert_eq!((class(0), class(start - 1)), (0, 0), "{digit:?}");
                assert_eq!(digit.left(0..1), window);
            }
            if let Some(end) = start.checked_add((inner as u32) << shift) {
                assert_eq!((class(end), class(u32::MAX)), (below + inner, below + inner), "{digit:?}");
            }
            assert_eq!(digit.left(below + inner..below + inner + 1), window);
        }
    }

    /// The digits of ranks from 1000 below the middle to 3071 above it, and what is left to sort their keys by.
    #[test]
    fn parts_of_a_range_are_equally_long() {
        let (middle, window) = (1_u32 << 31, Window { low: 2, high: 32 });
        let digit = RangeDigit::spanning(window, middle - 1000, middle + 3071, 6);
        assert_eq!((digit.count, digit.inner()), (64, 1..63));
        let class = |rank: u32| digit.as_clamped().class(rank);
        for at in 0..64 {
            let start = middle - 1024 + 64 * at as u32;
            assert_eq!((class(start), class(start + 63)), (at, at));
        }
        assert_eq!([0, middle - 1025, middle + 3072, u32::MAX].map(class), [0, 0, 63, 63]);
        assert_eq!(digit.left(5..6), Window { low: 2, high: 6 });
        // The digits 8 to 11 begin at a multiple of their length, 7 and 8 do not, and the middle is between 15 and 16.
        assert_eq!(digit.left(8..12), Window { low: 2, high: 8 });
        assert_eq!(digit.left(7..9), Window { low: 2, high: 10 });
        assert_eq!([digit.left(15..17), digit.left(0..1), digit.left(62..64)], [window; 3]);
        // The first digit begins below the least rank, so there is one more.
        assert_eq!(RangeDigit::spanning(window, 1000_u32, 1000 + 4095, 6).count, 65);
        // Fewer ranks than digits.
        let digit = RangeDigit::spanning(window, 40_u32, 52, 6);
        assert_eq!((digit.shift, digit.count), (2, 4));
    }
}
