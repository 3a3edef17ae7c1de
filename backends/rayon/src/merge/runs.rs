//! Merging any number of sorted runs, on all threads.
//!
//! ```text
//! shares     parts of the output of about the same length, which threads take in turns
//! chunks     parts of a share: each thread has the samples of one chunk at a time in memory, besides those that end chunks (`pieces`)
//! blocks     parts of a chunk that fit in a core's cache
//! levels     within a block, neighboring parts of runs are merged two by two, until one is left
//! ```
//!
//! So main memory is read once and written once, and only the cache sees the levels. Merges of two have no branch that depends on a comparison. A loser
//! tree, which has one level and whose comparisons wait for each other, was not tried.

use super::pieces::{Pieces, records_between};
use super::two::merge_two;
use crate::columns::Columns;
use crate::record::Record;
use crate::scratch::Scratch;
use crate::source::Key;
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{MERGE_SHARES, merge_block};
use crate::window::Window;
use core::ops::Range;
use polysort_core::SortedRuns;

/// Blocks of a chunk, about.
const BLOCKS_OF_A_CHUNK: usize = 32;

/// Writes the first records of the merge of `runs` to `columns`, as many as it takes. `read(run, range, target)` copies records of one run, with ordered
/// keys. Returns how many records each run gave.
pub(crate) fn merge_runs<C: Columns>(
    runs: SortedRuns<'_, Key<C>>,
    read: impl Fn(usize, Range<usize>, &mut [C::Record]) + Sync,
    columns: C,
    threads: Threads,
) -> Vec<usize> {
    let (len, count, ones) = (columns.len(), runs.keys().len(), Window::of(runs.spec()).ones());
    let start = vec![0; count];
    let end = runs.cut(&start, len);
    let block = merge_block::<C::Record>(count);
    let share = if threads.is_one() { len } else { len.div_ceil(threads.count() * MERGE_SHARES) };
    let share = share.max(block.min(len.div_ceil(threads.count()))).max(4 * count);

    let (mut tasks, mut rest, mut from) = (vec![], columns, start.clone());
    for to in Pieces::new(runs, &start, &end, share) {
        let (part, others) = rest.split_at(records_between(&from, &to));
        rest = others;
        tasks.push((part, std::mem::replace(&mut from, to.clone()), to));
    }
    took(Step::Shares(tasks.len()));
    let block = block.min(share).min(len);
    let room = || Scratch::of::<C::Record>(2 * block);
    threads.for_each(tasks, &room, &|scratch, (mut rest, start, end)| {
        let (records, spare) = scratch.records(2 * block).split_at_mut(block);
        let mut from = start.clone();
        for chunk_end in Pieces::new(runs, &start, &end, BLOCKS_OF_A_CHUNK * block) {
            let chunk_start = from.clone();
            for to in Pieces::new(runs, &chunk_start, &chunk_end, block) {
                let mut ends = Vec::with_capacity(count);
                let mut end = 0;
                for (run, range) in
                    from.iter().zip(&to).map(|(&from, &to)| from..to).enumerate().filter(|(_, range)| !range.is_empty())
                {
                    let start = end;
                    end += range.len();
                    read(run, range, &mut records[start..end]);
                    ends.push(end);
                }
                took(Step::Block(end));
                let (mut part, others) = rest.split_at(end);
                rest = others;
                part.write(merge_levels(&mut records[..end], &mut spare[..end], ends, ones));
                from = to;
            }
        }
    });
    end
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Keys;
    use crate::trace::steps_of;
    use polysort_core::{Masks, Spec};

    /// The lengths of shares and blocks, which no result shows.
    #[test]
    fn blocks_fill_the_cache_and_shares_keep_threads_busy() {
        for (count, len) in [(2, 100_000), (16, 200_000), (700, 300), (3, 40), (700, 3)] {
            let runs = Vec::from_iter((0..count).map(|run: u32| Vec::from_iter((0..len).map(|i: u32| i * count + run))));
            let runs = Vec::from_iter(runs.iter().map(Vec::as_slice));
            let total = (count * len) as usize;
            let merge = |threads: Threads| {
                let mut merged = vec![0; total];
                let columns = Keys { keys: &mut merged, masks: Masks::UNSIGNED };
                let read = |run: usize, range: Range<usize>, target: &mut [u32]| target.copy_from_slice(&runs[run][range]);
                let steps = steps_of(|| {
                    merge_runs(SortedRuns::new(&runs, Spec::unsigned::<u32>()), read, columns, threads);
                });
                assert!(merged.into_iter().eq(0..total as u32), "{count} runs of {len}");
                steps
            };
            let most = merge_block::<u32>(count as usize);
            let steps = merge(Threads::ONE);
            assert_eq!(steps[0], Step::Shares(1));
            let blocks =
                Vec::from_iter(steps.iter().filter_map(|step| if let Step::Block(len) = step { Some(*len) } else { None }));
            assert_eq!(blocks.iter().sum::<usize>(), total);
            assert!(blocks.iter().all(|&block| block <= most), "blocks of {blocks:?} records, not {most}");
            // A piece may be a quarter shorter, and the last one of each chunk is what is left.
            let few = (2 * total / most).max(1) + 1;
            assert!(blocks.len() <= few, "{} blocks of {most} records", blocks.len());

            let shares = merge(Threads::several(3));
            let Step::Shares(shares) = shares[0] else { panic!("{shares:?}") };
            let longest = total.div_ceil(3 * MERGE_SHARES).max(most.min(total.div_ceil(3))).max(4 * count as usize);
            assert!(shares >= total.div_ceil(longest), "{shares} shares");
            assert!(shares <= 2 * total.div_ceil(longest) + 1, "{shares} shares of up to {longest} records");
        }
    }
}
