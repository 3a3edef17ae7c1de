//! A kernel with all constants that its text depends on.

use super::digit::{RADIX, RADIX_BITS};
use super::tuning::{self, DIGIT_RUN, DISTANCE_RUN};
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
            Kernel::Histogram => self.key_digits() * self.row_words() + 8,
            Kernel::CountValues => self.counters.next_multiple_of(4),
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
            _ => 0,
        };
        4 * (self.board_words() + ranking.next_multiple_of(4) + own)
    }

    /// Returns the words of workgroup memory of a merge: those of the tile's keys, and of those behind it that a thread reads and does not use.
    pub(crate) fn merge_words(&self) -> u32 {
        self.tile * self.key_words() + self.keys + 1
    }
}
