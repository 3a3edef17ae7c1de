//! The constants that several kernels have. A function returns `None` for a kernel that does not have its constant.

use super::kernel_shape::{Buckets, KernelShape, SegmentClasses};
use super::ranked_tile::{Ballot, PassTile, RankedTile, Ranking};

impl KernelShape {
    /// Returns the tile of a pass that may look back.
    pub fn pass_tile(mut self) -> Option<PassTile> {
        self.pass_tile_mut().copied()
    }

    fn pass_tile_mut(&mut self) -> Option<&mut PassTile> {
        match self {
            Self::Onesweep { tile, .. } | Self::BucketSweep { tile, .. } => Some(tile),
            _ => None,
        }
    }

    /// Returns the tile of a kernel that ranks keys.
    pub fn ranked_tile(mut self) -> Option<RankedTile> {
        self.ranked_tile_mut().copied()
    }

    fn ranked_tile_mut(&mut self) -> Option<&mut RankedTile> {
        match self {
            Self::Onesweep { tile, .. } | Self::BucketSweep { tile, .. } => Some(&mut tile.ranked),
            Self::BucketTile { tile, .. }
            | Self::Downsweep { tile, .. }
            | Self::SingleTile { tile, .. }
            | Self::SegmentTile { tile, .. }
            | Self::TopK { tile, .. } => Some(tile),
            _ => None,
        }
    }

    /// Returns the ballots of a kernel that ranks with ballots, or marks with them where runs begin.
    pub fn ballot(&self) -> Option<Ballot> {
        match (self, self.ranked_tile()) {
            (&Self::Runs { ballot, .. }, _) => ballot,
            (_, Some(RankedTile { ranking: Ranking::Ballot(ballot), .. })) => Some(ballot),
            _ => None,
        }
    }

    /// Returns the keys per thread.
    pub fn keys(&self) -> Option<u32> {
        match *self {
            Self::Histogram { keys, .. }
            | Self::CountValues { keys, .. }
            | Self::PickCount { keys }
            | Self::MergeTile { keys, .. }
            | Self::Runs { keys, .. } => Some(keys),
            Self::SegmentNetwork { classes, .. } => Some(classes.network_keys),
            _ => self.ranked_tile().map(|tile| tile.keys),
        }
    }

    /// Returns the keys of a thread in a slice. A kernel that is no pass has one slice.
    pub fn slice_keys(&self) -> Option<u32> {
        self.pass_tile().map(PassTile::slice_keys).or(self.keys())
    }

    /// Returns whether loops over a thread's keys are unrolled.
    pub fn unrolled(mut self) -> Option<bool> {
        self.unrolled_mut().copied()
    }

    fn unrolled_mut(&mut self) -> Option<&mut bool> {
        match self {
            Self::SegmentNetwork { unrolled, .. } | Self::MergeTile { unrolled, .. } => Some(unrolled),
            _ => self.ranked_tile_mut().map(|tile| &mut tile.unrolled),
        }
    }

    /// Returns the words of a value that is moved with its key; 0 without values.
    pub fn value_words(&self) -> Option<u32> {
        match *self {
            Self::Onesweep { payload, .. } | Self::Downsweep { payload, .. } | Self::SingleTile { payload, .. } => {
                Some(payload.words())
            }
            Self::BucketTile { value_words, .. }
            | Self::BucketSweep { value_words, .. }
            | Self::SegmentNetwork { value_words, .. }
            | Self::SegmentTile { value_words, .. }
            | Self::MergeTile { value_words, .. } => Some(value_words),
            Self::BucketHistogram { copied, .. } => copied,
            _ => None,
        }
    }

    /// Returns the classes of segments.
    pub fn classes(&self) -> Option<SegmentClasses> {
        match *self {
            Self::Segments { classes, .. }
            | Self::SegmentNetwork { classes, .. }
            | Self::SegmentTile { classes, .. }
            | Self::LongSegments { classes, .. } => Some(classes),
            Self::BucketHistogram { buckets: Buckets::LongSegments(classes), .. }
            | Self::BucketSweep { buckets: Buckets::LongSegments(classes), .. } => Some(classes),
            _ => None,
        }
    }

    /// Returns this shape with loops that are not unrolled.
    #[must_use]
    pub fn rolled(mut self) -> Self {
        if let Some(unrolled) = self.unrolled_mut() {
            *unrolled = false;
        }
        self
    }

    /// Returns this shape without a count of usual digits.
    #[must_use]
    pub(crate) fn without_runs(mut self) -> Self {
        if let Some(tile) = self.pass_tile_mut() {
            tile.runs = false;
        }
        self
    }
}
