//! Segments: each is sorted by itself, in place, by kernels that suit its length. The device finds out the lengths.
//!
//! ```text
//! segments          ├┼─┼──┼┼────┼─┼──────────────┼─┼─…    each segment goes to the list of its class
//! segment_network   2 … NETWORK_GROUP × NETWORK_KEYS      a team of threads sorts a segment, with a bitonic network
//! segment_tile      … to what a workgroup can hold        a workgroup sorts a segment, digit by digit
//! long_segments     longer ones                           are cut into tiles
//! bucket_histogram                                        all digits of the long segments, segment by segment,
//! bucket_sweep                                            and a pass for each digit, as over the buckets of the hybrid
//! ```
//!
//! The passes over long segments end where the keys are. For an even number of passes, the first one reads the keys
//! there. For an odd number, it reads the scratch: the histogram, which reads all keys anyway, has copied them there.

use super::command::{Buffer, Builder, COUNT_DIGITS, Groups, Number, When, count_digit, each};
use super::shape::{Kernel, Variant, fitted, held, sweep};
use super::tuning::{COPY_TILE, COUNTER_KEYS, GROUP, LIST_GROUPS, NETWORK_GROUP, NETWORK_GROUPS, SWEEP_GROUPS};
use super::{Algorithm, Facts, Payload, Place, RADIX, RADIX_BITS, Request, SortPlan, hybrid};
use polysort_core::Error;

/// Segments to sort, each by itself. In such a request, counts are numbers of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segmented {
    /// The largest number of segments.
    pub max: u32,
    /// Where the begins of the segments start.
    pub begins: Place,
    /// Where the ends of the segments start.
    pub ends: Place,
}

/// The lists of segments, and their layout in [`Buffer::Lists`].
///
/// A class is a range of lengths. The first classes are sorted by the network, by teams of 1, 2, 4, … threads; then
/// come the segments that a workgroup holds, then longer ones. An entry of a list is the segment's first key and its
/// number of keys. Behind all lists, there is a word for each long segment: its first tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLists {
    /// The most keys of a segment that a thread of the network holds.
    pub network_keys: u32,
    /// The most keys of a segment that one workgroup sorts digit by digit. If the network sorts longer ones, that class
    /// is empty.
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

    /// The most keys of a segment that the network sorts.
    pub fn network(&self) -> u32 {
        self.network_keys * NETWORK_GROUP
    }

    /// The fewest keys of a segment of a class.
    fn least_keys(&self, class: u32) -> u32 {
        match class {
            0 => 2,
            Self::LONG => self.small.max(self.network()) + 1,
            class => (self.network_keys << (class - 1)) + 1,
        }
    }

    /// The most segments of a class.
    pub fn capacity(&self, class: u32) -> u32 {
        (self.max.0 / self.least_keys(class)).min(self.max.1)
    }

    /// Bytes of all lists.
    fn bytes(&self) -> u64 {
        let words: u64 = (0..Self::CLASSES).map(|class| 2 * u64::from(self.capacity(class))).sum();
        4 * (words + u64::from(self.capacity(Self::LONG))).max(1)
    }
}

/// The shapes of the kernels that sort segments.
pub(super) struct SegmentShapes {
    network: Variant,
    small: Variant,
    sweep: Variant,
}

impl SegmentShapes {
    pub(super) fn new(request: &Request, facts: &Facts) -> Result<Self, Error> {
        let (key_words, value_words) = (request.key_words(), request.payload.words());
        // To these kernels, a shorter key is a word like any other, and indices are values.
        let base = Variant { value_words, ..Variant::of(Kernel::SegmentNetwork, 32 * key_words) };
        // Equal keys are identical if the order goes by all of their bits and no value moves with them.
        let carries = value_words > 0 || request.spec.width() < request.key_bits;
        let network_keys = if key_words + u32::from(carries) > 3 { 4 } else { 8 };
        let network = Variant {
            group: NETWORK_GROUP,
            keys: network_keys,
            unrolled: facts.unrolls(),
            indexed: carries,
            network_keys,
            ..base
        };
        let ballots = request.algorithm != Some(Algorithm::ReduceThenScan);
        let counters = facts.counters();
        let max = facts.alike(request.max);
        let small = held(Variant { kernel: Kernel::SegmentTile, ..base }, max, ballots, facts)?;
        let small_bucket = request.small_bucket.unwrap_or(small.tile).min(small.tile);
        let small = Variant { small_bucket, network_keys, ..small };
        let network = Variant { small_bucket, ..network };
        let shape = Variant { kernel: Kernel::BucketSweep, look_back: true, batch: 1, small_bucket, network_keys, ..base };
        let sweep = match sweep(shape, max, facts)?.filter(|_| ballots) {
            Some(sweep) => sweep,
            None => fitted(shape, counters.0, COUNTER_KEYS, counters.1, facts)?,
        };
        Ok(Self { network, small, sweep })
    }

    /// Keys of a tile of a long segment.
    pub(super) fn tile(&self) -> u32 {
        self.sweep.tile
    }

    /// The most keys of a segment that one workgroup sorts.
    pub(super) fn small_bucket(&self) -> u32 {
        self.small.small_bucket
    }

    /// The keys that a thread of the network holds.
    pub(super) fn network_keys(&self) -> u32 {
        self.network.network_keys
    }
}

impl SortPlan {
    /// The lists of segments, if the request has segments.
    pub fn segment_lists(&self) -> Option<SegmentLists> {
        let segments = self.request.segments?;
        let max = (self.request.max as u32, segments.max);
        Some(SegmentLists { network_keys: self.network_keys, small: self.small_bucket, max })
    }

    /// The layout of [`Buffer::Buckets`] for segments. Long segments are the buckets, with all of their digits, and
    /// there is one batch.
    pub(super) fn segment_table(&self, lists: SegmentLists) -> hybrid::BucketTable {
        let lower_digits = self.request.key_words() * 32 / RADIX_BITS;
        let first_batch = lists.capacity(SegmentLists::LONG) * lower_digits * RADIX;
        let first_tile = first_batch + 2 * hybrid::BATCH_WORDS;
        let words = u64::from(first_tile) + u64::from(hybrid::TILE_WORDS) * self.bucket_tiles();
        hybrid::BucketTable { lower_digits, batches: 1, first_batch, first_tile, words }
    }
}

impl Builder<'_> {
    /// Adds the commands of a sort of segments.
    pub(super) fn segments(&mut self) {
        let (plan, request) = (self.plan, self.plan.request);
        let packed = request.is_packed();
        let indexed = request.payload == Payload::Indices;
        // Copies are of the largest number of keys, whatever the number of segments.
        self.begin_with([0, 1, 2].map(|digit| Number::Is(count_digit(request.max as u32, digit))));
        self.move_in();
        if packed {
            let bindings = [Buffer::Sort, Buffer::State, Buffer::Keys, Buffer::Spare];
            self.push(self.packed(Kernel::Widen), bindings, [], each(1, COPY_TILE));
        }
        if indexed {
            if !packed && !plan.keys_move() {
                self.copy(When::Always, request.key_words(), (Buffer::Keys, request.keys.first), (Buffer::Spare, 0));
            }
            let identity = self.shapes.copying(Kernel::Identity);
            self.push(identity, [Buffer::Sort, Buffer::State, self.values_home], [], each(1, COPY_TILE));
        }
        if !plan.digits.is_empty() {
            self.sort_segments();
        }
        if packed && !indexed {
            // The state counts no passes. That is an even number, so that narrow reads the spare buffer.
            let bindings = [Buffer::Sort, Buffer::State, Buffer::Spare, Buffer::Scratch, Buffer::Keys];
            self.push(self.packed(Kernel::Narrow), bindings, [], self.words_of_keys());
        } else if plan.keys_move() && !indexed {
            self.copy(When::Always, request.key_words(), (Buffer::Spare, 0), (Buffer::Keys, request.keys.first));
        }
        if plan.values_move() {
            let to = (Buffer::Values, request.values.first);
            self.copy(When::Always, request.payload.words(), (Buffer::ValuesSpare, 0), to);
        }
    }

    fn sort_segments(&mut self) {
        let (plan, request) = (self.plan, self.plan.request);
        let (Some(of), Some(lists), Some(segments)) = (&self.shapes.segments, plan.segment_lists(), request.segments) else {
            return;
        };
        let home = self.home;
        let plain = Variant {
            key_bits: of.sweep.key_bits,
            tile: of.tile(),
            batch: 1,
            small_bucket: of.small_bucket(),
            network_keys: of.network_keys(),
            ..self.shapes.plain
        };
        let groups = |work: u64, most: u32| Groups::Fixed(work.clamp(1, most.into()) as u32);

        let numbers = COUNT_DIGITS.into_iter().chain([segments.begins, segments.ends].map(|place| Number::Is(place.first)));
        let mut bindings = vec![Buffer::Number; 5];
        bindings.extend([Buffer::Sort, Buffer::Count, Buffer::State, Buffer::Begins, Buffer::Ends, Buffer::Lists]);
        let listing = Variant { kernel: Kernel::Segments, ..plain };
        self.push(listing, bindings, numbers, groups(u64::from(segments.max).div_ceil(GROUP.into()), LIST_GROUPS));

        let own = |values: &[Buffer]| [&[Buffer::Sort, Buffer::State, Buffer::Lists, home], values].concat();
        let values: &[Buffer] = if request.payload == Payload::None { &[] } else { &[self.values_home] };
        // A workgroup of the network sorts as many segments at a time as it has teams, all of one class.
        let units: u64 = (0..SegmentLists::NETWORKS)
            .map(|class| u64::from(lists.capacity(class)).div_ceil(u64::from(NETWORK_GROUP >> class)))
            .sum();
        self.push(of.network, own(values), [], groups(units, NETWORK_GROUPS));
        if request.max <= lists.network().into() {
            return;
        }
        if lists.small > lists.network() {
            self.push(of.small, own(values), [], groups(lists.capacity(SegmentLists::SMALL).into(), SWEEP_GROUPS));
        }
        if request.max <= lists.small.into() {
            return;
        }
        let long = Variant { kernel: Kernel::LongSegments, ..plain };
        let bindings = [Buffer::Sort, Buffer::State, Buffer::Lists, Buffer::Buckets];
        self.push(long, bindings, [], groups(lists.capacity(SegmentLists::LONG).into(), SWEEP_GROUPS));
        let digits = plan.digits.len() as u32;
        // Odd passes read the scratch.
        let first = 2 - digits % 2;
        let tiles = groups(plan.bucket_tiles(), SWEEP_GROUPS);
        let histogram = Variant { kernel: Kernel::BucketHistogram, value_words: 0, ..plain };
        let mut bindings = vec![Buffer::Number, Buffer::Sort, Buffer::State, Buffer::Buckets, self.status(first)[0], home];
        let copies = digits % 2 == 1;
        if copies {
            bindings.push(Buffer::Scratch);
            // The copies go where pass 0 would write.
            bindings.extend(self.values(0));
        }
        let value_words = if copies { request.payload.words() } else { 0 };
        self.push(Variant { value_words, copies, ..histogram }, bindings, [Number::Is(0)], tiles);
        for slot in first..first + digits {
            let mut bindings = vec![Buffer::Number, Buffer::Number, Buffer::Sort, Buffer::State, Buffer::Buckets];
            bindings.extend(self.status(slot));
            bindings.extend(self.keys(slot));
            bindings.extend(self.values(slot));
            self.push(of.sweep, bindings, [slot, 0].map(Number::Is), tiles);
        }
    }

    /// Bytes of the lists.
    pub(super) fn list_bytes(&self) -> u64 {
        self.plan.segment_lists().map_or(0, |lists| lists.bytes())
    }
}
