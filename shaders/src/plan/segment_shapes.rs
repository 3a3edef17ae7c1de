//! The shapes of the kernels that sort segments.

use super::digit::{MAX_KEYS, RADIX_BITS};
use super::facts::Facts;
use super::fit::{fitted, held, sweep};
use super::kernel_shape::{Buckets, KernelShape, SegmentClasses};
use super::ranked_tile::PassTile;
use super::request::{Algorithm, Payload, Request};
use super::tuned::PassKind;
use super::tuning::{COUNTER_KEYS, NETWORK_GROUP};
use super::variant::Variant;
use polysort_core::Error;

/// The shapes of the kernels that sort segments.
pub(super) struct SegmentShapes {
    pub(super) network: Variant,
    pub(super) small: Variant,
    pub(super) sweep: Variant,
    /// Keys of a tile of a long segment.
    pub(super) tile: u32,
    pub(super) classes: SegmentClasses,
}

impl Request {
    /// Returns whether this request sorts segments of keys without values, and compares only some of the keys' bits. Keys that are equal in these bits can
    /// differ, so the network keeps their order. Otherwise equal keys without values are identical.
    pub fn has_partial_keys(&self) -> bool {
        let sorts_keys = self.segments.is_some() && self.top.is_none() && self.payload == Payload::None;
        sorts_keys && self.spec.width() < self.key_bits
    }
}

impl SegmentShapes {
    pub(super) fn new(request: &Request, facts: &Facts) -> Result<Self, Error> {
        let kind = PassKind::new(request.key_words(), request.payload.words());
        // These kernels sort keys of 8 and 16 bits as words of 32 bits, and treat indices as values.
        let (key_bits, value_words) = (32 * kind.key_words, kind.value_words);
        let carries = value_words > 0 || request.has_partial_keys();
        let network_keys = if kind.key_words + u32::from(carries) > 3 { 4 } else { 8 };
        let ballots = request.algorithm != Some(Algorithm::ReduceThenScan);

        let small = |small| {
            move |group, tile| {
                let classes = SegmentClasses { small, network_keys };
                Variant::of(KernelShape::SegmentTile { tile, value_words, classes }, key_bits, group)
            }
        };
        // The largest tile, whatever the number of keys: a smaller one would be another kernel to compile and to test. The memory that it takes does not depend
        // on the classes.
        let (group, tile) = held(kind, MAX_KEYS, ballots, facts, small(0))?;
        let most = group * tile.keys;
        let classes = SegmentClasses { small: request.small_bucket.unwrap_or(most).min(most), network_keys };
        let small = small(classes.small)(group, tile);

        let network = KernelShape::SegmentNetwork { classes, value_words, carries, unrolled: facts.unrolls() };
        let network = Variant::of(network, key_bits, NETWORK_GROUP);

        let pass = |group, tile| {
            let buckets = Buckets::LongSegments(classes);
            Variant::of(KernelShape::BucketSweep { tile, value_words, buckets }, key_bits, group)
        };
        let (group, tile) = match sweep(kind, RADIX_BITS, facts.alike(request.max), facts, pass)?.filter(|_| ballots) {
            Some(sweep) => sweep,
            None => {
                let (group, counters) = facts.counters();
                let tile = |ranked| PassTile { ranked, slices: 1, runs: false };
                (group, tile(fitted(COUNTER_KEYS, counters, facts, |ranked| pass(group, tile(ranked)))?))
            }
        };
        let [network, small, sweep] = [network, small, pass(group, tile)].map(|variant| facts.rolled(request, variant));
        Ok(Self { network, small, sweep, tile: group * tile.ranked.keys, classes })
    }
}
