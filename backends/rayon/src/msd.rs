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
use crate::tuning::{TASK, sort_ns, tuning};
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
            task.cut(piece_len(len, threads), &mut tasks);
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
    threads.for_each(tasks, &|| Scratch::of::<C::Record>(longest.unwrap_or(0)), &|scratch, task| task.run(scratch));
}

/// Records of a task that only writes, of `len` records in all.
fn piece_len(len: usize, threads: Threads) -> usize {
    (len / threads.count()).clamp(LEAST_PIECE, TASK)
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
        own > len / threads.count() / 2 && !threads.that_pay(Work::Sort(sort_ns::<C::Record>(own))).is_one()
    }

    /// Sorts the bucket on all of these threads, from the caller's slices.
    fn run_on(mut self, threads: Threads) {
        let threads = threads.that_pay(Work::Sort(sort_ns::<C::Record>(self.records.len())));
        self.window = self.window.narrowed(varying(&&*self.records, threads));
        let pieces = self.columns.pieces(TASK).zip(self.records.chunks(TASK)).collect();
        threads.for_each(pieces, &|| (), &|(), (mut columns, records)| columns.write(records));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Keys, Pairs};
    use crate::record::Pair;
    use crate::simd::Set;
    use crate::source::Keyed;
    use crate::testing::spread;
    use crate::trace::{Step, steps_of};
    use polysort_core::Masks;

    const WORDS: Network = Network { set: Set::Portable, whole: true };
    const WHOLE: Window = Window { low: 0, high: 32 };
    const EMPTY: Window = Window { low: 0, high: 0 };

    type Task<'a> = super::Task<'a, Keys<'a, u32>>;

    fn task<'a>(network: Network, keys: &'a mut [u32], records: &'a mut [u32], window: Window) -> Task<'a> {
        Task { network, columns: Keys { keys, masks: Masks::UNSIGNED }, records, window, even: true }
    }

    #[test]
    fn neighbors_that_are_only_to_be_written_are_joined() {
        let bucket = |(len, window)| Bucket { len, window };
        let left = WHOLE;
        let buckets = [(0, EMPTY), (3, EMPTY), (0, left), (4, EMPTY), (5, EMPTY), (2, left), (0, left), (1, left), (6, EMPTY)];
        let expected = [(12, EMPTY), (2, left), (1, left), (6, EMPTY)];
        assert_eq!(joined(buckets.map(bucket).to_vec()), expected.map(bucket));
    }

    #[test]
    fn records_that_are_only_written_are_cut_into_pieces_for_all_threads() {
        assert_eq!(piece_len(40_000, Threads::several(4)), 10_000);
        assert_eq!(piece_len(1000, Threads::several(4)), LEAST_PIECE);
        assert_eq!(piece_len(1 << 30, Threads::several(4)), TASK);
        for (len, expected) in [(10, vec![4, 4, 2]), (8, vec![4, 4]), (9, vec![4, 4, 1]), (4, vec![4]), (3, vec![3])] {
            let (mut keys, mut records, mut tasks) = (vec![0; len], (0..len as u32).collect::<Vec<_>>(), vec![]);
            task(WORDS, &mut keys, &mut records, EMPTY).cut(4, &mut tasks);
            let lens = |task: &Task<'_>| (task.records.len(), task.columns.len());
            assert_eq!(
                tasks.iter().map(lens).collect::<Vec<_>>(),
                expected.into_iter().map(|len| (len, len)).collect::<Vec<_>>()
            );
            tasks.into_iter().for_each(|task| task.run(&mut Scratch::of::<u32>(0)));
            assert!(keys.iter().copied().eq(0..len as u32));
        }
    }

    /// Whether a task of `len` records takes room.
    fn takes_room(network: Network, len: usize, window: Window) -> bool {
        task(network, &mut vec![0; len], &mut vec![0; len], window).takes_room()
    }

    #[test]
    fn a_task_takes_room_if_it_is_partitioned_once_more() {
        let of_words = |len, window| takes_room(WORDS, len, window);
        let (few, most) = (Keys::<u32>::few(WORDS), tuning().near_bytes / size_of::<u32>());
        assert!(!of_words(few, WHOLE) && of_words(few + 1, WHOLE));
        assert!(of_words(most, WHOLE) && !of_words(most + 1, WHOLE));
        // Nor is there any for what is only written, or sorted in place.
        assert!(!of_words(few + 1, EMPTY));
        for set in Set::all() {
            let network = Network { set, whole: true };
            let len = Keys::<u32>::few(network) + 1;
            assert_eq!(takes_room(network, len, WHOLE), !Keys::<u32>::suits_quicksort(network, len));
        }
    }

    #[test]
    fn a_bucket_is_large_if_it_is_more_than_half_of_the_share_of_a_thread() {
        let own = 1 << 18;
        let is_large = |own: usize, len: usize, count: usize| {
            task(WORDS, &mut vec![0; own], &mut vec![0; own], WHOLE).is_large(len, Threads::several(count))
        };
        assert!(!is_large(own, 8 * own, 4) && is_large(own, 8 * own - 8, 4) && is_large(own, own, 4));
        // Several threads are not faster, or there are none.
        assert!(!is_large(100, 100, 4));
        assert!(!is_large(own, own, 1));
    }

    /// The steps of a sort of these keys.
    fn steps(keys: &[u32], threads: Threads) -> Vec<Step> {
        let (mut own, mut expected, mut scratch) = (keys.to_vec(), keys.to_vec(), vec![0; keys.len()]);
        expected.sort_unstable();
        let steps = steps_of(|| {
            sort(WORDS, Keys { keys: &mut own, masks: Masks::UNSIGNED }, &mut scratch, WHOLE, threads, true);
        });
        assert!(own == expected);
        steps
    }

    #[test]
    fn several_threads_partition_what_one_sorts_in_its_cache() {
        let keys: Vec<u32> = (0..4096).map(spread).collect();
        assert!(matches!(steps(&keys, Threads::ONE)[0], Step::Cached { len: 4096, .. }));
        assert!(matches!(steps(&keys, Threads::several(2))[0], Step::Partition { len: 4096, chunks: 2, .. }));
        assert!(steps(&[7; 4096], Threads::several(2)).is_empty());
    }

    /// Pairs of values so large that a few do not fit in a cache.
    #[test]
    fn one_thread_partitions_what_does_not_fit_in_its_cache() {
        type Value = [u8; 1016];
        let (network, window) = (Network { whole: false, ..WORDS }, Window { low: 0, high: 64 });
        let len = (1..).find(|&len| !cached::suits::<Pairs<'_, u64, Value>>(network, window, len)).expect("an end");
        let (mut keys, mut values): (Vec<u64>, Vec<Value>) =
            (0..len).map(|i| (u64::from(spread(i)) << 31, [i as u8; 1016])).unzip();
        let mut expected: Vec<(u64, u8)> = keys.iter().zip(&values).map(|(&key, value)| (key, value[9])).collect();
        expected.sort_by_key(|&(key, _)| key);
        let mut scratch = vec![Pair { key: 0, value: [0; 1016] }; len];
        let steps = steps_of(|| {
            let columns = Pairs { keys: &mut keys, values: &mut values, masks: Masks::UNSIGNED };
            sort(network, columns, &mut scratch, window, Threads::ONE, true);
        });
        assert!(keys.iter().zip(&values).map(|(&key, value)| (key, value[9])).eq(expected));
        assert!(matches!(steps[0], Step::Partition { chunks: 1, .. }), "{steps:?}");
        assert!(!steps[1..].iter().any(|step| matches!(step, Step::Partition { .. })), "{steps:?}");
    }

    #[test]
    fn a_bucket_is_sorted_as_suits_its_length() {
        let run = |network: Network, len: usize, window: Window| {
            let (mut keys, mut records) = (vec![0; len], Vec::from_iter((0..len).map(spread)));
            let mut expected = records.clone();
            let steps = steps_of(|| task(network, &mut keys, &mut records, window).run(&mut Scratch::of::<u32>(len)));
            if !window.is_empty() {
                expected.sort_unstable();
            }
            assert!(keys == expected);
            steps
        };
        for set in Set::all() {
            let network = Network { set, whole: true };
            let few = Keys::<u32>::few(network);
            assert!(run(network, 2 * few, EMPTY).is_empty() && run(network, few, EMPTY).is_empty());
            assert!(run(network, 1, WHOLE).is_empty() && run(network, 0, WHOLE).is_empty());
            assert_eq!(run(network, 2, WHOLE), [Step::Network(2)]);
            assert_eq!(run(network, few, WHOLE), [Step::Network(few)]);
            let steps = run(network, 2 * few, WHOLE);
            let is_split = steps.iter().any(|step| matches!(step, Step::Split(_)));
            assert_eq!(is_split, Keys::<u32>::suits_quicksort(network, 2 * few));
            assert!(is_split || matches!(steps[0], Step::Cached { .. }), "{steps:?}");
        }
    }

    #[test]
    fn a_bucket_goes_back_to_the_caller_and_is_sorted_from_there() {
        assert_eq!(Threads::several(3).that_pay(Work::Sort(sort_ns::<u32>(200_000))), Threads::several(3));
        for len in [2, 300, 200_000] {
            for keys in [Vec::from_iter((0..len).map(spread)), vec![3; len], Vec::from_iter((0..len).map(|i| i as u32 % 2 * 64))]
            {
                let (mut own, mut records, mut expected) = (vec![0; len], keys.clone(), keys);
                expected.sort_unstable();
                task(WORDS, &mut own, &mut records, WHOLE).run_on(Threads::several(3));
                assert!(own == expected);
            }
        }
    }
}
