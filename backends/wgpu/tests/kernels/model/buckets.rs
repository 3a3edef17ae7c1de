//! Models of the MSD hybrid: its table of buckets, and the sort of each bucket.

use super::{Model, next_of};
use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::{BATCH_WORDS, BucketTable, Buffer, RADIX, TILE_WORDS};

/// Buckets of a partition.
const BUCKETS: usize = RADIX as usize;

impl Model<'_> {
    /// Returns the offset of each bucket, and the number of keys.
    pub(super) fn starts(&self, on: &Contents) -> Vec<usize> {
        let starts = &on[&Buffer::State][self.histogram_of(self.top_scheduled(on))..][..BUCKETS];
        starts.iter().map(|&start| start as usize).chain([self.count]).collect()
    }

    pub(super) fn is_small(&self, bucket: &[usize]) -> bool {
        bucket[1] - bucket[0] <= self.plan.small_bucket as usize
    }

    /// Small buckets are sorted, in the buffer in which the sort ends.
    pub(super) fn bucket_tile(&self, on: &mut Contents) {
        let passes = self.passes(on);
        if passes < 2 {
            return;
        }
        let mut moves = vec![];
        for bucket in self.starts(on).windows(2).filter(|bucket| self.is_small(bucket)) {
            let mut order: Vec<usize> = (bucket[0]..bucket[1]).collect();
            order.sort_by_cached_key(|&i| self.rank(self.key(on, Buffer::Scratch, i)));
            moves.extend(order.into_iter().zip(bucket[0]..));
        }
        // Keys and values move from the scratch to the buffer of the result, which may be the scratch.
        let end = if passes.is_multiple_of(2) { 1 } else { 0 };
        let bound = |binding: usize| self.command.bindings.get(binding).copied();
        let keys: Vec<u128> = moves.iter().map(|&(i, _)| self.key(on, Buffer::Scratch, i)).collect();
        keys.iter().zip(&moves).for_each(|(&key, &(_, place))| self.put_key(on, self.command.bindings[2 + end], place, key));
        if let (Some(from), Some(to)) = (bound(4), bound(4 + end)) {
            self.move_values(on, (from, to), &moves);
        }
    }

    /// The table has the tiles of each bucket, and the batches; its counts and tickets are 0.
    pub(super) fn buckets(&self, on: &mut Contents) {
        if self.passes(on) < 2 {
            return;
        }
        let BucketTable { batches, first_batch, first_tile, .. } = self.table();
        let starts = self.starts(on);
        let (mut tiles, mut tiles_before) = (vec![], vec![]);
        for (bucket, range) in starts.windows(2).enumerate() {
            let first = tiles.len();
            tiles_before.push(first);
            let end = if self.is_small(range) { range[0] } else { range[1] };
            for key in (range[0]..end).step_by(self.tile()) {
                tiles.push([key, self.tile().min(range[1] - key), first, bucket]);
            }
        }
        tiles_before.push(tiles.len());
        let table = self.buffer(on, 2);
        table[..first_tile as usize].fill(0);
        for (row, tile) in table[first_tile as usize..].chunks_mut(TILE_WORDS as usize).zip(&tiles) {
            row.copy_from_slice(&tile.map(|word| word as u32));
        }
        for batch in 0..=batches as usize {
            let bucket = starts.partition_point(|&start| start < batch * self.plan.batch as usize).min(BUCKETS);
            let row = &mut table[first_batch as usize + batch * BATCH_WORDS as usize..];
            (row[0], row[1]) = (tiles_before[bucket] as u32, starts[bucket] as u32);
        }
    }

    pub(super) fn bucket_histogram(&self, on: &mut Contents) {
        if self.passes(on) < 2 {
            return;
        }
        let (tiles, _) = self.batch(on, self.number(0));
        for (t, &[first, keys, _, bucket]) in tiles.iter().enumerate() {
            let keys: Vec<u128> = (first..first + keys).map(|i| self.key(on, self.command.bindings[5], i)).collect();
            self.buffer(on, 4)[t * BUCKETS..][..BUCKETS].fill(0);
            // All digits but the highest are counted, whether they vary or not.
            let (_, lower) = self.plan.digits.split_last().expect("two passes have digits");
            for (d, digit) in (0..).zip(lower) {
                let at = self.table().smaller(bucket as u32, d) as usize;
                let smaller = &mut self.buffer(on, 3)[at..][..BUCKETS];
                keys.iter().for_each(|&key| smaller[self.digit_of(key, digit) + 1..].iter_mut().for_each(|sum| *sum += 1));
            }
        }
    }

    /// Models a pass over a batch. Each tile has published the inclusive counts of its bucket up to its end, and the status words of the next
    /// pass are 0. Workgroups have taken a ticket for each tile, and each workgroup one more.
    pub(super) fn bucket_sweep(&self, on: &mut Contents, groups: u32) {
        let Some(d) = self.scheduled(on) else { return };
        let (slot, batch, table) = (self.number(0), self.number(1), self.table());
        let (tiles, start) = self.batch(on, batch);
        let row = table.first_batch as usize + batch * BATCH_WORDS as usize;
        self.buffer(on, 4)[row + abi::BATCH_TICKETS as usize + slot] += groups + tiles.len() as u32;
        self.buffer(on, 6)[..tiles.len() * BUCKETS].fill(0);
        // In the buffer in which the sort does not end, the batch is at the start, except for the result of the partition.
        let ends_here = (self.passes(on) - 1 - slot).is_multiple_of(2);
        let from_shift = if ends_here && slot > 1 { start } else { 0 };
        let to_shift = if ends_here { 0 } else { start };
        let first_tile = tiles.first().map_or(0, |_| on[&Buffer::Buckets][row] as usize);
        let (mut moves, mut places, mut sums) = (vec![], vec![], [0_u32; BUCKETS]);
        for (t, &[first, keys, first_of_bucket, bucket]) in tiles.iter().enumerate() {
            if t == first_of_bucket - first_tile {
                let smaller = &on[&Buffer::Buckets][table.smaller(bucket as u32, d as u32) as usize..][..BUCKETS];
                places = smaller.iter().map(|&smaller| smaller + (first - to_shift) as u32).collect();
                sums = [0; BUCKETS];
            }
            for i in first - from_shift..first - from_shift + keys {
                let digit = self.digit_of(self.key(on, self.ends().0, i), &self.plan.digits[d]);
                sums[digit] += 1;
                moves.push((i, next_of(&mut places[digit]) as usize));
            }
            let status = &mut self.buffer(on, 5)[t * BUCKETS..][..BUCKETS];
            assert!(status.iter().all(|&word| word == 0), "the pass before, or the histogram, clears it");
            status.iter_mut().zip(sums).for_each(|(word, sum)| *word = 2 << 30 | sum);
        }
        self.move_all(on, &moves);
    }

    pub(super) fn table(&self) -> BucketTable {
        self.plan.bucket_table().expect("a sort by buckets has one")
    }

    /// Returns the tiles of a batch, and the index of its first key.
    pub(super) fn batch(&self, on: &Contents, batch: usize) -> (Vec<[usize; 4]>, usize) {
        let (table, BucketTable { first_batch, first_tile, .. }) = (&on[&Buffer::Buckets], self.table());
        let row = first_batch as usize + batch * BATCH_WORDS as usize;
        let tiles = table[row]..table[row + BATCH_WORDS as usize];
        let tile = |t: u32| [0, 1, 2, 3].map(|word| table[(first_tile + t * TILE_WORDS) as usize + word] as usize);
        (tiles.map(tile).collect(), table[row + 1] as usize)
    }
}
