//! Keys of so few bits that counting them all is the sort: the output is written without looking at the input again.

use crate::sort::threads_for;
use polysort_core::{Masks, Word};
use rayon::prelude::*;

/// Counters of each kind that neighbouring keys take in turn, so that equal ones do not wait for one another.
const WAYS: usize = 4;

/// Sorts keys of 8 or 16 bits by all their bits.
pub(crate) fn sort<W: Word>(keys: &mut [W], masks: Masks) {
    let threads = threads_for(size_of_val(keys));
    let share = keys.len().div_ceil(threads).max(1);
    let counts = match threads {
        1 => counted(keys, masks),
        _ => keys.par_chunks(share).map(|keys| counted(keys, masks)).reduce(Vec::new, add),
    };
    // The key's place in the order is its ordered bits: `ends[o]` is where the keys up to `o` end.
    let ends: Vec<usize> = counts
        .iter()
        .scan(0, |sum, &count| {
            *sum += count;
            Some(*sum)
        })
        .collect();
    let fill = |(index, part): (usize, &mut [W])| {
        let (mut at, mut rest) = (index * share, part);
        let mut ordered = ends.partition_point(|&end| end <= at);
        while !rest.is_empty() {
            let run = (ends[ordered] - at).min(rest.len());
            let (run, others) = rest.split_at_mut(run);
            run.fill(masks.invert(W::truncate(ordered as u128)));
            at += run.len();
            ordered += 1;
            rest = others;
        }
    };
    match threads {
        1 => fill((0, keys)),
        _ => keys.par_chunks_mut(share).enumerate().for_each(fill),
    }
}

/// How often each value comes, by its ordered bits.
fn counted<W: Word>(keys: &[W], masks: Masks) -> Vec<usize> {
    let values = 1 << W::BITS;
    let mut ways = vec![0u32; WAYS * values];
    let mut counts = vec![0; values];
    // In parts, so that no counter overflows.
    for keys in keys.chunks(u32::MAX as usize) {
        ways.fill(0);
        let mut groups = keys.chunks_exact(WAYS);
        for group in &mut groups {
            for (way, key) in group.iter().enumerate() {
                ways[way * values + key.index()] += 1;
            }
        }
        for key in groups.remainder() {
            ways[key.index()] += 1;
        }
        for (at, &count) in ways.iter().enumerate() {
            let raw = W::truncate((at % values) as u128);
            counts[masks.apply(raw).index()] += count as usize;
        }
    }
    counts
}

fn add(mut left: Vec<usize>, right: Vec<usize>) -> Vec<usize> {
    if left.is_empty() {
        return right;
    }
    left.iter_mut().zip(right).for_each(|(left, right)| *left += right);
    left
}
