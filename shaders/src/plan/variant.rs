//! A kernel with all constants that its text depends on.

use super::digit::RADIX_BITS;
use super::kernel_shape::KernelShape;
use super::tuning::{self, COPY_TILE, DISTANCE_RUN};
use crate::manifest::Kernel;

/// A kernel with all constants that its text depends on. Equal texts have equal variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// Bits of a key for which the text is written: 8 or 16 if the kernel reads or writes packed keys of the caller, else a multiple of 32. For a gather, bits of an element.
    pub key_bits: u32,
    /// Bits of a digit; for a counting sort, bits of a key.
    pub radix_bits: u32,
    /// Threads of a workgroup.
    pub group: u32,
    /// The kernel, with the constants that not all kernels have.
    pub shape: KernelShape,
}

impl Variant {
    /// Returns a kernel with workgroups of `group` threads, for keys of `key_bits` bits and digits of [`RADIX_BITS`] bits.
    pub(super) fn of(shape: KernelShape, key_bits: u32, group: u32) -> Self {
        Self { key_bits, radix_bits: RADIX_BITS, group, shape }
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> Kernel {
        self.shape.kernel()
    }

    /// Returns this variant with loops that are not unrolled. A kernel without such loops is the same.
    #[must_use]
    pub fn rolled(&self) -> Self {
        Self { shape: self.shape.rolled(), ..*self }
    }

    /// Returns the words that a key takes while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
    }

    /// Returns whether several keys, or elements, share a word of a buffer: those of 8 or 16 bits.
    pub fn is_packed(&self) -> bool {
        self.key_bits < 32
    }

    /// Number of values of a digit.
    pub fn radix(&self) -> u32 {
        1 << self.radix_bits
    }

    /// Whether digits are wide: more bits than [`RADIX_BITS`].
    pub fn has_wide_digits(&self) -> bool {
        self.radix_bits > RADIX_BITS
    }

    /// The most digits of a key.
    pub fn key_digits(&self) -> u32 {
        self.key_words() * self.key_bits.min(32).div_ceil(self.radix_bits)
    }

    /// Returns the number of digits that a histogram kernel counts; `None` for other kernels. The keys of a bucket share the highest digit, so it is left out;
    /// the keys of a segment may differ in it.
    pub(crate) fn counted_digits(&self) -> Option<u32> {
        match self.shape {
            KernelShape::Histogram { .. } => Some(self.key_digits()),
            KernelShape::BucketHistogram { buckets, .. } => Some(self.key_digits() - u32::from(buckets.share_a_digit())),
            _ => None,
        }
    }

    /// Returns whether two counts share a word. They do for wide digits, and for histograms of 16 digits, which would
    /// otherwise take all workgroup memory of the smallest devices.
    pub fn packs_counts(&self) -> bool {
        let is_histogram = matches!(self.shape, KernelShape::Histogram { .. } | KernelShape::BucketHistogram { .. });
        self.has_wide_digits() || self.key_bits == 128 && is_histogram
    }

    /// Returns the workgroups of a team of a counting sort; `None` for other kernels. Each of them counts a span of the values of a key. A span has as
    /// many values as there are counters, two of 16 bits in each word.
    pub fn spans(&self) -> Option<u32> {
        let KernelShape::CountValues { counters, .. } = self.shape else { return None };
        Some(if self.packs_counts() { self.radix().div_ceil(2 * counters) } else { 1 })
    }

    /// Returns the words of the counts of all values of a digit, bank padding included.
    pub fn row_words(&self) -> u32 {
        match self.radix() {
            radix if self.packs_counts() => radix / 2,
            radix if self.shape.pass_tile().is_some_and(|tile| tile.runs) => radix + radix / tuning::BANKS,
            radix => radix,
        }
    }

    /// Returns the keys of a tile, or the words that a workgroup copies; `None` for a kernel that has no tiles.
    pub fn tile(&self) -> Option<u32> {
        match self.shape {
            KernelShape::Histogram { status_tile, .. } => status_tile,
            KernelShape::Buckets { tile, .. }
            | KernelShape::Upsweep { tile }
            | KernelShape::Spine { tile }
            | KernelShape::Segments { tile, .. }
            | KernelShape::LongSegments { tile, .. }
            | KernelShape::MergePath { tile }
            | KernelShape::BeginRuns { tile, .. } => Some(tile),
            KernelShape::CountValues { keys, .. } | KernelShape::MergeTile { keys, .. } | KernelShape::Runs { keys, .. } => {
                Some(self.group * keys)
            }
            KernelShape::Copy
            | KernelShape::Identity
            | KernelShape::Widen
            | KernelShape::Narrow
            | KernelShape::Fill
            | KernelShape::Gather { .. }
            | KernelShape::WidenIndices { .. } => Some(COPY_TILE),
            KernelShape::IvfDistance(vectors) => Some(self.group / vectors.team * DISTANCE_RUN),
            _ => self.shape.ranked_tile().map(|tile| self.group * tile.keys),
        }
    }
}
