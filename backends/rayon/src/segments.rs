//! Many lists in one array: threads take them in tasks of about equal length, and a long one gets all threads.

use crate::columns::Columns;
use crate::few::SortFew;
use crate::sort::sort;
use crate::threads::{Threads, Work};
use crate::tuning::{TASK, sort_ns};
use crate::window::Window;
use polysort_core::Segments;

/// Sorts each of `segments`, which have been checked, stably by `window`; `whole` as in [`Network`](crate::few::Network).
pub(crate) fn sort_segments<C: SortFew>(columns: C, segments: Segments<'_>, window: Window, whole: bool, threads: Threads) {
    for_each_segment(columns, segments, threads, &|own: C, threads: Threads| {
        let threads = threads.that_pay(Work::Sort(sort_ns::<C::Record>(own.len())));
        sort(own, window, whole, threads);
    });
}

/// Does `work` for each of `segments`, which have been checked, of two records or more. It gets the records, and the threads that it may use.
pub(crate) fn for_each_segment<C: Columns>(
    columns: C,
    segments: Segments<'_>,
    threads: Threads,
    work: &(impl Fn(C, Threads) + Sync),
) {
    let tasks = Tasks { segments, threads, work };
    if threads.is_one() {
        tasks.run_all(columns, 0, 0..segments.len());
    } else {
        tasks.split(columns, 0, 0..segments.len());
    }
}

struct Tasks<'a, F> {
    segments: Segments<'a>,
    threads: Threads,
    work: &'a F,
}

impl<F> Tasks<'_, F> {
    /// Halves a range of segments until it is one task. `columns` start at position `start`.
    fn split<C: Columns>(&self, columns: C, start: usize, range: core::ops::Range<usize>)
    where
        F: Fn(C, Threads) + Sync,
    {
        if range.len() <= 1 || columns.len() <= TASK {
            return self.run_all(columns, start, range);
        }
        // Cut where half of the records lie on each side, but leave both a segment.
        let middle = start + columns.len() / 2;
        let (mut low, mut high) = (range.start + 1, range.end - 1);
        while low < high {
            let at = (low + high) / 2;
            if self.segments.range(at).start < middle { low = at + 1 } else { high = at }
        }
        let cut = self.segments.range(low).start;
        let (left, right) = columns.split_at(cut - start);
        self.threads.join(|| self.split(left, start, range.start..low), || self.split(right, cut, low..range.end));
    }

    fn run_all<C: Columns>(&self, columns: C, start: usize, range: core::ops::Range<usize>)
    where
        F: Fn(C, Threads) + Sync,
    {
        let (mut columns, mut at) = (columns, start);
        for segment in range {
            let segment = self.segments.range(segment);
            let (_, rest) = columns.split_at(segment.start - at);
            let (own, rest) = rest.split_at(segment.len());
            if segment.len() > 1 {
                (self.work)(own, self.threads);
            }
            (columns, at) = (rest, segment.end);
        }
    }
}
