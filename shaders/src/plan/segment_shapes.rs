//! The shapes of the kernels that sort segments.

use super::digit::MAX_KEYS;
use super::facts::Facts;
use super::fit::{fitted, held, sweep};
use super::request::{Algorithm, Payload, Request};
use super::tuning::{COUNTER_KEYS, NETWORK_GROUP};
use super::variant::Variant;
use crate::manifest::Kernel;
use polysort_core::Error;

/// The shapes of the kernels that sort segments.
pub(super) struct SegmentShapes {
    pub(super) network: Variant,
    pub(super) small: Variant,
    pub(super) sweep: Variant,
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
        let (key_words, value_words) = (request.key_words(), request.payload.words());
        // These kernels sort keys of 8 and 16 bits as words of 32 bits, and treat indices as values.
        let base = Variant { value_words, ..Variant::of(Kernel::SegmentNetwork, 32 * key_words) };
        let carries = value_words > 0 || request.has_partial_keys();
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
        // The largest tile, whatever the number of keys: a smaller one would be another kernel to compile and to test.
        let small = held(Variant { kernel: Kernel::SegmentTile, ..base }, MAX_KEYS, ballots, facts)?;
        let small_bucket = request.small_bucket.unwrap_or(small.tile).min(small.tile);
        let small = facts.rolled(request, Variant { small_bucket, network_keys, ..small });
        let network = facts.rolled(request, Variant { small_bucket, ..network });
        let shape = Variant { kernel: Kernel::BucketSweep, look_back: true, batch: 1, small_bucket, network_keys, ..base };
        let sweep = match sweep(shape, facts.alike(request.max), facts)?.filter(|_| ballots) {
            Some(sweep) => sweep,
            None => fitted(shape, counters.0, COUNTER_KEYS, counters.1, facts)?,
        };
        Ok(Self { network, small, sweep: facts.rolled(request, sweep) })
    }

    /// Keys of a tile of a long segment.
    pub(super) fn tile(&self) -> u32 {
        self.sweep.tile
    }

    /// The most keys of a segment that one workgroup sorts.
    pub(super) fn small_bucket(&self) -> u32 {
        self.small.small_bucket
    }

    /// The keys that a thread of the network has in registers.
    pub(super) fn network_keys(&self) -> u32 {
        self.network.network_keys
    }
}
