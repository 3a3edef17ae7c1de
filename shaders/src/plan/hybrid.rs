//! The MSD hybrid: one partition by the most significant digit, then each bucket by the rest, in batches that a cache holds.
//!
//! ```text
//! histogram         keys     ────────────────────────────   all digits of all keys
//! onesweep          scratch  ├──┼───┼─┼──┼────┼─┼──┼──┼─┤   a bucket for each value of the most significant digit that varies
//! bucket_tile       home     ├──┤   ├─┤  ├────┤      ├──┤   buckets that one group holds, by all other digits
//! buckets                    ╎ batch 0 ╎ batch 1 ╎ batch 2  where the others lie, their tiles and the batches of them
//! bucket_histogram  scratch  ├──┼───┼─┤                     for each batch: the other digits, bucket by bucket,
//! bucket_sweep      home     ├──┼───┼─┤                     and a pass for each of them, least significant first
//! ```
//!
//! The passes are those of a sort by least significant digits in another order: pass 0 reads the source and writes the scratch, odd ones
//! read that and write home, even ones the reverse. A batch takes all of its passes before the next one starts, so main memory is read
//! by the first of them, and written by the last. Where the passes of a batch do not end it needs room for itself alone: all batches
//! use the start of that buffer, which so stays in the cache.
//!
//! For keys of 32 bits without payload, in bytes of main memory for each key: 4 of the histogram, 8 of the partition, 4 + 4 of all that
//! follows, where a pass for each of four digits takes 4 + 32.

use super::command::{Buffer, Builder, Groups, Number};
use super::shape::{Kernel, Variant};
use super::tuning::{TABLE_GROUPS, batch_keys};
use super::{Algorithm, Class, RADIX, RADIX_BITS, Request, SegmentLists, SortPlan};

/// Words of a batch in the table of buckets: its first tile, its first key, and a ticket for each pass from 1 on.
pub const BATCH_WORDS: u32 = 20;

/// Words of a tile in the table of buckets: its first key, its keys, the first tile of its bucket, its bucket.
pub const TILE_WORDS: u32 = 4;

/// Batches, at most: as many as there are buckets.
const MAX_BATCHES: u64 = RADIX as u64;

/// Where things lie in [`Buffer::Buckets`], in words from its start. At the start, for each bucket and each digit but the highest, is how
/// many of the bucket's keys have a smaller digit, for each value of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTable {
    /// Digits of a key, but for the highest.
    pub lower_digits: u32,
    /// The launches that there are for batches. Bucket by bucket, those that start in the same [`SortPlan::batch`] keys are a batch: as none
    /// starts at or after the last key's end, there are no more than keys divided by that, rounded up.
    pub batches: u32,
    /// The first of the batches, of which there is one more, an empty one.
    pub first_batch: u32,
    /// The first of the tiles.
    pub first_tile: u32,
    /// All.
    pub words: u64,
}

impl BucketTable {
    /// The first of the words of a digit of a bucket's keys.
    pub fn smaller(&self, bucket: u32, digit: u32) -> u32 {
        (bucket * self.lower_digits + digit) * RADIX
    }
}

impl SortPlan {
    /// The most tiles that buckets are cut into. Each has a last tile that may be a part of one: of `c` keys there are less than `c / T + 1` tiles
    /// of `T`, so of all `n` keys less than `n / T + 256`; and so for long segments, as many as there can be.
    pub fn bucket_tiles(&self) -> u64 {
        let buckets = self.segment_lists().map_or(RADIX, |lists| lists.capacity(SegmentLists::LONG));
        self.request.max.div_ceil(self.tile.into()) + u64::from(buckets.max(1)) - 1
    }

    /// The table of buckets of a sort that has one.
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

    /// Keys of a batch: as many as are wanted, but so many that there are no more batches than buckets.
    pub(super) fn keys_of_batch(request: &Request, class: Class) -> u32 {
        let wanted = request.batch.unwrap_or_else(|| batch_keys(class, request.key_words(), request.payload.words()));
        let least = request.max.div_ceil(MAX_BATCHES).next_power_of_two();
        wanted.max(least as u32).max(1)
    }
}

impl Builder<'_> {
    /// The passes of the hybrid.
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
        // Twice the tiles of a batch suffice at once, unless its last bucket is longer than a batch; in any case groups take tile after tile.
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
