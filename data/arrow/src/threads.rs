//! Loops over rows, on several threads.
//!
//! The rows are cut into ranges of equal length, and each range has a thread. The calling thread takes the first range. The threads live as long as the loop, so that
//! a sort uses no thread of a pool that it was not given.

use core::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// The fewest rows of a range: the work of one row takes nanoseconds, the start of a thread some ten thousand of them. Not measured.
const RANGE_ROWS: usize = 1 << 16;

/// Rows of each range if `len` rows are cut for `threads`.
fn range_rows(threads: usize, len: usize) -> usize {
    len.div_ceil(threads.max(1)).max(RANGE_ROWS)
}

/// Calls `work` with ranges that together are `0..len`, and returns the results in the order of the ranges. Without rows, there is no range.
pub(crate) fn by_ranges<R: Send>(threads: usize, len: usize, work: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let rows = range_rows(threads, len);
    let mut ranges = (0..len).step_by(rows).map(|start| start..len.min(start + rows));
    let Some(first) = ranges.next() else { return Vec::new() };
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = ranges.map(|range| scope.spawn(move || work(range))).collect();
        let mut results = vec![work(first)];
        results.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        results
    })
}

/// Calls `fill` with parts of `out` that together are all of it, each with the index of its first element.
pub(crate) fn fill<T: Send>(threads: usize, out: &mut [T], fill: impl Fn(usize, &mut [T]) + Sync) {
    let rows = range_rows(threads, out.len());
    let mut parts = out.chunks_mut(rows).zip((0..).step_by(rows));
    let Some((first, start)) = parts.next() else { return };
    let work = &fill;
    thread::scope(|scope| {
        for (part, start) in parts {
            scope.spawn(move || work(start, part));
        }
        work(start, first);
    });
}

#[cfg(test)]
mod tests {
    use super::{RANGE_ROWS, by_ranges, fill};

    /// Lengths around the borders of ranges.
    const LENGTHS: [usize; 7] = [0, 1, RANGE_ROWS, RANGE_ROWS + 1, 3 * RANGE_ROWS - 1, 3 * RANGE_ROWS, 5 * RANGE_ROWS + 7];

    #[test]
    fn ranges_follow_each_other() {
        for len in LENGTHS {
            for threads in [1, 2, 3, 16] {
                let ranges = by_ranges(threads, len, |range| range);
                assert!(ranges.len() <= threads, "{threads} threads, {len} rows");
                assert!(ranges.iter().all(|range| !range.is_empty()));
                assert_eq!(ranges.into_iter().flatten().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn every_element_is_filled() {
        for len in LENGTHS {
            for threads in [1, 2, 3, 16] {
                let mut out = vec![usize::MAX; len];
                fill(threads, &mut out, |start, part| part.iter_mut().zip(start..).for_each(|(out, index)| *out = index));
                assert_eq!(out, (0..len).collect::<Vec<_>>(), "{threads} threads");
            }
        }
    }

    #[test]
    #[should_panic = "in the last range"]
    fn a_panic_of_a_thread_is_that_of_the_call() {
        by_ranges(2, 2 * RANGE_ROWS, |range| assert!(range.start == 0, "in the last range"));
    }
}
