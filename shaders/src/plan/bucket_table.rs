//! The table of buckets: which batch a bucket belongs to, and where its tiles begin.

use super::digit::{RADIX, RADIX_BITS};
use super::request::Algorithm;
use super::segment_lists::SegmentLists;
use super::sort_plan::SortPlan;

/// Words of a batch in the table of buckets: its first tile, its first key, and a ticket for each pass from 1 on.
pub const BATCH_WORDS: u32 = 20;

/// Words of a tile in the table of buckets: its first key, its number of keys, the first tile of its bucket, and its
/// bucket.
pub const TILE_WORDS: u32 = 4;

/// The layout of [`Buffer::Buckets`](super::Buffer::Buckets), in words from its start. It begins with RADIX words for each bucket and each digit
/// but the highest: for each value, the number of keys of the bucket with a smaller value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketTable {
    /// Digits of a key, without the highest one.
    pub lower_digits: u32,
    /// Batches that the host records launches for. The batch of a bucket is the index of its first key divided by
    /// [`SortPlan::batch`]. So there are at most as many batches as the keys divided by [`SortPlan::batch`], rounded up.
    pub batches: u32,
    /// The offset of the record of the first batch. An empty record follows the last batch.
    pub first_batch: u32,
    /// The offset of the record of the first tile.
    pub first_tile: u32,
    /// Words of the table.
    pub words: u64,
}

impl BucketTable {
    /// Returns the offset of the words of a digit of a bucket.
    pub fn smaller(&self, bucket: u32, digit: u32) -> u32 {
        (bucket * self.lower_digits + digit) * RADIX
    }
}

impl SortPlan {
    /// Returns the most tiles that all buckets can have. The last tile of a bucket may be partial. So `c` keys have less
    /// than `c / T + 1` tiles of `T` keys, and all `n` keys have less than `n / T + 256`. For long segments, their largest
    /// number takes the place of 256.
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

    /// Returns the layout of [`Buffer::Buckets`](super::Buffer::Buckets) for segments. Each long segment is a bucket with counts of all digits, and
    /// there is one batch.
    pub(super) fn segment_table(&self, lists: SegmentLists) -> BucketTable {
        let lower_digits = self.request.key_words() * 32 / RADIX_BITS;
        let first_batch = lists.capacity(SegmentLists::LONG) * lower_digits * RADIX;
        let first_tile = first_batch + 2 * BATCH_WORDS;
        let words = u64::from(first_tile) + u64::from(TILE_WORDS) * self.bucket_tiles();
        BucketTable { lower_digits, batches: 1, first_batch, first_tile, words }
    }
}
