//! Keys alone of so few values that counting them all is the sort: the output is written without looking at the input again.
//!
//! All values of 8 or 16 bits have a counter each. Wider keys that a sample shows to have few values are counted by a dictionary
//! ([`Dictionary`]). Keys that are not in it are set aside and merged in.

use crate::dictionary::Dictionary;
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

/// Keys that are written at a time: what is written behind a run is overwritten by the next.
const WRITTEN: usize = 32;

/// Up to so many values are counted by comparing.
const COMPARED: usize = 4;

/// Keys that a dictionary counts at a time.
const PART: usize = 4096;

/// Sorts keys of 8 or 16 bits by all their bits.
pub(crate) fn sort<W: Word>(keys: &mut [W], masks: Masks, threads: Threads) {
    took(Step::Counted(keys.len()));
    let threads = threads.at_most(nanoseconds::<W>(keys.len()));
    let shares = in_chunks(keys, threads, |range| Some(counted(&keys[range]))).expect("counting always works");
    let shares = &shares[..];
    let raw = move |ordered: usize| masks.invert(W::truncate(ordered as u128)).index();
    // The masks flip the same bits in all values of a block, so its values are a block of the order.
    let in_block = |block: usize| {
        let start = raw(block * BLOCK) / BLOCK * BLOCK;
        let in_share = |counts: &Vec<u32>| counts[start..start + BLOCK].iter().map(|&count| count as usize).sum::<usize>();
        shares.iter().map(in_share).sum()
    };
    // One thread starts with the first value.
    let blocks = if threads.is_one() { 0 } else { (1 << W::BITS) / BLOCK };
    let ends = ends((0..blocks).map(in_block));
    let runs = Runs { ends: &ends, runs_of_end: BLOCK };
    let key = move |ordered: usize| W::truncate(raw(ordered) as u128);
    match shares {
        [counts] => fill(keys, threads, runs, move |ordered| (key(ordered), counts[slot(raw(ordered))] as usize)),
        _ => fill(keys, threads, runs, move |ordered| {
            let slot = slot(raw(ordered));
            (key(ordered), shares.iter().map(|counts| counts[slot] as usize).sum())
        }),
    }
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
    threads.map(shares, |index| count(share(index))).into_iter().collect()
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
    let share = keys.len().div_ceil(threads.count()).max(1);
    threads.for_each(
        keys.chunks_mut(share).enumerate().collect(),
        || (),
        |(), (chunk, keys): (usize, &mut [W])| {
            // A copy that no write to the keys may change, so that it stays in registers.
            let own = run;
            let start = chunk * share;
            let before = runs.ends.partition_point(|&end| end <= start);
            let mut next = before * runs.runs_of_end;
            let mut end = before.checked_sub(1).map_or(0, |before| runs.ends[before]);
            let (len, mut at) = (keys.len(), 0);
            while at < len {
                let (key, count) = own(next);
                (next, end) = (next + 1, end + count);
                // The first runs may end before the share starts, and the last one behind its end.
                let stop = end.saturating_sub(start).min(len);
                // The lengths of most runs differ by little, and then this has no branch that is hard to foresee.
                match keys.get_mut(at..at + WRITTEN) {
                    Some(block) if stop - at <= WRITTEN => block.fill(key),
                    _ => write(&mut keys[at..], stop - at, key),
                }
                at = stop;
            }
        },
    );
}

/// Writes `len` keys, and perhaps some more behind them.
fn write<W: Word>(keys: &mut [W], len: usize, key: W) {
    match keys.as_chunks_mut::<WRITTEN>().0.get_mut(..len.div_ceil(WRITTEN)) {
        Some(blocks) => blocks.iter_mut().for_each(|block| *block = [key; WRITTEN]),
        None => keys[..len].fill(key),
    }
}
