//! The constants of each kernel that not all kernels have: one case for each kernel.

use super::ranked_tile::{Ballot, PassTile, RankedTile};
use super::request::Payload;
use crate::manifest::Kernel;
use polysort_vector::{Metric, Precision};

/// The constants of a kernel that not all kernels have. A case has the name of its kernel, and exactly the fields that the
/// kernel's text depends on.
///
/// `tile` is the number of keys of a tile. If the kernel has all keys of its tile in registers, `keys` is the number of a
/// thread's keys, and a tile has as many keys as all threads together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelShape {
    /// The shape of [`Kernel::Begin`].
    Begin,
    /// The shape of [`Kernel::Histogram`].
    Histogram {
        /// Keys that a thread counts.
        keys: u32,
        /// Keys of a tile of the first pass, if the kernel clears the status words of that pass.
        status_tile: Option<u32>,
    },
    /// The shape of [`Kernel::Scan`].
    Scan,
    /// The shape of [`Kernel::CountValues`].
    CountValues {
        /// Keys that a thread counts at a time.
        keys: u32,
        /// Words of the counters in workgroup memory.
        counters: u32,
    },
    /// The shape of [`Kernel::ScanValues`].
    ScanValues,
    /// The shape of [`Kernel::Onesweep`].
    Onesweep {
        /// The tile.
        tile: PassTile,
        /// What is moved with the keys.
        payload: Payload,
        /// Whether the pass sorts by the most significant digit that varies, and not by the next one.
        partitions: bool,
    },
    /// The shape of [`Kernel::Buckets`].
    Buckets {
        /// Keys of a tile of the passes over the buckets.
        tile: u32,
        /// Keys of a batch.
        batch: u32,
        /// The most keys of a bucket that one workgroup sorts.
        small_bucket: u32,
    },
    /// The shape of [`Kernel::BucketTile`].
    BucketTile {
        /// The tile.
        tile: RankedTile,
        /// Words of a value; 0 without values.
        value_words: u32,
        /// The most keys of a bucket that one workgroup sorts.
        small_bucket: u32,
    },
    /// The shape of [`Kernel::BucketHistogram`].
    BucketHistogram {
        /// The buckets.
        buckets: Buckets,
        /// Words of a value, if the kernel copies the keys that it counts, and their values; 0 without values.
        copied: Option<u32>,
    },
    /// The shape of [`Kernel::BucketSweep`].
    BucketSweep {
        /// The tile.
        tile: PassTile,
        /// Words of a value; 0 without values.
        value_words: u32,
        /// The buckets.
        buckets: Buckets,
    },
    /// The shape of [`Kernel::Upsweep`].
    Upsweep {
        /// Keys of a tile of the pass.
        tile: u32,
    },
    /// The shape of [`Kernel::Spine`].
    Spine {
        /// Keys of a tile of the pass.
        tile: u32,
    },
    /// The shape of [`Kernel::Downsweep`].
    Downsweep {
        /// The tile.
        tile: RankedTile,
        /// What is moved with the keys.
        payload: Payload,
    },
    /// The shape of [`Kernel::SingleTile`].
    SingleTile {
        /// The tile.
        tile: RankedTile,
        /// What is moved with the keys.
        payload: Payload,
    },
    /// The shape of [`Kernel::Segments`].
    Segments {
        /// Keys of a tile of a long segment.
        tile: u32,
        /// The classes of segments.
        classes: SegmentClasses,
    },
    /// The shape of [`Kernel::SegmentNetwork`]. A thread has [`SegmentClasses::network_keys`] keys.
    SegmentNetwork {
        /// The classes of segments.
        classes: SegmentClasses,
        /// Words of a value; 0 without values.
        value_words: u32,
        /// Whether threads have the index of each key.
        carries: bool,
        /// Whether loops over a thread's keys are unrolled.
        unrolled: bool,
    },
    /// The shape of [`Kernel::SegmentTile`].
    SegmentTile {
        /// The tile.
        tile: RankedTile,
        /// Words of a value; 0 without values.
        value_words: u32,
        /// The classes of segments.
        classes: SegmentClasses,
    },
    /// The shape of [`Kernel::LongSegments`].
    LongSegments {
        /// Keys of a tile of a long segment.
        tile: u32,
        /// The classes of segments.
        classes: SegmentClasses,
    },
    /// The shape of [`Kernel::PickCount`].
    PickCount {
        /// Keys that a thread counts.
        keys: u32,
    },
    /// The shape of [`Kernel::PickDigit`].
    PickDigit,
    /// The shape of [`Kernel::PickTally`].
    PickTally,
    /// The shape of [`Kernel::PickSpine`].
    PickSpine,
    /// The shape of [`Kernel::Pick`].
    Pick {
        /// Whether the kernel's binding of the keys is writable. It must be if the kernel writes indices to another part of
        /// the same buffer.
        aliased: bool,
    },
    /// The shape of [`Kernel::Copy`].
    Copy,
    /// The shape of [`Kernel::Identity`].
    Identity,
    /// The shape of [`Kernel::Widen`].
    Widen,
    /// The shape of [`Kernel::Narrow`].
    Narrow,
    /// The shape of [`Kernel::Fill`].
    Fill,
    /// The shape of [`Kernel::TopK`].
    TopK {
        /// The tile: the keys that a workgroup selects.
        tile: RankedTile,
        /// Whether a buffer specifies where segments begin and end.
        segmented: bool,
        /// Whether the kernel selects from indices that an earlier level has selected.
        nested: bool,
        /// Whether the kernel's binding of the keys is writable, because it writes indices to another part of the same buffer.
        aliased: bool,
    },
    /// The shape of [`Kernel::MergePath`].
    MergePath {
        /// Keys of a tile of the merge.
        tile: u32,
    },
    /// The shape of [`Kernel::MergeTile`].
    MergeTile {
        /// Keys per thread.
        keys: u32,
        /// Words of a value; 0 without values.
        value_words: u32,
        /// Whether loops over a thread's keys are unrolled.
        unrolled: bool,
    },
    /// The shape of [`Kernel::BeginRuns`].
    BeginRuns {
        /// Keys of a tile in which runs are sought.
        tile: u32,
        /// Whether the index of the first key of each run is an output.
        offsets: bool,
    },
    /// The shape of [`Kernel::Runs`].
    Runs {
        /// Keys per thread.
        keys: u32,
        /// The ballots that mark where runs begin; `None` if threads mark them without subgroup operations.
        ballot: Option<Ballot>,
        /// What the kernel writes for each run.
        outputs: RunOutputs,
        /// Whether the kernel's binding of the keys is writable, because it writes outputs to another part of the same buffer.
        aliased: bool,
    },
    /// The shape of [`Kernel::Gather`].
    Gather {
        /// Whether the kernel's bindings of elements and indices are writable, because two of its bindings are parts of one
        /// buffer.
        aliased: bool,
    },
    /// The shape of [`Kernel::WidenIndices`].
    WidenIndices {
        /// Whether the indices are those of a selection from segments.
        segmented: bool,
    },
    /// The shape of [`Kernel::SegmentBounds`].
    SegmentBounds,
    /// The shape of [`Kernel::IvfDistance`].
    IvfDistance(Vectors),
    /// The shape of [`Kernel::Nearest`].
    Nearest,
}

/// The buckets that a kernel works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buckets {
    /// Those of a partition, in batches.
    OfPartition {
        /// Keys of a batch.
        batch: u32,
    },
    /// The long segments, in one batch.
    LongSegments(SegmentClasses),
}

/// The lengths that divide segments into classes: [`SegmentLists`](super::SegmentLists).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentClasses {
    /// The most keys of a segment that one workgroup sorts.
    pub small: u32,
    /// The most keys of a segment that a thread of the network has in registers.
    pub network_keys: u32,
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

impl Buckets {
    /// Returns whether the keys of a bucket share the highest digit that varies.
    pub(super) fn share_a_digit(self) -> bool {
        matches!(self, Self::OfPartition { .. })
    }
}

impl KernelShape {
    /// Returns the kernel that has this shape.
    pub fn kernel(&self) -> Kernel {
        match self {
            Self::Begin => Kernel::Begin,
            Self::Histogram { .. } => Kernel::Histogram,
            Self::Scan => Kernel::Scan,
            Self::CountValues { .. } => Kernel::CountValues,
            Self::ScanValues => Kernel::ScanValues,
            Self::Onesweep { .. } => Kernel::Onesweep,
            Self::Buckets { .. } => Kernel::Buckets,
            Self::BucketTile { .. } => Kernel::BucketTile,
            Self::BucketHistogram { .. } => Kernel::BucketHistogram,
            Self::BucketSweep { .. } => Kernel::BucketSweep,
            Self::Upsweep { .. } => Kernel::Upsweep,
            Self::Spine { .. } => Kernel::Spine,
            Self::Downsweep { .. } => Kernel::Downsweep,
            Self::SingleTile { .. } => Kernel::SingleTile,
            Self::Segments { .. } => Kernel::Segments,
            Self::SegmentNetwork { .. } => Kernel::SegmentNetwork,
            Self::SegmentTile { .. } => Kernel::SegmentTile,
            Self::LongSegments { .. } => Kernel::LongSegments,
            Self::PickCount { .. } => Kernel::PickCount,
            Self::PickDigit => Kernel::PickDigit,
            Self::PickTally => Kernel::PickTally,
            Self::PickSpine => Kernel::PickSpine,
            Self::Pick { .. } => Kernel::Pick,
            Self::Copy => Kernel::Copy,
            Self::Identity => Kernel::Identity,
            Self::Widen => Kernel::Widen,
            Self::Narrow => Kernel::Narrow,
            Self::Fill => Kernel::Fill,
            Self::TopK { .. } => Kernel::TopK,
            Self::MergePath { .. } => Kernel::MergePath,
            Self::MergeTile { .. } => Kernel::MergeTile,
            Self::BeginRuns { .. } => Kernel::BeginRuns,
            Self::Runs { .. } => Kernel::Runs,
            Self::Gather { .. } => Kernel::Gather,
            Self::WidenIndices { .. } => Kernel::WidenIndices,
            Self::SegmentBounds => Kernel::SegmentBounds,
            Self::IvfDistance(_) => Kernel::IvfDistance,
            Self::Nearest => Kernel::Nearest,
        }
    }
}
