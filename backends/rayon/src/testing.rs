//! What the tests of several modules need.

use crate::columns::Pairs;
use crate::record::Pair;
use crate::threads::Threads;
use crate::trace::{Step, steps_of};
use bytemuck::Zeroable;
use num_traits::AsPrimitive;
use polysort_core::{Masks, Word};

/// A number that looks random, another one for each `i`.
pub(crate) fn spread(i: impl AsPrimitive<u32>) -> u32 {
    let i = i.as_();
    i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b) >> 7
}

/// A number of 64 bits that looks random, another one for each `i`.
pub(crate) fn spread_wide(i: impl AsPrimitive<u64>) -> u64 {
    let i = i.as_();
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 29
}

/// The steps that several threads take in `work`: a pool of one thread takes all of them.
pub(crate) fn steps_of_threads(work: impl FnOnce(Threads) + Send) -> Vec<Step> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    pool.install(|| steps_of(|| work(Threads::several(3))))
}

/// Columns whose values are the bytes of `numbers`, because operations pass values as bytes.
pub(crate) fn pairs<'a, W>(keys: &'a mut [W], numbers: &'a mut [u32], masks: Masks) -> Pairs<'a, W, [u8; 4]> {
    Pairs { keys, values: bytemuck::cast_slice_mut(numbers), masks }
}

/// A record of each key, whose value is the bytes of the key's index.
pub(crate) fn numbered<W: Word>(keys: &[W]) -> Vec<Pair<W, [u8; 4]>> {
    keys.iter().zip(0..).map(|(&key, number): (_, u32)| Pair { key, value: number.to_ne_bytes() }).collect()
}

/// Scratch of `len` records for a sort of [`pairs`].
pub(crate) fn room<W: Word>(len: usize) -> Vec<Pair<W, [u8; 4]>> {
    vec![Pair::zeroed(); len]
}
