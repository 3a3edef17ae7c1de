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
//! first of them reads main memory, and only the last one writes it. One of the two buffers does not receive the result:
//! there, all batches use the same room for one batch at its start, which thus stays in the cache.
//!
//! Bytes of main memory for a key of 32 bits without payload: 4 for the histogram, 8 for the partition, and 4 + 4 for
//! all passes over its batch. A sort with a pass for each of four digits takes 4 + 32.

use super::builder::Builder;
use super::command::{Buffer, Groups, Number};
use super::digit::RADIX;
use super::kernel_shape::{Buckets, KernelShape};
use super::sort_plan::SortPlan;
use super::tuning::TABLE_GROUPS;
use super::variant::Variant;

impl Builder<'_> {
    /// Adds the passes of the hybrid.
    pub(super) fn hybrid(&mut self) {
        self.pass(0);
        let slots = self.plan.digits.len() as u32;
        let (Some(table), Some(sweep)) = (self.plan.bucket_table(), self.shapes.bucket_sweep) else { return };
        if slots < 2 {
            return;
        }
        let of_buckets = |shape| Variant::of(shape, sweep.key_bits, RADIX);
        if let Some((bucket_tile, _)) = self.shapes.bucket_tile {
            let mut bindings = vec![Buffer::Sort, Buffer::State];
            bindings.extend(self.keys(1));
            bindings.extend(self.values(1));
            self.push(bucket_tile, bindings, [], Groups::Fixed(RADIX));
        }
        let SortPlan { tile, batch, small_bucket, .. } = *self.plan;
        self.push(
            of_buckets(KernelShape::Buckets { tile, batch, small_bucket }),
            [Buffer::Sort, Buffer::State, Buffer::Buckets],
            [],
            Groups::Fixed(TABLE_GROUPS),
        );
        // Workgroups take tile after tile, so any number of workgroups is correct. With twice the tiles of a batch, each
        // tile has its own workgroup, unless the last bucket is longer than a batch.
        let tiles = u64::from(2 * batch.div_ceil(tile));
        let groups = Groups::Fixed(tiles.min(self.plan.bucket_tiles()) as u32);
        let histogram = of_buckets(KernelShape::BucketHistogram { buckets: Buckets::OfPartition { batch }, copied: None });
        for batch in 0..table.batches {
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
