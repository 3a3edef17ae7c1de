//! Samples: the few of many records that stand for all.

use crate::simd::{Map, Set, SplitWord, sort_words};
use crate::tuning::few_keys;
use polysort_core::{Masks, Word};

/// Multiples of the golden ratio's fraction, of 64 bits, are spread over all 64-bit numbers, however many there are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns `samples` places among `len` records, in no order. They are not evenly spaced, because records may be periodic.
pub(crate) fn places(len: usize, samples: usize) -> impl Iterator<Item = usize> {
    let place = move |at: u64| ((len as u128 * u128::from(at.wrapping_mul(GOLDEN))) >> 64) as usize;
    (1..=samples as u64).map(place)
}

/// Sorts samples, with a network if there are few: std's sort of them would take a good part of the time of a short input.
pub(crate) fn sort<W: Word>(samples: &mut [W]) {
    match W::BITS {
        bits @ (16 | 32 | 64) if samples.len() <= few_keys(Set::widest(), bits) => {
            sort_words(Set::widest(), None, samples, Masks::UNSIGNED);
        }
        _ => samples.sort_unstable(),
    }
}

/// Fills `samples` with words from all over, mapped by `enter`, in order.
pub(crate) fn sorted<'a, W: SplitWord>(set: Set, enter: Map<W>, words: &[W], samples: &'a mut [W]) -> &'a [W] {
    for (place, sample) in places(words.len(), samples.len()).zip(samples.iter_mut()) {
        *sample = enter.apply(words[place]);
    }
    W::sort(set, None, samples, Map::identity(), Map::identity());
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::spread_wide;

    #[test]
    fn samples_of_all_words_are_sorted() {
        fn check<W: Word>() {
            for len in [0, 1, 64, 1024] {
                let mut samples: Vec<W> =
                    (0..len).map(|i| W::truncate(u128::from(spread_wide(i)) << 64 | u128::from(spread_wide(i + 9)))).collect();
                let mut expected = samples.clone();
                expected.sort();
                sort(&mut samples);
                assert!(samples == expected, "{len} of {} bits", W::BITS);
            }
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
        check::<u128>();
    }
}
