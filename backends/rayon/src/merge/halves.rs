//! Merging two sorted halves, on all threads.
//!
//! Each task owns a chunk of the output. Where its inputs start follows from the output position alone: of the first `k` records of
//! the merge, `i` come from the left half if the left's `i`-th is not after the right's `k − i`-th, found by bisection (merge path:
//! Odeh, Green et al., "Merge Path", IPDPSW 2012).

use super::two::merge_two;
use crate::columns::Columns;
use crate::record::Record;
use crate::scratch::Scratch;
use crate::source::{Key, Source};
use crate::threads::Threads;
use crate::tuning::{TASK, scan_ns};

/// Merges the records before and after `middle` stably, each in ascending order of the bits in `ones`, or in the opposite one where
/// `descends` says so.
pub(crate) fn merge_halves<C: Columns>(columns: C, middle: usize, descends: [bool; 2], ones: Key<C>, threads: Threads) {
    let len = columns.len();
    let mut scratch = Scratch::of::<C::Record>(len);
    let records = scratch.records(len);
    let threads = threads.at_most(2 * scan_ns(size_of_val(records)));
    let (left, right) = records.split_at_mut(middle);
    for (half, start, descends) in [(&mut *left, 0, descends[0]), (&mut *right, middle, descends[1])] {
        let half_len = half.len();
        threads.for_each(
            half.chunks_mut(TASK).enumerate().collect(),
            || (),
            |(), (task, part): (usize, &mut [C::Record])| {
                let at = task * TASK;
                if descends {
                    columns.copy_to(start + half_len - at - part.len(), part);
                    part.reverse();
                } else {
                    columns.copy_to(start + at, part);
                }
            },
        );
    }
    let (left, right) = (&*left, &*right);
    let mut columns = columns;
    let tasks = columns.pieces(TASK).enumerate().collect();
    let room = || Scratch::of::<C::Record>(TASK.min(len));
    threads.for_each(tasks, room, |scratch, (task, mut part)| {
        let (start, end) = (task * TASK, task * TASK + part.len());
        let (from, to) = (taken_from_left(left, right, start, ones), taken_from_left(left, right, end, ones));
        let merged = scratch.records(end - start);
        merge_two(&left[from..to], &right[start - from..end - to], merged, ones);
        part.write(merged);
    });
}

/// How many of the first `taken` records of the merge come from the left.
fn taken_from_left<R: Record>(left: &[R], right: &[R], taken: usize, ones: R::Key) -> usize {
    let (mut low, mut high) = (taken.saturating_sub(right.len()), taken.min(left.len()));
    while low < high {
        let middle = (low + high) / 2;
        // The left one comes first if they are equal.
        if left[middle].key() & ones <= right[taken - middle - 1].key() & ones { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Pair;

    #[test]
    fn merges_are_stable_wherever_they_are_cut() {
        let run = |len: u32, step: u32, first: u32| -> Vec<Pair<u32, u32>> {
            (0..len).map(|i| Pair { key: (i / step) | (0x8000_0000 * (i & 1)), value: first + i }).collect()
        };
        for (left, right) in [(run(10, 3, 0), run(13, 2, 100)), (run(0, 1, 0), run(5, 2, 100)), (run(40, 9, 0), run(2, 1, 100))] {
            // The top bit is not to be sorted by.
            let ones = 0x7fff_ffff;
            let mut expected: Vec<_> = left.iter().chain(&right).copied().collect();
            expected.sort_by_key(|pair| pair.key & ones);
            for cut in 0..=expected.len() {
                let from_left = taken_from_left(&left, &right, cut, ones);
                let mut merged = expected.clone();
                let (low, high) = merged.split_at_mut(cut);
                merge_two(&left[..from_left], &right[..cut - from_left], low, ones);
                merge_two(&left[from_left..], &right[cut - from_left..], high, ones);
                assert!(merged.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value }), "cut at {cut}");
            }
        }
    }
}
