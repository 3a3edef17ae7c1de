//! The workgroup memory of kernels.

use super::command::VALUE_BLOCK;
use super::digit::RADIX;
use super::segment_lists::SegmentLists;
use super::tuning::{DIGIT_RUN, DISTANCE_RUN};
use super::variant::{Ranking, Variant, Vectors};
use crate::manifest::Kernel;

impl Variant {
    /// Returns the words of the array in workgroup memory in which a tile is sorted (`board` in the kernels).
    pub fn board_words(&self) -> u32 {
        if self.kernel == Kernel::Runs {
            return 0;
        }
        let counters = match self.ranking {
            Some(Ranking::Ballot { rows, .. }) => rows * self.row_words(),
            Some(Ranking::Counters) => 8 * self.group + self.tile,
            None => return 0,
        };
        // These kernels have their keys in registers. They reorder the keys in `board`, one word of all keys at a time.
        if matches!(self.kernel, Kernel::SingleTile | Kernel::BucketTile | Kernel::SegmentTile) {
            counters.max(self.tile)
        } else if self.kernel == Kernel::TopK {
            // First the counts of a digit and sums of some counts; later two bits for each of 32 keys of a thread.
            counters.max(RADIX + RADIX / DIGIT_RUN).max(2 * self.group)
        } else {
            // The offsets of wide digits follow the slice in the same array. An array of their own would take as much
            // memory as two subgroup histograms.
            let behind = if self.has_wide_digits() { self.radix() } else { 0 };
            counters.max(self.slice() * self.key_words().max(self.value_words) + behind)
        }
    }

    /// Returns the bytes of workgroup memory of all arrays and variables, each rounded up to 16.
    pub fn workgroup_bytes(&self) -> u32 {
        let ranking = match self.ranking {
            // Ballots mark where runs begin. They rank no keys.
            _ if self.kernel == Kernel::Runs => 0,
            Some(Ranking::Ballot { rows, .. }) => rows * if self.has_wide_digits() { self.row_words() / self.group } else { 1 },
            Some(Ranking::Counters) => self.group + RADIX + 4,
            None => 0,
        };
        let own = match self.kernel {
            Kernel::Histogram => self.counted_digits() * self.row_words() + 8,
            Kernel::BucketHistogram => self.counted_digits() * self.row_words() + self.group + 4,
            Kernel::CountValues => self.counters.next_multiple_of(4),
            Kernel::Scan | Kernel::ScanValues | Kernel::PickSpine => self.group,
            Kernel::Spine | Kernel::PickDigit => self.group + 4,
            Kernel::Buckets => RADIX + 4 + self.group,
            Kernel::Upsweep | Kernel::PickCount => RADIX + 4,
            Kernel::PickTally => 8,
            Kernel::Pick => 3 * self.group,
            Kernel::Fill => VALUE_BLOCK + self.group,
            Kernel::Segments => 2 * (SegmentLists::CLASSES + 1).next_multiple_of(4) + 4,
            // The words of the keys and, if the kernel carries them, of their positions. One unused word follows the keys of each thread.
            Kernel::SegmentNetwork => {
                let words = self.key_words() + u32::from(self.indexed);
                words * self.group * (self.keys + 1) + 4
            }
            Kernel::Onesweep if self.has_wide_digits() => 8,
            Kernel::Onesweep => RADIX + 8,
            Kernel::BucketSweep => RADIX + 12,
            Kernel::Downsweep => RADIX + 4,
            Kernel::SingleTile | Kernel::BucketTile | Kernel::SegmentTile => 4,
            Kernel::MergeTile => self.merge_words().next_multiple_of(4),
            Kernel::IvfDistance => DISTANCE_RUN * self.vectors.map_or(0, Vectors::sums) * self.group,
            // The indices, the segment, the digit, and the sums over the threads, unless the ranking includes them.
            Kernel::TopK => self.tile + 8 + if self.ranking == Some(Ranking::Counters) { 0 } else { self.group },
            // Marks, a bit for each word of marks, sums over the threads, the tile, and four variables of the look-back.
            Kernel::Runs => {
                let marks = self.tile / 32;
                marks.next_multiple_of(4) + marks.div_ceil(32).next_multiple_of(4) + self.group.next_multiple_of(4) + 4 + 16
            }
            Kernel::Begin
            | Kernel::LongSegments
            | Kernel::Copy
            | Kernel::Identity
            | Kernel::Widen
            | Kernel::Narrow
            | Kernel::MergePath
            | Kernel::BeginRuns
            | Kernel::Gather
            | Kernel::WidenIndices
            | Kernel::SegmentBounds
            | Kernel::Nearest => 0,
        };
        4 * (self.board_words() + ranking.next_multiple_of(4) + own)
    }

    /// Returns the words of workgroup memory of a merge: those of the tile's keys, and of those behind it that a thread reads and does not use.
    pub(crate) fn merge_words(&self) -> u32 {
        self.tile * self.key_words() + self.keys + 1
    }
}
