//! A kernel with all constants that its text depends on.

use super::digit::RADIX_BITS;
use super::tuning;
use crate::manifest::Kernel;
use polysort_vector::{Metric, Precision};

/// The method by which a workgroup ranks the keys of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ranking {
    /// With ballots: each subgroup has a histogram of its own.
    Ballot {
        /// The number of subgroup histograms: the most subgroups of a workgroup.
        rows: u32,
        /// Whether subgroups can have more than 32 lanes.
        wide: bool,
    },
    /// With counters of each thread, without subgroup operations.
    Counters,
}

/// A kernel with all constants that its text depends on. Fields that the kernel does not use are 0, so that equal texts
/// have equal variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The kernel.
    pub kernel: Kernel,
    /// Bits of a key in the caller's buffer.
    pub key_bits: u32,
    /// Whether the kernel reads or writes packed keys of 8 or 16 bits.
    pub packed: bool,
    /// Bits of a digit.
    pub radix_bits: u32,
    /// Words of a value.
    pub value_words: u32,
    /// Whether the values are the indices of the keys. For `segment_network`: whether threads have the index of each key.
    pub indexed: bool,
    /// Threads of a workgroup.
    pub group: u32,
    /// Keys per thread, at most.
    pub keys: u32,
    /// Keys of a tile.
    pub tile: u32,
    /// Slices in which a tile goes through workgroup memory.
    pub slices: u32,
    /// Whether loops over a thread's keys are unrolled. Some compilers put arrays that a loop indexes into memory.
    pub unrolled: bool,
    /// The method of ranking a tile.
    pub ranking: Option<Ranking>,
    /// Whether the kernel clears, or uses, status words of look-back.
    pub look_back: bool,
    /// Whether the pass sorts by the most significant digit that varies, and not by the next one.
    pub partitions: bool,
    /// Keys of a batch, if the kernel works on buckets; 1 for segments.
    pub batch: u32,
    /// The most keys of a bucket, or of a segment, that one workgroup sorts.
    pub small_bucket: u32,
    /// For kernels that sort segments: the most keys of a segment that a thread of the network has in registers.
    pub network_keys: u32,
    /// Whether the kernel copies the keys that it counts.
    pub copies: bool,
    /// Whether a buffer specifies where segments begin and end.
    pub segmented: bool,
    /// Whether the kernel selects from indices that an earlier level has selected.
    pub nested: bool,
    /// Whether the kernel's binding of the keys is writable. It must be if the kernel writes indices to another part of the
    /// same buffer.
    pub aliased: bool,
    /// Whether each subgroup looks for a usual digit, and counts its keys with ballots.
    pub runs: bool,
    /// Words of the counters of a counting sort; 0 for other kernels.
    pub counters: u32,
    /// The vectors that the kernel works on.
    pub vectors: Option<Vectors>,
    /// What the kernel writes for each run of equal keys.
    pub outputs: Option<RunOutputs>,
}

/// What a kernel writes for each run of equal keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunOutputs {
    /// Whether it writes the first key.
    pub unique: bool,
    /// Whether it writes the index of the first key.
    pub offsets: bool,
    /// Whether it writes the number of keys.
    pub lengths: bool,
}

/// The constants of a kernel that works on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vectors {
    /// The metric of the distances.
    pub metric: Metric,
    /// The precision of the numbers in the store.
    pub precision: Precision,
    /// Whether threads read four numbers at a time.
    pub quads: bool,
    /// Threads of the team that reads a vector together.
    pub team: u32,
}

impl Vectors {
    /// Returns the number of sums from which a distance is computed.
    pub fn sums(self) -> u32 {
        if self.metric == Metric::Cosine { 3 } else { 1 }
    }
}

impl Variant {
    /// Returns a kernel for keys of `key_bits` bits, with the defaults of all other constants.
    pub(super) fn of(kernel: Kernel, key_bits: u32) -> Self {
        Self {
            kernel,
            key_bits,
            packed: false,
            radix_bits: RADIX_BITS,
            value_words: 0,
            indexed: false,
            group: 0,
            keys: 0,
            tile: 0,
            slices: 1,
            unrolled: false,
            ranking: None,
            look_back: false,
            partitions: false,
            batch: 0,
            small_bucket: 0,
            network_keys: 0,
            copies: false,
            segmented: false,
            nested: false,
            aliased: false,
            runs: false,
            counters: 0,
            vectors: None,
            outputs: None,
        }
    }

    /// Returns the words that a key takes while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
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

    /// Returns the number of digits that a histogram kernel counts. The keys of a bucket share the highest digit, so it is left out; the keys of a segment
    /// may differ in it.
    pub(crate) fn counted_digits(&self) -> u32 {
        self.key_digits() - u32::from(self.kernel == Kernel::BucketHistogram && self.network_keys == 0)
    }

    /// Returns whether two counts share a word. They do for wide digits, and for histograms of 16 digits, which would
    /// otherwise take all workgroup memory of the smallest devices.
    pub fn packs_counts(&self) -> bool {
        self.has_wide_digits() || self.key_bits == 128 && matches!(self.kernel, Kernel::Histogram | Kernel::BucketHistogram)
    }

    /// Returns the workgroups of a team of a counting sort. Each of them counts a span of the values of a key. A span has as
    /// many values as there are counters, two of 16 bits in each word.
    pub fn spans(&self) -> u32 {
        if self.counters > 0 && self.packs_counts() { self.radix().div_ceil(2 * self.counters) } else { 1 }
    }

    /// Returns the words of the counts of all values of a digit, bank padding included.
    pub fn row_words(&self) -> u32 {
        match self.radix() {
            radix if self.packs_counts() => radix / 2,
            radix if self.runs => radix + radix / tuning::BANKS,
            radix => radix,
        }
    }

    /// Keys of a thread in a slice.
    pub fn slice_keys(&self) -> u32 {
        self.keys.div_ceil(self.slices)
    }

    /// Returns the keys of a slice that a thread reads before it writes them. They divide the thread's keys of a slice.
    pub fn chunk(&self) -> u32 {
        (1..=tuning::MAX_CHUNK).rev().find(|&chunk| self.slice_keys().is_multiple_of(chunk)).unwrap_or(1)
    }

    /// Keys of a tile in a slice.
    pub fn slice(&self) -> u32 {
        self.group * self.slice_keys()
    }
}
