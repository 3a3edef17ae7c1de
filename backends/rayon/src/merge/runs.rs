//! Merging any number of sorted runs, on all threads.
//!
//! ```text
//! shares    equal parts of the output, which threads take in turns; exact cuts say where each starts in each run
//! blocks    parts of a share that fit in a core's cache
//! levels    within a block, neighboring pieces are merged two by two, until one is left
//! ```
//!
//! So main memory is read once and written once, and only the cache sees the levels. Merges of two have no branch that depends on a comparison. A loser
//! tree, which has one level and whose comparisons wait for each other, was not tried.

use super::two::merge_two;
use crate::columns::Columns;
use crate::record::Record;
use crate::scratch::Scratch;
use crate::source::{Key, Source};
use crate::threads::Threads;
use crate::tuning::{MERGE_SHARES, merge_block};
use crate::window::Window;
use core::ops::Range;
use polysort_core::SortedRuns;

/// Writes the first records of the merge of `runs` to `columns`, as many as it takes. `read(run, range, target)` copies records of one run, with ordered
/// keys. Returns how many records each run gave.
pub(crate) fn merge_runs<C: Columns>(
    runs: SortedRuns<'_, Key<C>>,
    read: impl Fn(usize, Range<usize>, &mut [C::Record]) + Sync,
    mut columns: C,
    threads: Threads,
) -> Vec<usize> {
    let (len, ones) = (columns.len(), Window::of(runs.spec()).ones());
    let block = merge_block::<C::Record>(runs.keys().len());
    let mut cut = vec![0; runs.keys().len()];
    if len == 0 {
        return cut;
    }
    let shares = if threads.is_one() { 1 } else { threads.count() * MERGE_SHARES };
    let share = len.div_ceil(shares).max(block.min(len.div_ceil(threads.count())));
    let mut tasks = vec![];
    for part in columns.pieces(share) {
        let end = runs.cut(&cut, part.len());
        tasks.push((part, std::mem::replace(&mut cut, end.clone()), end));
    }
    let block = block.min(share);
    let room = || Scratch::of::<C::Record>(2 * block);
    threads.for_each(tasks, room, |scratch, (mut part, mut from, end)| {
        // Without the records of the shares that follow. The blocks of runs that are not sorted would take some of them.
        let keys: Vec<&[Key<C>]> = runs.keys().iter().zip(&end).map(|(keys, &end)| &keys[..end]).collect();
        let runs = SortedRuns::new(&keys, runs.spec());
        let (records, spare) = scratch.records(2 * block).split_at_mut(block);
        let count = part.len();
        for mut part in part.pieces(block.min(count)) {
            let to = runs.cut(&from, part.len());
            let mut ends = Vec::with_capacity(to.len());
            let mut end = 0;
            for (run, range) in
                from.iter().zip(&to).map(|(&from, &to)| from..to).enumerate().filter(|(_, range)| !range.is_empty())
            {
                let start = end;
                end += range.len();
                read(run, range, &mut records[start..end]);
                ends.push(end);
            }
            part.write(merge_levels(&mut records[..end], &mut spare[..end], ends, ones));
            from = to;
        }
    });
    cut
}

/// Merges the sorted pieces of `records`, which end at `ends`, with as much room in `spare`. Returns the one that the result lies in.
fn merge_levels<'a, R: Record>(mut records: &'a mut [R], mut spare: &'a mut [R], mut ends: Vec<usize>, ones: R::Key) -> &'a [R] {
    while ends.len() > 1 {
        let mut start = 0;
        for pair in 0..ends.len().div_ceil(2) {
            let middle = ends[2 * pair];
            let end = ends.get(2 * pair + 1).copied().unwrap_or(middle);
            merge_two(&records[start..middle], &records[middle..end], &mut spare[start..end], ones);
            ends[pair] = end;
            start = end;
        }
        ends.truncate(ends.len().div_ceil(2));
        (records, spare) = (spare, records);
    }
    records
}
