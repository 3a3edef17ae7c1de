//! Many lists in one array: threads take them in tasks of about equal length, and a long one gets all threads.

use crate::few::SortFew;
use crate::sort::sort;
use crate::threads::{Threads, Work};
use crate::tuning::{TASK, sort_ns};
use crate::window::Window;
use polysort_core::Segments;

/// Sorts each of `segments`, which have been checked, stably by `window`; `whole` as in [`Network`](crate::few::Network).
pub(crate) fn sort_segments<C: SortFew>(columns: C, segments: Segments<'_>, window: Window, whole: bool, threads: Threads) {
    let tasks = Tasks { segments, window, whole, threads };
    if threads.is_one() {
        tasks.run_all(columns, 0, 0..segments.len());
    } else {
        tasks.split(columns, 0, 0..segments.len());
    }
}

#[derive(Clone, Copy)]
struct Tasks<'a> {
    segments: Segments<'a>,
    window: Window,
    whole: bool,
    threads: Threads,
}

impl Tasks<'_> {
    /// Halves a range of segments until it is one task. `columns` start at position `start`.
    fn split<C: SortFew>(self, columns: C, start: usize, range: core::ops::Range<usize>) {
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

    fn run_all<C: SortFew>(self, columns: C, start: usize, range: core::ops::Range<usize>) {
        let (mut columns, mut at) = (columns, start);
        for segment in range {
            let segment = self.segments.range(segment);
            let (_, rest) = columns.split_at(segment.start - at);
            let (own, rest) = rest.split_at(segment.len());
            if segment.len() > 1 {
                sort(own, self.window, self.whole, self.threads.that_pay(Work::Sort(sort_ns::<C::Record>(segment.len()))));
            }
            (columns, at) = (rest, segment.end);
        }
    }
}
