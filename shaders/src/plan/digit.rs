//! Digits of keys, and how many there can be.

/// Bits of a digit.
pub const RADIX_BITS: u32 = 8;

/// Number of values of a digit.
pub const RADIX: u32 = 1 << RADIX_BITS;

/// Bits of a wide digit. A word has three, of 11, 11 and 10 bits.
pub const WIDE_RADIX_BITS: u32 = 11;

/// The most digits of a key, which has up to 128 bits.
pub const MAX_DIGITS: u32 = 16;

/// The most keys of one sort: a status word has 30 bits for a count.
pub const MAX_KEYS: u64 = (1 << 30) - 1;

/// A digit of a key: `bits` bits of a word, from `shift` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// The word, 0 the least significant.
    pub word: u32,
    /// The lowest bit of the digit in the word.
    pub shift: u32,
    /// The number of bits: 1 to 8, or up to 11 for wide digits.
    pub bits: u32,
}

/// Returns the digits of bits `begin` to `end`, least significant first. No digit crosses a word.
pub(super) fn digits(begin: u32, end: u32, radix_bits: u32) -> Vec<Digit> {
    let mut digits = vec![];
    let mut at = begin;
    while at < end {
        let bits = radix_bits.min(end - at).min(32 - at % 32);
        digits.push(Digit { word: at / 32, shift: at % 32, bits });
        at += bits;
    }
    digits
}
