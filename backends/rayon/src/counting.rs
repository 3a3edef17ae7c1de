//! Keys alone of so few values that counting them all is the sort: the output is written without looking at the input again.
//!
//! All values of 8 or 16 bits have a counter each. Wider keys that a sample shows to have few values are counted by a dictionary
//! ([`Dictionary`]). Keys that are not in it are set aside and merged in.

use crate::dictionary::Dictionary;
use crate::equal::{write_run, write_runs};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{COUNTED_SAMPLES, DICTIONARY, FIRST_SAMPLES, scan_ns};
use core::ops::Range;
use polysort_core::{Masks, Word};

/// Counters of each kind that neighbouring keys take in turn, so that equal ones do not wait for one another.
const WAYS: usize = 4;

/// The same for 16-bit keys, whose counters fill a good part of a core's cache.
const WAYS_16: usize = 2;

/// Neighbouring values of 8 or 16 bits whose keys are counted together, so that a thread finds the value that its share of the output starts with.
const BLOCK: usize = 256;

/// Up to so many values are counted by comparing.
const COMPARED: usize = 4;

/// Keys that a dictionary counts at a time.
const PART: usize = 4096;

/// Sorts keys of 8 or 16 bits by all their bits.
pub(crate) fn sort<W: Word>(keys: &mut [W], masks: Masks, threads: Threads) {
    took(Step::Counted(keys.len()));
    let threads = threads.at_most(nanoseconds::<W>(keys.len()));
    let raw = move |ordered: usize| masks.invert(W::truncate(ordered as u128)).index();
    let key = move |ordered: usize| W::truncate(raw(ordered) as u128);
    if threads.is_one() && u32::try_from(keys.len()).is_ok() {
        let counts = counted(keys);
        return write_runs(keys, (0..1 << W::BITS).map(|ordered| (key(ordered), counts[slot(raw(ordered))] as usize)));
    }
    let shares = in_chunks(keys, threads, |range| Some(counted(&keys[range]))).expect("counting always works");
    let shares = &shares[..];
    // The masks flip the same bits in all values of a block, so its values are a block of the order.
    let in_block = |block: usize| {
        let start = raw(block * BLOCK) / BLOCK * BLOCK;
        let in_share = |counts: &Vec<u32>| counts[start..start + BLOCK].iter().map(|&count| count as usize).sum::<usize>();
        shares.iter().map(in_share).sum()
    };
    let ends = ends((0..(1 << W::BITS) / BLOCK).map(in_block));
    fill(keys, threads, Runs { ends: &ends, runs_of_end: BLOCK }, move |ordered| {
        let slot = slot(raw(ordered));
        (key(ordered), shares.iter().map(|counts| counts[slot] as usize).sum())
    });
}

/// About how long one thread takes to sort so many keys of 8 or 16 bits by counting, in nanoseconds. Measured on Zen 4: 0.3 ns a key of 8 bits, and 0.8 ns
/// one of 16.
pub(crate) fn nanoseconds<W: Word>(len: usize) -> u64 {
    len as u64 * if W::BITS == 8 { 3 } else { 8 } / 10
}

/// Sorts keys by all their bits if they are found to have few values, and says whether they have.
pub(crate) fn sort_few<W: Word>(keys: &mut [W], masks: Masks, threads: Threads) -> bool {
    let Some(dictionary) = few_values(keys) else { return false };
    let threads = threads.at_most(scan_ns(size_of_val(keys)));
    let Some(chunks) = in_chunks(keys, threads, |range| Counting(&dictionary).counted(&keys[range])) else { return false };
    took(Step::Dictionary(keys.len()));
    let (counts, others): (Vec<_>, Vec<_>) = chunks.into_iter().unzip();
    let counts = counts.into_iter().reduce(add).unwrap_or_default();
    let known = dictionary.slots().iter().zip(counts).filter(|&(_, count)| count > 0);
    let mut runs: Vec<(W, usize)> = known.map(|(&key, count)| (masks.apply(key), count)).collect();
    runs.extend(others.into_iter().flatten().map(|key| (masks.apply(key), 1)));
    runs.sort_unstable_by_key(|&(ordered, _)| ordered);
    let ends = ends(runs.iter().map(|&(_, count)| count));
    let runs = &runs[..];
    fill(keys, threads, Runs { ends: &ends, runs_of_end: 1 }, move |run| {
        let (ordered, count) = runs[run];
        (masks.invert(ordered), count)
    });
    true
}

/// What `count` gives for each thread's share of the keys, or `None` if it gave up on any. No share has more keys than a `u32` counts.
fn in_chunks<W: Word, R: Send>(keys: &[W], threads: Threads, count: impl Fn(Range<usize>) -> Option<R> + Sync) -> Option<Vec<R>> {
    let shares = threads.count().max(keys.len().div_ceil(u32::MAX as usize));
    let share = |index: usize| keys.len() * index / shares..keys.len() * (index + 1) / shares;
    threads.map(shares, &|index| count(share(index))).into_iter().collect()
}

/// The counter of a raw value of 16 bits or fewer, and the other way round: the bits of a block's number are flipped in the number within the block. Keys that
/// differ by a power of two would have counters that differ in their low address bits all the same: a processor that takes the like of these for one
/// another stalls.
#[inline(always)]
fn slot(raw: usize) -> usize {
    raw ^ raw >> 8
}

/// How often each value comes, each in its [`slot`].
fn counted<W: Word>(keys: &[W]) -> Vec<u32> {
    if W::BITS == 8 { counted_bytes(bytemuck::cast_slice(keys)) } else { counted_halves(bytemuck::cast_slice(keys)) }
}

fn counted_bytes(keys: &[u8]) -> Vec<u32> {
    let mut ways = [[0_u32; 1 << 8]; WAYS];
    let (groups, rest) = keys.as_chunks::<WAYS>();
    for group in groups {
        ways.iter_mut().zip(group).for_each(|(way, &key)| way[usize::from(key)] += 1);
    }
    rest.iter().for_each(|&key| ways[0][usize::from(key)] += 1);
    let mut counts = vec![0; 1 << 8];
    for way in ways {
        counts.iter_mut().zip(way).for_each(|(count, own)| *count += own);
    }
    counts
}

/// Counts in bytes, which take a quarter of the cache that words of 32 bits take, and keeps what they carry in words.
fn counted_halves(keys: &[u16]) -> Vec<u32> {
    const VALUES: usize = 1 << 16;
    let (mut bytes, mut counts) = (vec![0_u8; WAYS_16 * VALUES], vec![0_u32; VALUES]);
    let (ways, _) = bytes.as_chunks_mut::<VALUES>();
    let carried: &mut [u32; VALUES] = (&mut counts[..]).try_into().expect("a counter for each value");
    let mut count = |way: &mut [u8; VALUES], key: u16| {
        let slot = slot(usize::from(key));
        way[slot] = way[slot].wrapping_add(1);
        if way[slot] == 0 {
            carried[slot] += 1 << 8;
        }
    };
    let (groups, rest) = keys.as_chunks::<WAYS_16>();
    for group in groups {
        ways.iter_mut().zip(group).for_each(|(way, &key)| count(way, key));
    }
    rest.iter().for_each(|&key| count(&mut ways[0], key));
    for way in ways {
        counts.iter_mut().zip(way).for_each(|(count, byte)| *count += u32::from(*byte));
    }
    counts
}

/// The values of the keys, if a sample shows that they are few.
fn few_values<W: Word>(keys: &[W]) -> Option<Dictionary<W>> {
    // First a look that costs next to nothing, as most keys are not like that.
    if distinct(keys, FIRST_SAMPLES).len() > FIRST_SAMPLES * 3 / 4 {
        return None;
    }
    let values = distinct(keys, COUNTED_SAMPLES);
    if values.len() > DICTIONARY { None } else { Dictionary::of(values) }
}

/// Counts raw keys by a dictionary.
struct Counting<'a, W>(&'a Dictionary<W>);

impl<W: Word> Counting<'_, W> {
    /// How often the key of each slot comes, and the keys of none; `None` if these are many.
    fn counted(&self, keys: &[W]) -> Option<(Vec<usize>, Vec<W>)> {
        let most_others = keys.len() / 64;
        let slots = self.0.slots().len();
        let (mut counts, mut others) = (vec![0; WAYS * slots], vec![]);
        for keys in keys.chunks(PART) {
            if !(self.0.values().len() <= COMPARED && self.count_by_comparing(keys, &mut counts)) {
                self.count_by_slot(keys, &mut counts, &mut others);
            }
            if others.len() > most_others {
                return None;
            }
        }
        let counts = counts.chunks(slots).map(<[usize]>::to_vec).reduce(add).unwrap_or_default();
        Some((counts, others))
    }

    fn count_by_slot(&self, keys: &[W], counts: &mut [usize], others: &mut Vec<W>) {
        let slots = self.0.slots();
        for (at, &key) in keys.iter().enumerate() {
            let slot = self.0.slot(key);
            if slots[slot] == key {
                counts[at % WAYS * slots.len() + slot] += 1;
            } else {
                others.push(key);
            }
        }
    }

    /// Compares each of very few values with all keys, which is vector code; counts nothing and says so if there are other keys.
    fn count_by_comparing(&self, keys: &[W], counts: &mut [usize]) -> bool {
        let mut equal = [0; COMPARED];
        for (equal, &value) in equal.iter_mut().zip(self.0.values()) {
            // A part has so few keys that this needs no wider counter.
            *equal = keys.iter().fold(0_u16, |equal, &key| equal + u16::from(key == value));
        }
        let complete = equal.iter().map(|&equal| usize::from(equal)).sum::<usize>() == keys.len();
        for (&value, equal) in self.0.values().iter().zip(equal).filter(|_| complete) {
            counts[self.0.slot(value)] += usize::from(equal);
        }
        complete
    }
}

/// The different keys among `samples` of them, spread evenly.
fn distinct<W: Word>(keys: &[W], samples: usize) -> Vec<W> {
    let step = (keys.len() / samples).max(1);
    let mut values: Vec<W> = keys.iter().step_by(step).copied().collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn add(mut left: Vec<usize>, right: Vec<usize>) -> Vec<usize> {
    left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
    left
}

/// The sums of the counts up to each, inclusive.
fn ends(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let add = |sum: &mut usize, count: usize| {
        *sum += count;
        Some(*sum)
    };
    counts.scan(0, add).collect()
}

/// The ends of runs of equal keys, or of each so many of them.
#[derive(Clone, Copy)]
struct Runs<'a> {
    ends: &'a [usize],
    runs_of_end: usize,
}

/// Overwrites the keys by runs of equal keys: `run` returns the key of each, and its length.
fn fill<W: Word>(keys: &mut [W], threads: Threads, runs: Runs<'_>, run: impl Fn(usize) -> (W, usize) + Copy + Sync) {
    threads.for_each_share(keys, &|start, keys| {
        // A copy that no write to the keys may change, so that it stays in registers.
        let own = run;
        let before = runs.ends.partition_point(|&end| end <= start);
        let mut next = before * runs.runs_of_end;
        let mut end = before.checked_sub(1).map_or(0, |before| runs.ends[before]);
        let (len, mut at) = (keys.len(), 0);
        while at < len {
            let (key, count) = own(next);
            (next, end) = (next + 1, end + count);
            // The first runs may end before the share starts, and the last one behind its end.
            let stop = end.saturating_sub(start).min(len);
            write_run(keys, at, stop - at, key);
            at = stop;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Step, steps_of};

    fn spread(i: usize) -> usize {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 31).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20
    }

    fn sorts_few(keys: &[u64], masks: Masks, threads: Threads) -> bool {
        let (mut sorted, mut expected) = (keys.to_vec(), keys.to_vec());
        expected.sort_unstable_by_key(|&key| masks.apply(key));
        let mut is_counted = false;
        let steps = steps_of(|| is_counted = sort_few(&mut sorted, masks, threads));
        assert_eq!(steps, if is_counted { vec![Step::Dictionary(keys.len())] } else { vec![] });
        assert!(sorted == if is_counted { expected } else { keys.to_vec() });
        is_counted
    }

    /// A dictionary counts up to 256 values and a few keys that it has not; more are left as they were.
    #[test]
    fn keys_are_counted_if_they_have_few_values() {
        // Enough for three threads to have a share each.
        let len = 100_000;
        let threads = [Threads::ONE, Threads::several(3)];
        for (masks, threads) in [Masks::UNSIGNED, Masks::float(64)].into_iter().flat_map(|masks| threads.map(|of| (masks, of))) {
            for values in [1, 2, 4, 5, 60, DICTIONARY, DICTIONARY + 1] {
                // Most keys are equal, so that the first look sees few values.
                let value = |i: usize| if i % 5 > 1 { 0 } else { spread(i) % values };
                let keys = Vec::from_iter((0..len).map(|i| (value(i) as u64).wrapping_mul(0x0123_4567_89ab_cdef)));
                assert_eq!(sorts_few(&keys, masks, threads), values <= DICTIONARY, "{values} values");
            }
            // Few others, which no sample finds, and many. A dictionary of up to four values compares, others look up.
            for values in [3, 100] {
                for (others, is_few) in [(10, true), (1500, true), (1700, false)] {
                    let mut keys =
                        Vec::from_iter((0..len).map(|i| ((spread(i) % values) as u64).wrapping_mul(0x0123_4567_89ab_cdef)));
                    // Odd places: samples are taken at even ones.
                    let step = (len / others) & !1;
                    (0..others).for_each(|other| keys[other * step + 1] = !(other as u64) >> 1);
                    assert_eq!(sorts_few(&keys, masks, threads), is_few, "{values} values and {others} others");
                }
            }
        }
    }

    /// The first look is at 128 keys: more than 96 different ones among them show that it is not worth a second one.
    #[test]
    fn a_look_at_a_few_keys_is_enough_for_most() {
        let keys = |different: usize| Vec::from_iter((0..1 << 15).map(|i| (i / 256 % different) as u32));
        assert_eq!(distinct(&keys(96), FIRST_SAMPLES).len(), 96);
        assert!(few_values(&keys(96)).is_some_and(|dictionary| dictionary.values().len() == 96));
        assert!(few_values(&keys(97)).is_none());
        // Fewer keys than samples.
        assert_eq!(distinct(&[3_u32, 1, 3], FIRST_SAMPLES), [1, 3]);
    }

    #[test]
    fn very_few_values_are_compared_with() {
        let dictionary = Dictionary::of(vec![7_u32, 9]).expect("two values");
        let (counting, slots) = (Counting(&dictionary), dictionary.slots().len());
        let mut counts = vec![0; WAYS * slots];
        assert!(counting.count_by_comparing(&[7, 9, 9, 7, 9], &mut counts));
        assert_eq!([7, 9].map(|value| counts[dictionary.slot(value)]), [2, 3]);
        assert!(!counting.count_by_comparing(&[7, 8, 9], &mut counts));
        assert_eq!(counts.iter().sum::<usize>(), 5, "another key ends the comparison, and nothing is counted");
        // Keys that are looked up are counted by four counters in turn.
        let (mut counts, mut others) = (vec![0; WAYS * slots], vec![]);
        counting.count_by_slot(&[7, 7, 7, 7, 7, 8], &mut counts, &mut others);
        assert_eq!([0, 1, 2, 3].map(|way| counts[way * slots + dictionary.slot(7)]), [2, 1, 1, 1]);
        assert_eq!(others, [8]);
    }

    #[test]
    fn counters_of_neighboring_blocks_differ_in_their_low_address_bits() {
        let slots = Vec::from_iter((0..1 << 16).map(slot));
        assert!(slots.iter().enumerate().all(|(raw, &own)| slot(own) == raw), "its own inverse");
        assert!((1..256).all(|block| slots[block << 8] & 0xff == block));
    }

    /// Counters of bytes carry at 256.
    #[test]
    fn each_key_is_counted_once() {
        let keys = Vec::from_iter((0..100_003_usize).map(|i| if i % 3 == 0 { 513 } else { spread(i) as u16 % 1000 }));
        let counts = counted(&keys);
        let bytes = Vec::from_iter(keys.iter().map(|&key| key as u8));
        let of_bytes = counted(&bytes);
        for value in 0..1000_u16 {
            let expected = keys.iter().filter(|&&key| key == value).count();
            assert_eq!(counts[slot(value.into())] as usize, expected, "{value}");
        }
        assert!(
            (0..256).all(|value| of_bytes[value] as usize == bytes.iter().filter(|&&byte| usize::from(byte) == value).count())
        );
    }

    #[test]
    fn shares_hold_all_keys_in_order() {
        let keys = Vec::from_iter(0..1000_u16);
        for count in [1, 2, 7] {
            let threads = Threads::several(count);
            let shares = in_chunks(&keys, threads, |range| Some(keys[range].to_vec())).expect("all give a share");
            assert_eq!(shares.len(), count);
            assert!(shares.iter().all(|share| share.len().abs_diff(1000 / count) <= 1));
            assert!(shares.concat() == keys);
            assert!(in_chunks(&keys, threads, |range| (range.end < 1000).then_some(())).is_none());
        }
    }

    /// A byte is counted at 0.3 ns and a key of 16 bits at 0.8.
    #[test]
    fn estimates_are_those_measured() {
        assert_eq!((nanoseconds::<u8>(1000), nanoseconds::<u16>(1000)), (300, 800));
    }
}
