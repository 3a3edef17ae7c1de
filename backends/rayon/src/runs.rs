//! Runs of equal neighboring keys: each thread counts the runs that begin in its share of the keys, and then writes their offsets.
//!
//! Two reads of the keys take less time than one read that does not know where its offsets go: the offsets of a thread would have to be moved afterwards.

use crate::threads::Threads;
use crate::tuning::scan_ns;
use core::mem::take;
use core::ops::Range;
use polysort_core::{Spec, Word};

/// Keys that are compared before their offsets are written.
const BLOCK: usize = 64;

/// Returns about how long one thread takes to find the runs of so many keys, in nanoseconds.
pub(crate) fn nanoseconds<W: Word>(len: usize) -> u64 {
    // Comparing a key takes about as long as reading 10 bytes.
    2 * scan_ns(len * size_of::<W>().max(5))
}

/// Returns the index of the first key of each run, and at the end the number of keys.
pub(crate) fn offsets<W: Word>(keys: &[W], spec: Spec, threads: Threads) -> Vec<usize> {
    if spec.width() == W::BITS {
        offsets_by(keys, threads, |one, other| one != other)
    } else {
        offsets_by(keys, threads, |one, other| !spec.is_same(one, other))
    }
}

/// Returns the same offsets. `differ` returns whether two keys are different.
fn offsets_by<W: Word>(keys: &[W], threads: Threads, differ: impl Fn(W, W) -> bool + Copy + Sync) -> Vec<usize> {
    if keys.is_empty() {
        return vec![0];
    }
    let threads = threads.at_most(nanoseconds::<W>(keys.len()));
    let start = |share: usize| 1 + (keys.len() - 1) * share / threads.count();
    let count = |share: usize| neighbors(keys, start(share)..start(share + 1)).filter(|&(one, other)| differ(one, other)).count();
    let counts = threads.map(threads.count(), &count);
    // The system zeroes new memory when a thread first writes to it, so no thread has to do this for all others.
    let mut offsets = vec![0; counts.iter().sum::<usize>() + 2];
    let last = offsets.len() - 1;
    offsets[last] = keys.len();
    let mut rest = &mut offsets[1..last];
    let mut tasks = vec![];
    for (share, count) in counts.into_iter().enumerate() {
        let (own, others) = take(&mut rest).split_at_mut(count);
        rest = others;
        tasks.push((start(share)..start(share + 1), own));
    }
    threads.for_each(tasks, &|| (), &|(), (range, own)| write(keys, range, own, differ));
    offsets
}

/// Returns the key before each position of `range`, and the key there. The range does not start at 0.
fn neighbors<W: Word>(keys: &[W], range: Range<usize>) -> impl Iterator<Item = (W, W)> {
    keys[range.start - 1..range.end - 1].iter().copied().zip(keys[range].iter().copied())
}

/// Writes the positions of `range` whose key differs from the key before, of which there are as many as `offsets` has room for.
fn write<W: Word>(keys: &[W], range: Range<usize>, mut offsets: &mut [usize], differ: impl Fn(W, W) -> bool) {
    let mut found = [0; BLOCK];
    for start in range.clone().step_by(BLOCK) {
        let block = start..range.end.min(start + BLOCK);
        // Vector code finds the blocks within a run.
        if !neighbors(keys, block.clone()).fold(false, |any, (one, other)| any | differ(one, other)) {
            continue;
        }
        let mut count = 0;
        for (at, (one, other)) in block.clone().zip(neighbors(keys, block)) {
            // Without a branch, which could not be predicted: the next position replaces one that begins no run.
            found[count] = at;
            count += usize::from(differ(one, other));
        }
        let (own, others) = take(&mut offsets).split_at_mut(count);
        own.copy_from_slice(&found[..count]);
        offsets = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::Masks;

    /// The offsets by their definition.
    fn expected<W: Word>(keys: &[W], differ: impl Fn(W, W) -> bool) -> Vec<usize> {
        let starts = (0..keys.len()).filter(|&at| at > 0 && differ(keys[at - 1], keys[at]));
        Vec::from_iter([0].into_iter().filter(|_| !keys.is_empty()).chain(starts).chain([keys.len()]))
    }

    #[test]
    fn runs_begin_where_a_key_differs_from_the_one_before() {
        let lengths = (0..10).chain([BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK + 1, 1000]);
        for len in lengths {
            for run in [1, 2, 3, 31, 32, 33, 63, 64, 65, 66, 2000] {
                let keys = Vec::from_iter((0..len as u32).map(|i| ((i / run) << 8) | (i % 7)));
                let all = offsets(&keys, Spec::unsigned::<u32>(), Threads::ONE);
                assert_eq!(all, expected(&keys, |one, other| one != other), "{len} keys");
                let window = Spec::new::<u32>(Masks::UNSIGNED, 8, 32).unwrap();
                let runs = offsets(&keys, window, Threads::ONE);
                assert_eq!(runs, expected(&keys, |one, other| one >> 8 != other >> 8), "{len} keys in runs of {run}");
            }
        }
    }

    #[test]
    fn shares_of_threads_have_the_runs_of_one() {
        let threads = Threads::several(3);
        for len in [90_000, 90_001, 90_002_u64] {
            for run in [1, 2, 64, 1000, 29_999, 30_000, 30_001, 100_000] {
                let keys = Vec::from_iter((0..len).map(|i| i / run));
                assert_eq!(offsets(&keys, Spec::unsigned::<u64>(), threads), expected(&keys, |one, other| one != other));
            }
        }
    }

    #[test]
    fn keys_of_few_bytes_are_compared_as_fast_as_those_of_five() {
        assert_eq!(nanoseconds::<u8>(10_000), nanoseconds::<u32>(10_000));
        // The time to read the keys, and ten bytes less for each.
        for len in [10_000, 50_000] {
            assert_eq!(nanoseconds::<u64>(len), 2 * scan_ns(8 * len));
            assert_eq!(nanoseconds::<u32>(len), scan_ns(10 * len));
        }
    }
}
