//! Quicksort of keys alone, in place.
//!
//! ```text
//! sample              some words, sorted by a network
//! split               at the middle of the sample                          simd/split.rs
//! both parts          with their parts of the sample, while these are large enough
//! a few               a network, written where it belongs                  simd/
//! ```
//!
//! What makes it fast: a split reads and writes in order, needs no other memory, and has no branch on any word.
//!
//! On several threads, one thread splits, and both parts are sorted side by side. A sort on its own asks for no memory, so it is also the one that
//! sorts keys in place ([`RayonBackend::in_place`](crate::RayonBackend::in_place)).
//!
//! Some word is below a pivot and some is not, so both parts are smaller. After `2 * log2(n)` splits, one in another, the pivot is the
//! middle between the least and the greatest word; after as many more splits as a word has bits, all words are equal.

use crate::sample;
use crate::simd::{Map, Set, SplitWord};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{FEW_ROWS, quicksort_keys, scan_ns};
use bytemuck::cast_slice_mut as cast;
use polysort_core::{Masks, Word};

/// Words of a sample.
const SAMPLES: usize = 128;

/// The fewest samples that give a good pivot.
const LEAST_SAMPLES: usize = 4;

/// The fewest words for each sample.
const SAMPLED: usize = 16;

/// Registers of words that are left to a network. Measured: for words of 32 bits 32 rows are up to 5 % faster than 16, and as fast as 64.
const ROWS: usize = FEW_ROWS / 2;

/// Words of a part that is a task of its own, at least: some 50 µs of work.
const TASK: usize = 16 << 10;

/// Whether quicksort is the fastest sort of `len` keys, if equal keys are identical.
pub(crate) fn suits<W: Word>(set: Set, len: usize) -> bool {
    len <= quicksort_keys(set, W::BITS)
}

/// Sorts raw keys of 32 bits or more. If there are `ordered` words, as many, these are sorted into `keys` instead, as raw keys; the contents of
/// `ordered` are arbitrary afterwards.
pub(crate) fn sort<W: Word>(set: Set, keys: &mut [W], ordered: Option<&mut [W]>, masks: Masks, threads: Threads) {
    let (words, keys) = match ordered {
        Some(words) => (words, Some(keys)),
        None => {
            if !masks.is_identity::<W>() {
                let threads = threads.at_most(scan_ns(size_of_val(keys)));
                threads.for_each_share(keys, &|_, own| own.iter_mut().for_each(|key| *key = masks.apply(*key)));
            }
            (keys, None)
        }
    };
    match W::BITS {
        32 => sort_words::<u32>(set, cast(words), keys.map(cast), masks, threads),
        64 => sort_words::<u64>(set, cast(words), keys.map(cast), masks, threads),
        128 => sort_words::<u128>(set, cast(words), keys.map(cast), masks, threads),
        bits => unreachable!("no quicksort of words of {bits} bits"),
    }
}

fn sort_words<W: SplitWord>(set: Set, words: &mut [W], keys: Option<&mut [W]>, masks: Masks, threads: Threads) {
    // Twice as many splits as halves would take.
    let splits = 2 * words.len().max(1).ilog2();
    Quicksort { set, leave: Map::leave(masks), threads }.sort(words, keys, &[], splits);
}

#[derive(Clone, Copy)]
struct Quicksort<W> {
    set: Set,
    leave: Map<W>,
    threads: Threads,
}

impl<W: SplitWord> Quicksort<W> {
    /// Sorts `words` into `keys`, or in place if there are none. `samples` are some of the words, in order; pivots are taken from samples
    /// in the next `splits` splits.
    fn sort(self, words: &mut [W], keys: Option<&mut [W]>, samples: &[W], splits: u32) {
        let len = words.len();
        if len <= ROWS * self.set.lanes(W::BITS) {
            took(Step::Network(len));
            return match keys {
                Some(keys) => W::sort(self.set, Some(words), keys, Map::identity(), self.leave),
                None => W::sort(self.set, None, words, Map::identity(), self.leave),
            };
        }
        let mut own = [W::zero(); SAMPLES];
        let samples = match samples.len() {
            _ if splits == 0 => &[],
            ..LEAST_SAMPLES => sample::sorted(self.set, Map::identity(), words, &mut own[..SAMPLES.min(len / SAMPLED)]),
            _ => samples,
        };
        let Some(pivot) = pivot(words, samples) else { return self.write(words, keys) };
        let middle = W::split(self.set, words, pivot, Map::identity());
        took(Step::Split(len));
        let (low, high) = words.split_at_mut(middle);
        let (low_keys, high_keys) = keys.map(|keys| keys.split_at_mut(middle)).unzip();
        let (low_samples, high_samples) = samples.split_at(samples.partition_point(|&sample| sample < pivot));
        let splits = splits.saturating_sub(1);
        let threads = if len < 2 * TASK { Threads::ONE } else { self.threads };
        threads.join(|| self.sort(low, low_keys, low_samples, splits), || self.sort(high, high_keys, high_samples, splits));
    }

    /// Writes words that are in order.
    fn write(self, words: &mut [W], keys: Option<&mut [W]>) {
        match keys {
            Some(keys) => keys.iter_mut().zip(words).for_each(|(key, word)| *key = self.leave.apply(*word)),
            None => words.iter_mut().for_each(|word| *word = self.leave.apply(*word)),
        }
    }
}

/// A word that some of `words` are below and some are not, from the middle of `samples` if there are any; `None` if all words are equal.
fn pivot<W: Word>(words: &[W], samples: &[W]) -> Option<W> {
    if let [first, .., last] = samples
        && first < last
    {
        let middle = &samples[samples.len() / 2];
        // If half of the samples or more are the least one, the next.
        return if middle > first { Some(*middle) } else { samples.iter().find(|&sample| sample > first).copied() };
    }
    let range = |(least, greatest): (W, W), &word: &W| (least.min(word), greatest.max(word));
    let (least, greatest) = words.iter().fold((W::max_value(), W::zero()), range);
    if least == greatest {
        return None;
    }
    match samples.first() {
        // Equal samples are most of the words. These are parted from what is below them, and if nothing is, from what is above.
        Some(&most) => Some(if most > least { most } else { least + W::one() }),
        None => Some(least + ((greatest - least) >> 1) + W::one()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::spread;
    use crate::trace::steps_of;

    /// How many words the splits looked at.
    fn split_words(steps: &[Step]) -> usize {
        steps.iter().map(|step| if let Step::Split(len) = step { *len } else { 0 }).sum()
    }

    fn check(what: &str, words: &[u32], splits: u32) {
        let mut expected = words.to_vec();
        expected.sort_unstable();
        for set in Set::all() {
            let sort = Quicksort { set, leave: Map::identity(), threads: Threads::ONE };
            let (mut own, mut keys) = (words.to_vec(), vec![1; words.len()]);
            sort.sort(&mut own, None, &[], splits);
            assert!(own == expected, "{what}, {}", set.name());
            sort.sort(&mut words.to_vec(), Some(&mut keys), &[], splits);
            assert!(keys == expected, "{what}, elsewhere, {}", set.name());
        }
    }

    /// Words of one value and of few, those that samples do not show, and all lengths around those of networks.
    #[test]
    fn any_words() {
        for len in (0..3000).step_by(37).chain([511, 512, 513, 1 << 16]) {
            for splits in [0, 1, 40] {
                let of = |word: fn(u32) -> u32| Vec::from_iter((0..len).map(|i| word(spread(i))));
                check("any", &of(|word| word), splits);
                check("one", &of(|_| u32::MAX), splits);
                check("two", &of(|word| word & 0x8000_0000), splits);
                check("few", &of(|word| word & 0x101), splits);
                check("one but for few greater", &of(|word| if word % 1000 == 0 { word } else { 0 }), splits);
                check("one but for few smaller", &of(|word| if word % 1000 == 0 { word } else { u32::MAX }), splits);
                check("each bit", &of(|word| 1 << (word % 32)), splits);
            }
        }
    }

    /// Splits are nearly halves, and a part of up to 32 rows of registers goes to a network.
    #[test]
    fn parts_are_split_evenly_until_a_network_takes_them() {
        let len = 1 << 15;
        for set in Set::all() {
            let mut words = Vec::from_iter((0..len).map(spread));
            let sort = Quicksort { set, leave: Map::identity(), threads: Threads::ONE };
            let steps = steps_of(|| sort.sort(&mut words, None, &[], 30));
            let few = 32 * set.lanes(32);
            let is_right = |step: &Step| match *step {
                Step::Split(len) => len > few,
                Step::Network(len) => len <= few,
                _ => false,
            };
            assert!(steps.iter().all(is_right), "{steps:?}");
            // Halves take one look a level; pivots that are a little off take less than a level more.
            let levels = (len / few).ilog2() as usize;
            let looks = split_words(&steps) as f64 / len as f64;
            assert!(looks <= levels as f64 + 1.1, "{looks} looks at each word, {levels} levels, {}", set.name());
        }
    }

    /// Some word is below a pivot, and some is not.
    #[test]
    fn a_pivot_is_from_the_middle_of_the_samples_or_of_the_range() {
        let words = [3_u32, 9, 5, 12];
        assert_eq!(pivot(&words, &[3, 5, 9, 12]), Some(9));
        assert_eq!(pivot(&words, &[3, 3, 3, 9, 12]), Some(9), "the middle sample is the least one, so the next");
        assert_eq!(pivot(&words, &[]), Some(8), "above the middle of 3 and 12");
        assert_eq!(pivot(&words, &[5, 5, 5]), Some(5), "most words, parted from those below");
        assert_eq!(pivot(&words, &[3, 3, 3]), Some(4), "the least word, parted from those above");
        assert_eq!(pivot(&[7_u32, 7], &[7, 7]), None);
        assert_eq!(pivot(&[0, u32::MAX], &[]), Some(1 << 31));
    }

    /// Parts of less than two tasks are not handed to other threads.
    #[test]
    fn parts_of_many_words_are_handed_to_the_pool() {
        let threads = Threads::several(3);
        let splits_here = |len: usize| {
            let mut words = Vec::from_iter((0..len).map(spread));
            let sort = Quicksort { set: Set::widest(), leave: Map::identity(), threads };
            steps_of(|| sort.sort(&mut words, None, &[], 30)).len()
        };
        assert!(splits_here(2 * TASK - 1) > 1);
        assert_eq!(splits_here(2 * TASK), 1, "this thread is of no pool, so all others do the parts");
    }

    /// Words of which each sample takes the least: a split at such a sample leaves nearly all words in one part.
    fn adversary(len: usize) -> Vec<u32> {
        // The split decides where a word is when a later sample looks for it. So the sort is run here, and a word that no sample has looked at so
        // far counts as the greatest; when one does, it becomes the least that has no value yet.
        let unknown = u32::MAX;
        let (mut words, mut origin) = (vec![unknown; len], Vec::from_iter(0..len));
        let (mut values, mut known, mut start) = (vec![unknown; len], 0, 0);
        while len - start > SAMPLES * SAMPLED {
            let mut samples = vec![];
            for place in sample::places(len - start, SAMPLES).map(|place| start + place) {
                if words[place] == unknown {
                    (words[place], values[origin[place]], known) = (known, known, known + 1);
                }
                samples.push(words[place]);
            }
            samples.sort_unstable();
            // As in `sort`, which takes pivots from the samples while there are enough, and in `portable::split`.
            while samples.len() >= LEAST_SAMPLES {
                let pivot = pivot(&words, &samples).expect("different samples");
                let mut low = start;
                for at in start..len {
                    words.swap(low, at);
                    origin.swap(low, at);
                    low += usize::from(words[low] < pivot);
                }
                start = low;
                samples.retain(|&sample| sample >= pivot);
            }
        }
        values.iter_mut().zip(known..).filter(|(value, _)| **value == unknown).for_each(|(value, greater)| *value = greater);
        values
    }

    /// Words that make each pivot from samples a bad one take at most `2 * log2(n)` such splits, one in another, and as many splits at the
    /// middle of the range as a word has bits: each look at all words at most.
    #[test]
    fn misleading_samples_take_a_limited_number_of_splits() {
        let len: usize = 1 << 14;
        let words = adversary(len);
        let mut expected = words.clone();
        expected.sort_unstable();
        let run = |splits: u32| {
            let mut own = words.clone();
            let sort = Quicksort { set: Set::Portable, leave: Map::identity(), threads: Threads::ONE };
            let steps = steps_of(|| sort.sort(&mut own, None, &[], splits));
            assert!(own == expected);
            split_words(&steps) / len
        };
        let limit = 2 * len.ilog2();
        assert!(run(limit) <= (limit + u32::BITS) as usize, "{} splits of all words", run(limit));
        // The words do mislead: without the limit, they take far more.
        assert!(run(u32::MAX) > 2 * (limit + u32::BITS) as usize, "{} splits of all words", run(u32::MAX));
    }

    /// Samples all of whose words are far smaller than the rest fail at each split; the middle of the range does not.
    #[test]
    fn samples_that_mislead() {
        let len = 1_u32 << 14;
        let mut words: Vec<u32> = (0..len).map(|i| 0x8000_0000 | i.wrapping_mul(0x9e37_79b9) >> 1).collect();
        for (place, at) in sample::places(words.len(), SAMPLES).zip(0..) {
            words[place] = at / 2;
        }
        check("misleading samples", &words, 2 * len.ilog2());
    }
}
