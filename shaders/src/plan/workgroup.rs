//! The workgroup memory of kernels.

use super::command::VALUE_BLOCK;
use super::digit::RADIX;
use super::kernel_shape::KernelShape;
use super::ranked_tile::{Ballot, PassTile, RankedTile, Ranking};
use super::segment_lists::SegmentLists;
use super::tuning::{DIGIT_RUN, DISTANCE_RUN};
use super::variant::Variant;

impl Variant {
    /// Returns the words of the array in workgroup memory in which a tile is sorted (`board` in the kernels); 0 for kernels
    /// that sort no tile.
    pub fn board_words(&self) -> u32 {
        let Some(RankedTile { keys, ranking, .. }) = self.shape.ranked_tile() else { return 0 };
        let tile = self.group * keys;
        let counters = match ranking {
            Ranking::Ballot(Ballot { rows, .. }) => rows * self.row_words(),
            Ranking::Counters => 8 * self.group + tile,
        };
        match self.shape {
            // These kernels have their keys in registers. They reorder the keys in `board`, one word of all keys at a time.
            KernelShape::SingleTile { .. } | KernelShape::BucketTile { .. } | KernelShape::SegmentTile { .. } => {
                counters.max(tile)
            }
            // First the counts of a digit and sums of some counts; later two bits for each of 32 keys of a thread.
            KernelShape::TopK { .. } => counters.max(RADIX + RADIX / DIGIT_RUN).max(2 * self.group),
            // The offsets of wide digits follow the slice in the same array. An array of their own would take as much
            // memory as two subgroup histograms.
            _ => {
                let slice = self.group * self.shape.pass_tile().map_or(keys, PassTile::slice_keys);
                let behind = if self.has_wide_digits() { self.radix() } else { 0 };
                counters.max(slice * self.key_words().max(self.shape.value_words().unwrap_or(0)) + behind)
            }
        }
    }

    /// Returns the bytes of workgroup memory of all arrays and variables, each rounded up to 16.
    pub fn workgroup_bytes(&self) -> u32 {
        let ranking = match self.shape.ranked_tile().map(|tile| tile.ranking) {
            Some(Ranking::Ballot(Ballot { rows, .. })) => {
                rows * if self.has_wide_digits() { self.row_words() / self.group } else { 1 }
            }
            Some(Ranking::Counters) => self.group + RADIX + 4,
            None => 0,
        };
        let counted = self.counted_digits().map_or(0, |digits| digits * self.row_words());
        let own = match self.shape {
            KernelShape::Histogram { .. } => counted + 8,
            KernelShape::BucketHistogram { .. } => counted + self.group + 4,
            KernelShape::CountValues { counters, .. } => counters.next_multiple_of(4),
            KernelShape::Scan | KernelShape::ScanValues | KernelShape::PickSpine => self.group,
            KernelShape::Spine { .. } | KernelShape::PickDigit => self.group + 4,
            KernelShape::Buckets { .. } => RADIX + 4 + self.group,
            KernelShape::Upsweep { .. } | KernelShape::PickCount { .. } => RADIX + 4,
            KernelShape::PickTally => 8,
            KernelShape::Pick { .. } => 3 * self.group,
            KernelShape::Fill => VALUE_BLOCK + self.group,
            KernelShape::Segments { .. } => 2 * (SegmentLists::CLASSES + 1).next_multiple_of(4) + 4,
            // The words of the keys and, if the kernel carries them, of their positions. One unused word follows the keys of each thread.
            KernelShape::SegmentNetwork { classes, carries, .. } => {
                let words = self.key_words() + u32::from(carries);
                words * self.group * (classes.network_keys + 1) + 4
            }
            KernelShape::Onesweep { .. } if self.has_wide_digits() => 8,
            KernelShape::Onesweep { .. } => RADIX + 8,
            KernelShape::BucketSweep { .. } => RADIX + 12,
            KernelShape::Downsweep { .. } => RADIX + 4,
            KernelShape::SingleTile { .. } | KernelShape::BucketTile { .. } | KernelShape::SegmentTile { .. } => 4,
            KernelShape::MergeTile { keys, .. } => self.merge_words(self.group * keys, keys).next_multiple_of(4),
            KernelShape::IvfDistance(vectors) => DISTANCE_RUN * vectors.sums() * self.group,
            // The indices, the segment, the digit, and the sums over the threads, unless the ranking includes them.
            KernelShape::TopK { tile, .. } => {
                self.group * tile.keys + 8 + if tile.ranking == Ranking::Counters { 0 } else { self.group }
            }
            // Marks, a bit for each word of marks, sums over the threads, the tile, and four variables of the look-back.
            KernelShape::Runs { keys, .. } => {
                let marks = self.group * keys / 32;
                marks.next_multiple_of(4) + marks.div_ceil(32).next_multiple_of(4) + self.group.next_multiple_of(4) + 4 + 16
            }
            KernelShape::Begin
            | KernelShape::LongSegments { .. }
            | KernelShape::Copy
            | KernelShape::Identity
            | KernelShape::Widen
            | KernelShape::Narrow
            | KernelShape::MergePath { .. }
            | KernelShape::BeginRuns { .. }
            | KernelShape::Gather { .. }
            | KernelShape::WidenIndices { .. }
            | KernelShape::SegmentBounds
            | KernelShape::Nearest => 0,
        };
        4 * (self.board_words() + ranking.next_multiple_of(4) + own)
    }

    /// Returns the words of workgroup memory of a merge: those of the tile's keys, and of those behind it that a thread reads and does not use. `keys` are the
    /// keys of a thread.
    pub(crate) fn merge_words(&self, tile: u32, keys: u32) -> u32 {
        tile * self.key_words() + keys + 1
    }
}
