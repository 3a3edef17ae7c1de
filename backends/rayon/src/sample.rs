//! Samples: the few of many records that stand for all.

use crate::simd::{Map, Set, SplitWord};

/// Multiples of the golden ratio's fraction, of 64 bits, are spread over all 64-bit numbers, however many there are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns `samples` places among `len` records, in no order. They are not evenly spaced, because records may be periodic.
pub(crate) fn places(len: usize, samples: usize) -> impl Iterator<Item = usize> {
    let place = move |at: u64| ((len as u128 * u128::from(at.wrapping_mul(GOLDEN))) >> 64) as usize;
    (1..=samples as u64).map(place)
}

/// Fills `samples` with words from all over, mapped by `enter`, in order.
pub(crate) fn sorted<'a, W: SplitWord>(set: Set, enter: Map<W>, words: &[W], samples: &'a mut [W]) -> &'a [W] {
    for (place, sample) in places(words.len(), samples.len()).zip(samples.iter_mut()) {
        *sample = enter.apply(words[place]);
    }
    W::sort(set, None, samples, Map::identity(), Map::identity());
    samples
}
