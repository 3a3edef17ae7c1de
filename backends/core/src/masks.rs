//! The whole key transform: two XOR masks chosen by the sign bit.

use crate::Word;

/// The map between the raw bits of a key and bits whose unsigned order is the key's order.
///
/// `ordered = raw ^ (if the top bit of raw is set { set } else { clear })`
///
/// | key | `clear` | `set` |
/// |---|---|---|
/// | unsigned, ascending | `0000…` | `0000…` |
/// | signed, ascending | `1000…` | `1000…` |
/// | float, ascending (`total_cmp`) | `1000…` | `1111…` |
/// | any, descending | the complement of both | |
///
/// Both masks agree in the word's top bit, so the map is a bijection and the raw sign can be read back from the ordered
/// bits: [`invert`](Masks::invert) needs no other data. The masks are kept as `u128`; a narrower word takes the low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Masks {
    /// The mask for raw bits whose top bit is clear.
    pub clear: u128,
    /// The mask for raw bits whose top bit is set.
    pub set: u128,
}

impl Masks {
    /// Raw bits that are in order already: unsigned integers, ascending.
    pub const UNSIGNED: Self = Self { clear: 0, set: 0 };

    /// Two's-complement integers of `width` bits (1 to 128), ascending.
    pub const fn signed(width: u32) -> Self {
        let top = 1 << (width - 1);
        Self { clear: top, set: top }
    }

    /// IEEE 754 binary floats of `width` bits (1 to 128), ascending in the order of [`f32::total_cmp`]
    /// (IEEE 754-2019, 5.10: −NaN < −∞ < … < −0 < +0 < … < +∞ < +NaN, NaNs by payload).
    pub const fn float(width: u32) -> Self {
        Self { clear: 1 << (width - 1), set: low_bits(width) }
    }

    /// The masks of the opposite order: both complemented in the low `width` bits (1 to 128). An involution.
    #[must_use]
    pub const fn reversed(self, width: u32) -> Self {
        let ones = low_bits(width);
        Self { clear: self.clear ^ ones, set: self.set ^ ones }
    }

    /// The ordered bits of a raw word.
    #[inline]
    pub fn apply<W: Word>(self, raw: W) -> W {
        let (clear, flip) = self.parts();
        raw ^ clear ^ (raw.spread_sign() & flip)
    }

    /// The raw word of ordered bits: the inverse of [`apply`](Masks::apply) if [`is_bijective`](Masks::is_bijective).
    #[inline]
    pub fn invert<W: Word>(self, ordered: W) -> W {
        let (clear, flip) = self.parts();
        let raw_sign = (ordered ^ clear).spread_sign();
        ordered ^ clear ^ (raw_sign & flip)
    }

    /// Returns whether the map is a bijection on words of `W`. It is one if the top bits of both masks, as words of `W`, are the same.
    pub fn is_bijective<W: Word>(self) -> bool {
        (self.clear ^ self.set) >> (W::BITS - 1) & 1 == 0
    }

    /// Whether the map leaves every word of `W` as it is.
    pub fn is_identity<W: Word>(self) -> bool {
        W::truncate(self.clear | self.set).is_zero()
    }

    /// `clear`, and what to flip on top of it when the sign is set.
    #[inline]
    fn parts<W: Word>(self) -> (W, W) {
        (W::truncate(self.clear), W::truncate(self.clear ^ self.set))
    }
}

/// The lowest `width` bits set; `width` is at most 128.
pub(crate) const fn low_bits(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}
