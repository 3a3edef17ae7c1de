//! What the tests of several modules need.

use crate::threads::Threads;
use crate::trace::{Step, steps_of};
use num_traits::AsPrimitive;

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
