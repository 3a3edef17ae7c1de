//! Merging two sorted halves, on all threads.
//!
//! Each task owns a chunk of the output, and `path` computes where its inputs start.

use super::path::taken_from_left;
use super::two::merge_two;
use crate::columns::Columns;
use crate::scratch::Scratch;
use crate::source::{Key, Keyed};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{TASK, scan_ns};

/// Merges the records before and after `middle` stably, each in ascending order of the bits in `ones`, or in the opposite one where
/// `descends` says so.
pub(crate) fn merge_halves<C: Columns>(columns: C, middle: usize, descends: [bool; 2], ones: Key<C>, threads: Threads) {
    let len = columns.len();
    took(Step::Merged(len));
    let mut scratch = Scratch::of::<C::Record>(len);
    let records = scratch.records(len);
    let threads = threads.at_most(2 * scan_ns(size_of_val(records)));
    let (left, right) = records.split_at_mut(middle);
    for (half, start, descends) in [(&mut *left, 0, descends[0]), (&mut *right, middle, descends[1])] {
        let half_len = half.len();
        threads.for_each(half.chunks_mut(TASK).enumerate().collect(), &|| (), &|(), (task, part): (usize, &mut [C::Record])| {
            let at = task * TASK;
            if descends {
                columns.copy_to(start + half_len - at - part.len(), part);
                part.reverse();
            } else {
                columns.copy_to(start + at, part);
            }
        });
    }
    let (left, right) = (&*left, &*right);
    let mut columns = columns;
    let tasks = columns.pieces(TASK).enumerate().collect();
    let room = || Scratch::of::<C::Record>(TASK.min(len));
    threads.for_each(tasks, &room, &|scratch, (task, mut part)| {
        let (start, end) = (task * TASK, task * TASK + part.len());
        let (from, to) = (taken_from_left(left, right, start, ones), taken_from_left(left, right, end, ones));
        let merged = scratch.records(end - start);
        merge_two(&left[from..to], &right[start - from..end - to], merged, ones);
        part.write(merged);
    });
}
