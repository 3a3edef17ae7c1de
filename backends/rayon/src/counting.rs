//! Keys alone of so few values that counting them all is the sort: the output is written without looking at the input again.
//!
//! All values of 8 or 16 bits have a counter each. Wider keys that a sample shows to have few values are counted by a dictionary
//! ([`Dictionary`]). Keys that are not in it are set aside and merged in.

use crate::dictionary::Dictionary;
use crate::threads::Threads;
use crate::tuning::{COUNTED_SAMPLES, DICTIONARY, FIRST_SAMPLES, scan_ns};
use core::ops::Range;
use polysort_core::{Masks, Word};

/// Counters of each kind that neighbouring keys take in turn, so that equal ones do not wait for one another.
const WAYS: usize = 4;

/// The same for 16-bit keys, whose counters fill a good part of a core's cache.
const WAYS_16: usize = 2;

/// Runs of equal keys up to this length are written by one instruction or a few.
const SHORT: usize = 16;

/// Up to so many values are counted by comparing.
const COMPARED: usize = 4;

/// Keys that a dictionary counts at a time.
const PART: usize = 4096;

/// Sorts keys of 8 or 16 bits by all their bits.
pub(crate) fn sort<W: Word>(keys: &mut [W], masks: Masks, threads: Threads) {
    let count = |range: Range<usize>| Some(counted(&keys[range], masks));
    let counts = in_chunks(keys, threads, count).expect("counting always works").into_iter().reduce(add).unwrap_or_default();
    // A key's place in the order is its ordered bits.
    fill(keys, threads, &ends(&counts), |ordered| masks.invert(W::truncate(ordered as u128)));
}

/// Sorts keys by all their bits if they are found to have few values, and says whether they have.
pub(crate) fn sort_few<W: Word>(keys: &mut [W], masks: Masks, threads: Threads) -> bool {
    let Some(dictionary) = few_values(keys) else { return false };
    let Some(chunks) = in_chunks(keys, threads, |range| Counting(&dictionary).counted(&keys[range])) else { return false };
    let (counts, others): (Vec<_>, Vec<_>) = chunks.into_iter().unzip();
    let counts = counts.into_iter().reduce(add).unwrap_or_default();
    let known = dictionary.slots().iter().zip(counts).filter(|&(_, count)| count > 0);
    let mut runs: Vec<(W, usize)> = known.map(|(&key, count)| (masks.apply(key), count)).collect();
    runs.extend(others.into_iter().flatten().map(|key| (masks.apply(key), 1)));
    runs.sort_unstable_by_key(|&(ordered, _)| ordered);
    let counts: Vec<usize> = runs.iter().map(|&(_, count)| count).collect();
    fill(keys, threads, &ends(&counts), |run| masks.invert(runs[run].0));
    true
}

/// What `count` gives for each thread's share of the keys, or `None` if it gave up on any.
fn in_chunks<W: Word, R: Send>(keys: &[W], threads: Threads, count: impl Fn(Range<usize>) -> Option<R> + Sync) -> Option<Vec<R>> {
    let threads = threads.at_most(scan_ns(size_of_val(keys)));
    let shares = threads.count();
    let share = |index: usize| keys.len() * index / shares..keys.len() * (index + 1) / shares;
    threads.map(shares, |index| count(share(index))).into_iter().collect()
}

/// How often each value comes, by its ordered bits.
fn counted<W: Word>(keys: &[W], masks: Masks) -> Vec<usize> {
    match W::BITS {
        8 => counted_in::<W, WAYS>(keys, masks),
        _ => counted_in::<W, WAYS_16>(keys, masks),
    }
}

/// As [`counted`], with so many counters of each value.
fn counted_in<W: Word, const WAYS: usize>(keys: &[W], masks: Masks) -> Vec<usize> {
    let values = 1 << W::BITS;
    // Keys that differ by a power of two have counters that differ in their low address bits all the same: a processor that takes the
    // like of these for one another stalls. The swap of bits is its own inverse.
    let counter = |raw: usize| raw ^ raw >> 8;
    let mut ways = vec![0u32; WAYS * values];
    let mut counts = vec![0; values];
    // In parts, so that no counter overflows.
    for keys in keys.chunks(u32::MAX as usize) {
        ways.fill(0);
        let mut groups = keys.chunks_exact(WAYS);
        for group in &mut groups {
            for (way, key) in group.iter().enumerate() {
                ways[way * values + counter(key.index())] += 1;
            }
        }
        for key in groups.remainder() {
            ways[counter(key.index())] += 1;
        }
        for (at, &count) in ways.iter().enumerate() {
            let raw = W::truncate(counter(at % values) as u128);
            counts[masks.apply(raw).index()] += count as usize;
        }
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
fn ends(counts: &[usize]) -> Vec<usize> {
    let add = |sum: &mut usize, &count: &usize| {
        *sum += count;
        Some(*sum)
    };
    counts.iter().scan(0, add).collect()
}

/// Overwrites the keys by runs: up to `ends[0]` by `value(0)`, from there up to `ends[1]` by `value(1)`, and so on.
fn fill<W: Word>(keys: &mut [W], threads: Threads, ends: &[usize], value: impl Fn(usize) -> W + Sync) {
    let threads = threads.at_most(scan_ns(size_of_val(keys)));
    let share = keys.len().div_ceil(threads.count()).max(1);
    threads.for_each(
        keys.chunks_mut(share).enumerate().collect(),
        || (),
        |(), (chunk, keys): (usize, &mut [W])| {
            let (mut at, mut rest) = (chunk * share, keys);
            let mut run = ends.partition_point(|&end| end <= at);
            while !rest.is_empty() {
                let len = (ends[run] - at).min(rest.len());
                match rest.get_mut(..SHORT) {
                    // A fill of a length that the compiler knows. What is written behind the run is overwritten by the next.
                    Some(short) if len <= SHORT => short.fill(value(run)),
                    _ => rest[..len].fill(value(run)),
                }
                rest = &mut rest[len..];
                at += len;
                run += 1;
            }
        },
    );
}
