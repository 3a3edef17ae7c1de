//! The sort of what is larger than a cache: one partition by the most significant digit that varies, then each bucket by itself.
//!
//! ```text
//! lay out a partition    which bits vary, how many records of each       all cores, one read
//! scatter                buckets of a cache's size, stably               all cores, one read and one write
//! for each bucket        LSD in cache, written back to the caller        one core a bucket, one read and one write
//! ```
//!
//! What makes it fast: main memory is read three times and written twice whatever the width of the key; a bucket that is still
//! too large is partitioned again, by all cores if it holds a good part of the keys, so no distribution has a cliff.

use crate::columns::Columns;
use crate::lsd;
use crate::partition::Partition;
use crate::scatter::scatter;
use crate::scratch::Scratch;
use crate::tuning::{CACHE_BYTES, PARALLEL_BYTES, STREAM_BYTES};
use crate::window::Window;
use rayon::prelude::*;

/// Sorts `columns`, stably by `window`, on `threads` threads of the current pool; `whole` as in [`small::sort`](crate::small::sort).
pub(crate) fn sort<C: Columns>(columns: C, window: Window, whole: bool, threads: usize) {
    let Some(partition) = Partition::of(&columns, window, threads) else { return };
    let mut scratch = Scratch::of::<C::Record>(columns.len());
    let target = scratch.records(columns.len());
    scatter(&columns, &partition, target, size_of_val(target) >= STREAM_BYTES);
    sort_buckets(columns, target, &partition, whole, threads);
}

/// Sorts `records`, which are out of the caller's slices, and writes them back to `columns`.
fn sort_bucket<C: Columns>(mut columns: C, records: &mut [C::Record], window: Window, whole: bool, threads: usize) {
    if size_of_val(records) <= CACHE_BYTES {
        return lsd::sort_into(records, window, whole, |sorted| columns.write(sorted));
    }
    let Some(partition) = Partition::of(&*records, window, threads) else {
        return columns.write(records);
    };
    let mut scratch = Scratch::of::<C::Record>(records.len());
    let target = scratch.records(records.len());
    scatter(&*records, &partition, target, size_of_val(target) >= STREAM_BYTES);
    sort_buckets(columns, target, &partition, whole, threads);
}

/// Sorts the buckets of a partition: large ones with all threads, one after another, the others side by side.
fn sort_buckets<C: Columns>(columns: C, records: &mut [C::Record], partition: &Partition, whole: bool, threads: usize) {
    let large = (records.len() / threads / 2).max(PARALLEL_BYTES / size_of::<C::Record>());
    let mut small = Vec::with_capacity(partition.buckets.len());
    let (mut columns, mut records) = (columns, records);
    for bucket in &partition.buckets {
        let (own_columns, other_columns) = columns.split_at(bucket.len);
        let (own, others) = records.split_at_mut(bucket.len);
        (columns, records) = (other_columns, others);
        match bucket.len {
            0 => {}
            len if threads > 1 && len >= large => sort_bucket(own_columns, own, bucket.window, whole, threads),
            _ => small.push((own_columns, own, bucket.window)),
        }
    }
    let sort_one = |(columns, records, window): (C, &mut [C::Record], Window)| sort_bucket(columns, records, window, whole, 1);
    if threads == 1 {
        small.into_iter().for_each(sort_one);
    } else {
        small.into_par_iter().with_max_len(1).for_each(sort_one);
    }
}
