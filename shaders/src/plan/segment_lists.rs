//! The lists of segments by their lengths.

use super::sort_plan::SortPlan;
use super::tuning::NETWORK_GROUP;

/// The lists of segments, and their layout in [`Buffer::Lists`](super::Buffer::Lists).
///
/// A class is a range of lengths. Teams of 1, 2, 4, … threads of the network sort the first classes. The next class is
/// that of segments that fit a workgroup, the last one that of longer segments. An entry of a list is the index of the
/// segment's first key and its number of keys. After all lists, there is a word for each long segment: its first tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLists {
    /// The most keys of a segment that a thread of the network has in registers.
    pub network_keys: u32,
    /// The most keys of a segment that one workgroup sorts digit by digit. If the network sorts longer segments, the class
    /// [`SMALL`](SegmentLists::SMALL) is empty.
    pub small: u32,
    /// The largest number of keys, and of segments.
    pub max: (u32, u32),
}

impl SegmentLists {
    /// Number of classes that the network sorts.
    pub const NETWORKS: u32 = NETWORK_GROUP.ilog2() + 1;

    /// The class of segments that one workgroup sorts digit by digit.
    pub const SMALL: u32 = Self::NETWORKS;

    /// The class of longer segments.
    pub const LONG: u32 = Self::NETWORKS + 1;

    /// Number of classes.
    pub const CLASSES: u32 = Self::NETWORKS + 2;

    /// An upper bound of the bytes of all lists for one segment.
    pub(super) const MOST_BYTES: u64 = 8 * Self::CLASSES as u64 + 4;

    /// Returns the most keys of a segment that the network sorts.
    pub fn network(&self) -> u32 {
        self.network_keys * NETWORK_GROUP
    }

    /// Returns the fewest keys of a segment of a class.
    fn least_keys(&self, class: u32) -> u32 {
        match class {
            0 => 2,
            Self::LONG => self.small.max(self.network()) + 1,
            class => (self.network_keys << (class - 1)) + 1,
        }
    }

    /// Returns the most segments of a class.
    pub fn capacity(&self, class: u32) -> u32 {
        (self.max.0 / self.least_keys(class)).min(self.max.1)
    }

    /// Bytes of all lists.
    pub(super) fn bytes(&self) -> u64 {
        let words: u64 = (0..Self::CLASSES).map(|class| 2 * u64::from(self.capacity(class))).sum();
        4 * (words + u64::from(self.capacity(Self::LONG))).max(1)
    }
}

impl SortPlan {
    /// Returns the lists of segments, if the request has segments.
    pub fn segment_lists(&self) -> Option<SegmentLists> {
        let segments = self.request.segments.filter(|_| self.request.top.is_none())?;
        let max = (self.request.max as u32, segments.max);
        Some(SegmentLists { network_keys: self.network_keys, small: self.small_bucket, max })
    }
}
