//! Many lists in one array: threads take them in tasks of about equal length, and a long one gets all threads.

use crate::columns::Columns;
use crate::few::SortFew;
use crate::sort::sort;
use crate::threads::{Threads, Work};
use crate::trace::{Step, took};
use crate::tuning::{TASK, sort_ns};
use crate::window::Window;
use core::ops::Range;
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

/// Cuts a `range` of two segments or more in two, each of one segment at least. Returns the first segment of the second part: the first one that does not start before
/// position `middle`.
pub(crate) fn cut(segments: Segments<'_>, range: Range<usize>, middle: usize) -> usize {
    let (mut low, mut high) = (range.start + 1, range.end - 1);
    while low < high {
        let at = (low + high) / 2;
        if segments.range(at).start < middle { low = at + 1 } else { high = at }
    }
    low
}

struct Tasks<'a, F> {
    segments: Segments<'a>,
    threads: Threads,
    work: &'a F,
}

impl<F> Tasks<'_, F> {
    /// Halves a range of segments until it is one task. `columns` start at position `start`.
    fn split<C: Columns>(&self, columns: C, start: usize, range: Range<usize>)
    where
        F: Fn(C, Threads) + Sync,
    {
        if range.len() <= 1 || columns.len() <= TASK {
            return self.run_all(columns, start, range);
        }
        let first = cut(self.segments, range.clone(), start + columns.len() / 2);
        let cut = self.segments.range(first).start;
        let (left, right) = columns.split_at(cut - start);
        self.threads.join(|| self.split(left, start, range.start..first), || self.split(right, cut, first..range.end));
    }

    fn run_all<C: Columns>(&self, columns: C, start: usize, range: Range<usize>)
    where
        F: Fn(C, Threads) + Sync,
    {
        took(Step::Segments(range.len()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Keys;
    use crate::testing::steps_of_threads;
    use polysort_core::Masks;
    use std::sync::Mutex;

    #[test]
    fn a_cut_leaves_half_on_each_side_and_both_a_segment() {
        let offsets = [0, 10, 20, 30, 40, 100, 100, 200];
        let cases = [
            (0..7, 0, 1),
            (0..7, 10, 1),
            (0..7, 11, 2),
            (0..7, 20, 2),
            (0..7, 25, 3),
            (0..7, 40, 4),
            (0..7, 41, 5),
            (0..7, 100, 5),
            (0..7, 101, 6),
            (0..7, 200, 6),
            (2..5, 0, 3),
            (2..5, 31, 4),
            (2..5, 90, 4),
            (3..5, 0, 4),
            (3..5, 90, 4),
            (1..4, 30, 3),
        ];
        for (range, middle, first) in cases {
            assert_eq!(cut((&offsets).into(), range.clone(), middle), first, "{range:?} at {middle}");
        }
    }

    #[test]
    fn segments_of_two_records_or_more_are_worked_on() {
        let segments = Segments::Ranges { begins: &[1, 3, 4, 8, 9], ends: &[3, 4, 4, 8, 12] };
        let mut keys = Vec::from_iter(0..20_u32);
        let seen = Mutex::new(vec![]);
        for_each_segment(Keys { keys: &mut keys, masks: Masks::UNSIGNED }, segments, Threads::ONE, &|own: Keys<'_, u32>, _| {
            seen.lock().unwrap().push(own.keys.to_vec());
        });
        assert_eq!(seen.into_inner().unwrap(), [vec![1, 2], vec![9, 10, 11]]);
    }

    #[test]
    fn threads_take_segments_in_tasks_of_about_equal_length() {
        let tasks = |lengths: &[usize], after: usize| {
            let offsets = Vec::from_iter([0].into_iter().chain(lengths.iter().scan(7, |end, len| {
                *end += len;
                Some(*end)
            })));
            let (begins, ends) = (&offsets[..lengths.len()], &offsets[1..]);
            let mut keys = vec![0_u32; offsets[lengths.len()] + after];
            steps_of_threads(|threads| {
                let columns = Keys { keys: &mut keys, masks: Masks::UNSIGNED };
                for_each_segment(columns, Segments::Ranges { begins, ends }, threads, &|_: Keys<'_, u32>, _| ());
            })
        };
        assert_eq!(tasks(&[TASK / 4 - 7, TASK / 4, TASK / 4, TASK / 4], 0), [Step::Segments(4)]);
        assert_eq!(tasks(&[TASK / 4 - 7, TASK / 4, TASK / 4, TASK / 4], 1), [Step::Segments(2); 2]);
        assert_eq!(tasks(&[9 * TASK], 0), [Step::Segments(1)]);
        let eighths = Vec::from_iter([TASK / 8 - 7].into_iter().chain([TASK / 8; 63]));
        assert_eq!(tasks(&eighths, 0), [Step::Segments(8); 8]);
        assert_eq!(tasks(&[9 * TASK, 10, 10, 10], 0), [1, 3].map(Step::Segments));
        assert_eq!(tasks(&[10, 10, 10, 9 * TASK], 0), [3, 1].map(Step::Segments));
        assert_eq!(tasks(&[10, 10, 9 * TASK, 10, 10], 0), [2, 1, 2].map(Step::Segments));
    }
}
