//! The merge of sorted runs by one thread of the host.

use core::cmp::Reverse;
use polysort_core::{SortedRuns, Word};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Calls `visit` with the run and the index of each record between `from` and `to`, in the order of the stable merge. Takes a comparison for each level
/// of a heap of the runs.
///
/// # Panics
/// If `from` or `to` has another length than there are runs, or an index is behind the end of its run.
pub(crate) fn merge<W: Word>(runs: SortedRuns<'_, W>, from: &[usize], to: &[usize], mut visit: impl FnMut(usize, usize)) {
    let (keys, spec) = (runs.keys(), runs.spec());
    assert!(from.len() == keys.len() && to.len() == keys.len(), "one index for each run");
    let mut next = from.to_vec();
    // Of equal keys, the one of the earliest run is the first of the heap.
    let head = |run: usize, at: usize| (at < to[run]).then(|| Reverse((spec.rank(keys[run][at]), run)));
    let mut heads: BinaryHeap<_> = from.iter().enumerate().filter_map(|(run, &at)| head(run, at)).collect();
    while let Some(mut first) = heads.peek_mut() {
        let Reverse((_, run)) = *first;
        visit(run, next[run]);
        next[run] += 1;
        match head(run, next[run]) {
            Some(head) => *first = head,
            None => drop(PeekMut::pop(first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::{Masks, Spec};

    #[test]
    fn merges_are_stable_and_begin_and_end_anywhere() {
        let keys: [&[u16]; 4] = [&[0x901, 0x303, 0x302, 0x100], &[], &[0x300, 0x3ff, 0x301], &[0xf00, 0x300]];
        // Descending by the upper half: most keys are equal.
        let spec = Spec::new::<u16>(Masks::UNSIGNED.reversed(16), 8, 16).unwrap();
        let runs = SortedRuns::new(&keys, spec);
        let mut order: Vec<(u16, usize, usize)> = vec![];
        for (run, keys) in keys.iter().enumerate() {
            order.extend(keys.iter().enumerate().map(|(at, &key)| (spec.rank(key), run, at)));
        }
        order.sort();
        for start in 0..=order.len() {
            for end in start..=order.len() {
                let (from, to) = (runs.cut(&[0; 4], start), runs.cut(&[0; 4], end));
                let mut merged = vec![];
                merge(runs, &from, &to, |run, at| merged.push((spec.rank(runs.keys()[run][at]), run, at)));
                assert_eq!(merged, order[start..end], "{start}..{end}");
            }
        }
    }
}
