//! The sort of what is larger than a cache: one partition by the most significant digit that varies, then each bucket by itself.
//!
//! ```text
//! count                  how many records have each digit            all threads, one read
//! scatter                buckets of a cache's size, stably           all threads, one read and one write
//! for each bucket        a sort in the cache, written to the caller  one thread a bucket, one read and one write
//! ```
//!
//! What makes it fast: main memory is read three times and written twice whatever the width of the key. A bucket that is still
//! too large is sorted in the same way, by all threads if it holds a good part of the keys, so no distribution has a cliff. It goes back
//! to the caller's slices first, so there is never more scratch than one record for each key, and a bucket for each thread.

use crate::cached;
use crate::columns::Columns;
use crate::digit::varying;
use crate::few::{Network, SortFew};
use crate::partition::{Bucket, partition};
use crate::scratch::Scratch;
use crate::threads::{Threads, Work};
use crate::tuning::{STEP_NS, TASK, sort_ns, tuning};
use crate::window::Window;
use core::cmp::Reverse;

/// Records of a task that only writes, at least.
const LEAST_PIECE: usize = 1 << 10;

/// Sorts `columns`, stably by `window`, with as much scratch. `even` as in [`Digit::choose`](crate::digit::Digit::choose).
pub(crate) fn sort<C: SortFew>(
    network: Network,
    columns: C,
    scratch: &mut [C::Record],
    window: Window,
    threads: Threads,
    even: bool,
) {
    if threads.is_one() && cached::suits::<C>(network, window, scratch.len()) {
        return cached::sort(network, columns, scratch, window, even);
    }
    let Some(buckets) = partition(&columns, scratch, window, threads, even) else { return };
    let (len, mut tasks) = (scratch.len(), Vec::with_capacity(buckets.len()));
    let (mut columns, mut records) = (columns, scratch);
    for bucket in joined(buckets) {
        let (own_columns, other_columns) = columns.split_at(bucket.len);
        let (own, others) = records.split_at_mut(bucket.len);
        (columns, records) = (other_columns, others);
        let task = Task { network, columns: own_columns, records: own, window: bucket.window, even: bucket.len <= len / 2 };
        if task.window.is_empty() {
            task.cut((len / threads.count()).clamp(LEAST_PIECE, TASK), &mut tasks);
        } else if task.is_large(len, threads) {
            task.run_on(threads);
        } else {
            tasks.push(task);
        }
    }
    if !threads.is_one() {
        tasks.sort_unstable_by_key(|task| Reverse(task.records.len()));
    }
    let longest = tasks.iter().filter(|task| task.takes_room()).map(|task| task.records.len()).max();
    threads.for_each(tasks, || Scratch::of::<C::Record>(longest.unwrap_or(0)), |scratch, task| task.run(scratch));
}

/// The buckets, with neighbors joined that are only to be written.
fn joined(buckets: Vec<Bucket>) -> Vec<Bucket> {
    let mut joined: Vec<Bucket> = Vec::with_capacity(buckets.len());
    for bucket in buckets {
        match joined.last_mut() {
            Some(last) if last.window.is_empty() && bucket.window.is_empty() => last.len += bucket.len,
            _ if bucket.len > 0 => joined.push(bucket),
            _ => {}
        }
    }
    joined
}

/// Whether so many records are few enough to be sorted by one partition from where they are: a bucket that came out larger than it should
/// is better sorted at the edge of the cache than written back and read again.
fn is_near<C: SortFew>(len: usize) -> bool {
    len * size_of::<C::Record>() <= tuning().near_bytes
}

/// One bucket: its records are out of the caller's slices, and go back there in order.
struct Task<'a, C: SortFew> {
    network: Network,
    columns: C,
    records: &'a mut [C::Record],
    window: Window,
    even: bool,
}

impl<C: SortFew> Task<'_, C> {
    /// Adds tasks for pieces of the bucket, which is only to be written.
    fn cut(self, piece: usize, tasks: &mut Vec<Self>) {
        let mut rest = self;
        while rest.records.len() > piece {
            let (columns, other_columns) = rest.columns.split_at(piece);
            let (records, other_records) = rest.records.split_at_mut(piece);
            tasks.push(Self { columns, records, ..rest });
            rest = Self { columns: other_columns, records: other_records, ..rest };
        }
        tasks.push(rest);
    }

    /// Whether the bucket is sorted by way of as much room as it has records.
    fn takes_room(&self) -> bool {
        let len = self.records.len();
        let is_done_in_place = self.window.is_empty() || len <= C::few(self.network) || C::suits_quicksort(self.network, len);
        !is_done_in_place && is_near::<C>(len)
    }

    /// Whether one thread would be busy with this bucket, of `len` records in all, when the others are done, and more threads would sort it faster.
    fn is_large(&self, len: usize, threads: Threads) -> bool {
        let own = self.records.len();
        let is_slow =
            sort_ns::<C::Record>(own) > 2 * STEP_NS && !threads.that_pay(Work::Sort(sort_ns::<C::Record>(own))).is_one();
        own > len / threads.count() / 2 && is_slow
    }

    /// Sorts the bucket on all of these threads, from the caller's slices.
    fn run_on(mut self, threads: Threads) {
        let threads = threads.that_pay(Work::Sort(sort_ns::<C::Record>(self.records.len())));
        self.window = self.window.narrowed(varying(&*self.records, threads));
        let pieces = self.columns.pieces(TASK).zip(self.records.chunks(TASK)).collect();
        threads.for_each(pieces, || (), |(), (mut columns, records)| columns.write(records));
        if !self.window.is_empty() {
            sort(self.network, self.columns, self.records, self.window, threads, self.even);
        }
    }

    /// Sorts the bucket on this thread.
    fn run(mut self, scratch: &mut Scratch) {
        let len = self.records.len();
        if len <= 1 || self.window.is_empty() {
            self.columns.write(self.records);
        } else if len <= C::few(self.network) {
            self.columns.finish(self.network, self.records, self.window);
        } else if C::suits_quicksort(self.network, len) {
            self.columns.quicksort(self.network, Some(self.records));
        } else if is_near::<C>(len) {
            cached::sort_into(self.network, self.records, self.columns, scratch.records(len), self.window, self.even);
        } else {
            self.run_on(Threads::ONE);
        }
    }
}
