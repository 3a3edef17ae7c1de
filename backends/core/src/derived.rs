//! What the code that `#[derive(Sortable)]` writes calls. It is for that code alone, and changes with it.

use crate::Word;
pub use crate::parts::{pop, push};

/// A number of bits: 8, 16, 32, 64 or 128.
#[derive(Debug)]
pub struct Bits<const BITS: u32>;

/// The word of a number of bits.
pub trait SmallestWord {
    /// The word.
    type Word: Word;
}

macro_rules! words {
    ($($bits:literal: $word:ty;)*) => {$(
        impl SmallestWord for Bits<$bits> {
            type Word = $word;
        }
    )*};
}
words! { 8: u8; 16: u16; 32: u32; 64: u64; 128: u128; }

/// Whether a field of `width` bits fits in a key after fields of `before` bits; also true if these are too much already, so that only one field is
/// reported.
pub const fn has_room(before: u32, width: u32) -> bool {
    before > 128 || before + width <= 128
}

/// Whether a width is at most the bits of a word.
pub const fn fits_in_word<W: Word>(width: u32) -> bool {
    width <= W::BITS
}

/// The bits of the smallest word with room for `width` bits. More than 128 bits give 128: the derived code has a check of its own for them.
pub const fn word_bits(width: u32) -> u32 {
    match width {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        _ => 128,
    }
}

/// The indices of the discriminants, in ascending order of these: an insertion sort, which takes one comparison for each variant that is written
/// in order.
pub const fn sorted_indices<const N: usize>(discriminants: [i128; N]) -> [usize; N] {
    let mut indices = [0; N];
    let mut len = 0;
    while len < N {
        let mut at = len;
        while let Some(before) = at.checked_sub(1)
            && discriminants[indices[before]] > discriminants[len]
        {
            indices[at] = indices[before];
            at = before;
        }
        indices[at] = len;
        len += 1;
    }
    indices
}

/// The inverse of a permutation.
pub const fn inverse<const N: usize>(permutation: [usize; N]) -> [usize; N] {
    let mut inverse = [0; N];
    let mut at = 0;
    while at < N {
        inverse[permutation[at]] = at;
        at += 1;
    }
    inverse
}
