//! Keys made of keys: their bits side by side in 128 bits, the first key most significant.

use crate::Sortable;
use crate::masks::low_bits;

/// The bits of the keys so far, `above`, and below them those of the next key, which has `width` bits. Bits of that key beyond its width are left
/// out, so that they do not change `above`.
#[inline]
pub const fn push(above: u128, width: u32, bits: u128) -> u128 {
    // A key of all 128 bits comes after keys of no bits only.
    let above = if width >= 128 { 0 } else { above << width };
    above | bits & low_bits(width)
}

/// The inverse of [`push`]: the bits above those of the last key, which has `width` bits, and the bits of that key.
#[inline]
pub const fn pop(bits: u128, width: u32) -> (u128, u128) {
    (if width >= 128 { 0 } else { bits >> width }, bits & low_bits(width))
}

/// Whether the bits of a key fit in its `WIDTH`.
#[inline]
pub(crate) fn fits<K: Sortable>(key: K) -> bool {
    K::bits_fit(key, key.to_bits())
}
