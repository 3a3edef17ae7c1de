//! What the tests of several modules need.

use num_traits::AsPrimitive;

/// A number that looks random, another one for each `i`.
pub(crate) fn spread(i: impl AsPrimitive<u32>) -> u32 {
    let i = i.as_();
    i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b) >> 7
}

/// The same of 64 bits.
pub(crate) fn spread_wide(i: impl AsPrimitive<u64>) -> u64 {
    let i = i.as_();
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 29
}
