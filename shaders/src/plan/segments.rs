//! Sorts of segments, in place, with kernels that suit the length of each. The device reads the lengths.
//!
//! ```text
//! segments          ├┼─┼──┼┼────┼─┼──────────────┼─┼─…    adds each segment to the list of its class
//! segment_network   2 … NETWORK_GROUP × NETWORK_KEYS      a team of threads sorts a segment, with a bitonic network
//! segment_tile      … to the keys that fit a workgroup    a workgroup sorts a segment, digit by digit
//! long_segments     longer ones                           cuts them into tiles
//! bucket_histogram                                        counts all digits of the long segments, segment by segment
//! bucket_sweep                                            a pass for each digit, as over the buckets of the hybrid
//! ```
//!
//! The last pass over long segments writes to the buffer of the keys. If the number of passes is even, the first pass
//! reads the keys from that buffer. If it is odd, the first pass reads the scratch: the histogram, which reads all keys
//! anyway, has copied them to the scratch.

use super::builder::Builder;
use super::command::{Buffer, COUNT_DIGITS, Groups, Number, When, each, fixed_digits};
use super::kernel_shape::{Buckets, KernelShape};
use super::request::Payload;
use super::segment_lists::SegmentLists;
use super::tuning::{COPY_TILE, GROUP, LIST_GROUPS, NETWORK_GROUP, NETWORK_GROUPS, SWEEP_GROUPS};
use super::variant::Variant;

impl Builder<'_> {
    /// Adds the commands of a sort of segments.
    pub(super) fn segments(&mut self) {
        let (plan, request) = (self.plan, self.plan.request);
        let packed = request.is_packed();
        let indexed = request.payload == Payload::Indices;
        // The copies have the largest number of keys, since the number of keys in all segments is not known.
        self.begin_with(fixed_digits(request.max as u32));
        self.move_in();
        if packed {
            let bindings = [Buffer::Sort, Buffer::State, Buffer::Keys, Buffer::Spare];
            self.push(self.packed(KernelShape::Widen), bindings, [], each(1, COPY_TILE));
        }
        if indexed {
            if !packed && !plan.keys_move() {
                self.copy(When::Always, request.key_words(), (Buffer::Keys, request.keys.first), (Buffer::Spare, 0));
            }
            let identity = self.shapes.plain(KernelShape::Identity);
            self.push(identity, [Buffer::Sort, Buffer::State, self.values_home], [], each(1, COPY_TILE));
        }
        if !plan.digits.is_empty() {
            self.sort_segments();
        }
        if packed && !indexed {
            // The state has a pass count of 0, which is even, so `narrow` reads the spare buffer.
            let bindings = [Buffer::Sort, Buffer::State, Buffer::Spare, Buffer::Scratch, Buffer::Keys];
            self.push(self.packed(KernelShape::Narrow), bindings, [], self.words_of_keys());
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
        let (tile, classes) = (of.tile, of.classes);
        let on_keys = |shape| Variant::of(shape, 32 * request.key_words(), self.shapes.group);
        let groups = |work: u64, most: u32| Groups::Fixed(work.clamp(1, most.into()) as u32);

        let numbers = COUNT_DIGITS.into_iter().chain([segments.begins, segments.ends].map(|place| Number::Is(place.first)));
        let mut bindings = vec![Buffer::Number; 5];
        bindings.extend([Buffer::Sort, Buffer::Count, Buffer::State, Buffer::Begins, Buffer::Ends, Buffer::Lists]);
        let listing = on_keys(KernelShape::Segments { tile, classes });
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
        let long = on_keys(KernelShape::LongSegments { tile, classes });
        let bindings = [Buffer::Sort, Buffer::State, Buffer::Lists, Buffer::Buckets];
        self.push(long, bindings, [], groups(lists.capacity(SegmentLists::LONG).into(), SWEEP_GROUPS));
        let digits = plan.digits.len() as u32;
        // Odd passes read the scratch.
        let first = 2 - digits % 2;
        let tiles = groups(plan.bucket_tiles(), SWEEP_GROUPS);
        let mut bindings = vec![Buffer::Number, Buffer::Sort, Buffer::State, Buffer::Buckets, self.status(first)[0], home];
        let copies = digits % 2 == 1;
        if copies {
            bindings.push(Buffer::Scratch);
            // The histogram copies to the buffers that pass 0 would write.
            bindings.extend(self.values(0));
        }
        let (buckets, copied) = (Buckets::LongSegments(classes), copies.then(|| request.payload.words()));
        let histogram = on_keys(KernelShape::BucketHistogram { buckets, copied });
        self.push(histogram, bindings, [Number::Is(0)], tiles);
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
