//! The MSD hybrid: a partition by the most significant digit, then a sort of each bucket, in batches that fit a cache.
//!
//! ```text
//! histogram         keys     ────────────────────────────   all digits of all keys
//! onesweep          scratch  ├──┼───┼─┼──┼────┼─┼──┼──┼─┤   a bucket for each value of the most significant digit that varies
//! bucket_tile       home     ├──┤   ├─┤  ├────┤      ├──┤   small buckets, one workgroup each, by all other digits
//! buckets                    ╎ batch 0 ╎ batch 1 ╎ batch 2  the table of the other buckets, their tiles and batches
//! bucket_histogram  scratch  ├──┼───┼─┤                     for each batch: the other digits, bucket by bucket,
//! bucket_sweep      home     ├──┼───┼─┤                     and a pass for each of them, least significant first
//! ```
//!
//! Passes use the same buffers as in OneSweep: pass 0 reads the source and writes the scratch, odd passes read the
//! scratch and write home, even ones the reverse. All passes of a batch run before the next batch starts. So only the
//! first of them reads main memory, and only the last one writes it. The buffer in which the last pass does not end
//! needs room for one batch only: all batches use its start, which thus stays in the cache.
//!
//! Bytes of main memory for a key of 32 bits without payload: 4 for the histogram, 8 for the partition, and 4 + 4 for
//! all passes over its batch. A sort with a pass for each of four digits takes 4 + 32.

use super::command::{Buffer, Builder, Groups, Number};
use super::shape::{Kernel, Variant};
use super::tuning::{TABLE_GROUPS, batch_keys};
use super::{Algorithm, Class, RADIX, RADIX_BITS, Request, SegmentLists, SortPlan};

/// Words of a batch in the table of buckets: its first tile, its first key, and a ticket for each pass from 1 on.
pub const BATCH_WORDS: u32 = 20;

/// Words of a tile in the table of buckets: its first key, its number of keys, the first tile of its bucket, and its
/// bucket.
pub const TILE_WORDS: u32 = 4;

/// The most batches: as many as there are buckets.
const MAX_BATCHES: u64 = RADIX as u64;

/// The layout of [`Buffer::Buckets`], in words from its start. At the start is, for each bucket and each digit but the
/// highest, a word for each value: how many keys of the bucket have a smaller one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTable {
    /// Digits of a key without the highest.
    pub lower_digits: u32,
    /// Batches that the host records launches for. A bucket belongs to the batch of its first key's index divided by
    /// [`SortPlan::batch`]. No bucket starts behind the last key, so there are at most as many as the keys divided by that,
    /// rounded up.
    pub batches: u32,
    /// The record of the first batch. An empty one follows the last.
    pub first_batch: u32,
    /// The record of the first tile.
    pub first_tile: u32,
    /// Words of the table.
    pub words: u64,
}

impl BucketTable {
    /// Returns the first word of a digit of a bucket.
    pub fn smaller(&self, bucket: u32, digit: u32) -> u32 {
        (bucket * self.lower_digits + digit) * RADIX
    }
}

impl SortPlan {
    /// Returns the most tiles that buckets can have. The last tile of a bucket may be partial: `c` keys have less than
    /// `c / T + 1` tiles of `T` keys, so that all `n` keys have less than `n / T + 256`. The same holds for long
    /// segments, with their largest number for 256.
    pub fn bucket_tiles(&self) -> u64 {
        let buckets = self.segment_lists().map_or(RADIX, |lists| lists.capacity(SegmentLists::LONG));
        self.request.max.div_ceil(self.tile.into()) + u64::from(buckets.max(1)) - 1
    }

    /// Returns the table of buckets, if the sort has one.
    pub fn bucket_table(&self) -> Option<BucketTable> {
        if let Some(lists) = self.segment_lists() {
            return Some(self.segment_table(lists));
        }
        if self.algorithm != Algorithm::MsdHybrid {
            return None;
        }
        let lower_digits = self.request.key_bits / RADIX_BITS - 1;
        let batches = self.request.max.max(1).div_ceil(self.batch.into()) as u32;
        let first_batch = RADIX * lower_digits * RADIX;
        let first_tile = first_batch + (batches + 1) * BATCH_WORDS;
        let words = u64::from(first_tile) + u64::from(TILE_WORDS) * self.bucket_tiles();
        Some(BucketTable { lower_digits, batches, first_batch, first_tile, words })
    }

    /// Returns the keys of a batch: as many as wanted, or more, so that there are no more batches than buckets.
    pub(super) fn keys_of_batch(request: &Request, class: Class) -> u32 {
        let wanted = request.batch.unwrap_or_else(|| batch_keys(class, request.key_words(), request.payload.words()));
        let least = request.max.div_ceil(MAX_BATCHES).next_power_of_two();
        wanted.max(least as u32).max(1)
    }
}

impl Builder<'_> {
    /// Adds the passes of the hybrid.
    pub(super) fn hybrid(&mut self) {
        self.pass(0);
        let slots = self.plan.digits.len() as u32;
        let (Some(table), Some(sweep)) = (self.plan.bucket_table(), self.shapes.bucket_sweep) else { return };
        if slots < 2 {
            return;
        }
        let plain = Variant { key_bits: sweep.key_bits, tile: sweep.tile, batch: sweep.batch, group: RADIX, ..self.shapes.plain };
        if let Some(shape) = self.shapes.bucket_tile.filter(|shape| shape.small_bucket > 0) {
            let mut bindings = vec![Buffer::Sort, Buffer::State];
            bindings.extend(self.keys(1));
            bindings.extend(self.values(1));
            self.push(shape, bindings, [], Groups::Fixed(RADIX));
        }
        let buckets = Variant { kernel: Kernel::Buckets, small_bucket: self.plan.small_bucket, ..plain };
        self.push(buckets, [Buffer::Sort, Buffer::State, Buffer::Buckets], [], Groups::Fixed(TABLE_GROUPS));
        // Workgroups take tile after tile, so that any number is enough. Twice the tiles of a batch is enough for all
        // to run at once, unless its last bucket is longer than a batch.
        let tiles = u64::from(2 * self.plan.batch.div_ceil(self.plan.tile));
        let groups = Groups::Fixed(tiles.min(self.plan.bucket_tiles()) as u32);
        for batch in 0..table.batches {
            let histogram = Variant { kernel: Kernel::BucketHistogram, ..plain };
            let bindings = [Buffer::Number, Buffer::Sort, Buffer::State, Buffer::Buckets, Buffer::StatusOdd, Buffer::Scratch];
            self.push(histogram, bindings, [Number::Is(batch)], groups);
            for slot in 1..slots {
                let mut bindings = vec![Buffer::Number, Buffer::Number, Buffer::Sort, Buffer::State, Buffer::Buckets];
                bindings.extend(self.status(slot));
                bindings.extend(self.keys(slot));
                bindings.extend(self.values(slot));
                self.push(sweep, bindings, [slot, batch].map(Number::Is), groups);
            }
        }
    }
}
