//! The shapes of the kernels of one sort.

use super::facts::Facts;
use super::fit::{fitted, held, no_wide_digits, selecting, sweep};
use super::kernel_shape::{Buckets, KernelShape};
use super::ranked_tile::{Ballot, RankedTile};
use super::request::{Algorithm, Request};
use super::segment_shapes::SegmentShapes;
use super::tuned::PassKind;
use super::tuning::{self, COUNTER_KEYS, GROUP, MOST_COLUMNS, SELECT_KEYS};
use super::variant::Variant;
use polysort_core::Error;

/// The shapes of the kernels of one sort.
pub(super) struct Shapes {
    pub(super) onesweep: Option<Variant>,
    pub(super) bucket_sweep: Option<Variant>,
    /// The kernel that sorts small buckets, and the most keys of one.
    pub(super) bucket_tile: Option<(Variant, u32)>,
    pub(super) segments: Option<SegmentShapes>,
    pub(super) downsweep: Variant,
    pub(super) single: Variant,
    /// The histogram without status words.
    pub(super) histogram: Variant,
    /// Keys that a thread of the histogram counts.
    pub(super) histogram_keys: u32,
    pub(super) count_values: Option<Variant>,
    /// The selection from the first level; `None` if one workgroup cannot select so many keys.
    pub(super) top: Option<Variant>,
    pub(super) runs: Option<Variant>,
    /// Threads of a workgroup of the kernels that rank no tile, if they need no other number.
    pub(super) group: u32,
}

impl Shapes {
    pub(super) fn new(request: &Request, radix_bits: u32, facts: &Facts) -> Result<Self, Error> {
        let kind = PassKind::new(request.key_words(), request.payload.words());
        // The passes sort keys of 8 and 16 bits as words of 32 bits.
        let (pass_bits, value_words, payload) = (32 * kind.key_words, kind.value_words, request.payload);
        let max = facts.alike(request.max);

        let pass = |shape, group| Variant { radix_bits, ..Variant::of(shape, pass_bits, group) };
        let onesweep = |partitions| move |group, tile| pass(KernelShape::Onesweep { tile, payload, partitions }, group);
        // These passes, and those in `bucket_tile`, are never the first one, so their values are never the indices of the keys.
        let buckets = Buckets::OfPartition { batch: request.keys_of_batch(facts.class) };
        let bucket_sweep = |group, tile| pass(KernelShape::BucketSweep { tile, value_words, buckets }, group);
        let is_hybrid = request.algorithm == Some(Algorithm::MsdHybrid);
        // All passes of the hybrid have the tile of bucket_sweep, which needs more memory.
        let tile = if is_hybrid {
            sweep(kind, radix_bits, max, facts, bucket_sweep)?
        } else {
            sweep(kind, radix_bits, max, facts, onesweep(false))?
        };
        let rolled = |variant| facts.rolled(request, variant);
        let onesweep = tile.map(|(group, tile)| rolled(onesweep(is_hybrid)(group, tile)));
        let bucket_sweep = tile.filter(|_| is_hybrid).map(|(group, tile)| rolled(bucket_sweep(group, tile)));

        let (counters_group, counters) = facts.counters();
        let downsweep = |tile| Variant::of(KernelShape::Downsweep { tile, payload }, pass_bits, counters_group);
        let downsweep = downsweep(fitted(COUNTER_KEYS, counters, facts, downsweep)?);

        let (single_group, single_tile) = held(kind, max, true, facts, |group, tile| single_of(request, group, tile))?;
        let most_small = single_group * single_tile.keys;
        let small_bucket = request.small_bucket.unwrap_or(most_small).min(most_small);
        let has_small = bucket_sweep.is_some() && single_tile.ranking != counters && small_bucket > 0;
        let bucket_tile = KernelShape::BucketTile { tile: single_tile, value_words, small_bucket };
        let bucket_tile = has_small.then(|| (Variant::of(bucket_tile, request.key_bits, single_group), small_bucket));

        let group = GROUP.min(facts.max_group);
        let histogram = |keys| Variant {
            radix_bits,
            ..Variant::of(KernelShape::Histogram { keys, status_tile: None }, request.key_bits, group)
        };
        let keys = tuning::histogram_keys(max);
        let most = if histogram(keys).packs_counts() { tuning::MAX_KEYS_IN_HALVES } else { u32::MAX };
        let histogram_keys = keys.min(most);
        let histogram = histogram(histogram_keys);
        if histogram.has_wide_digits() && histogram.workgroup_bytes() > facts.workgroup_bytes {
            return Err(no_wide_digits(facts));
        }
        let count_values = request.is_packed().then(|| counting(request, facts));
        let top = top_variant(request, facts)?;
        let single = single_of(request, single_group, single_tile);
        let single = if facts.rolls_single(request, most_small) { single.rolled() } else { single };
        let sorts_segments = request.segments.is_some() && request.top.is_none();
        let segments = sorts_segments.then(|| SegmentShapes::new(request, facts)).transpose()?;
        let runs = runs_variant(request, max, facts);
        Ok(Self {
            onesweep,
            bucket_sweep,
            bucket_tile,
            segments,
            downsweep,
            single,
            histogram,
            histogram_keys,
            count_values,
            top,
            runs,
            group,
        })
    }

    /// Returns the kernel of the passes of an algorithm, which has their tile.
    pub(super) fn pass(&self, algorithm: Algorithm) -> Variant {
        match (self.onesweep, self.count_values) {
            (_, Some(count_values)) if algorithm == Algorithm::Counting => count_values,
            (Some(onesweep), _) if algorithm.looks_back() => onesweep,
            _ => self.downsweep,
        }
    }

    /// Returns a kernel that ranks no tile, for words of 32 bits.
    pub(super) fn plain(&self, shape: KernelShape) -> Variant {
        Variant::of(shape, 32, self.group)
    }
}

/// Returns the single launch for up to `max` keys, or for as many keys as fit.
pub(super) fn single(request: &Request, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let kind = PassKind::new(request.key_words(), request.payload.words());
    let kernel = |group, tile| single_of(request, group, tile);
    held(kind, max, true, facts, kernel).map(|(group, tile)| kernel(group, tile))
}

fn single_of(request: &Request, group: u32, tile: RankedTile) -> Variant {
    Variant::of(KernelShape::SingleTile { tile, payload: request.payload }, request.key_bits, group)
}

/// Returns the kernel that counts whole keys. It has as many counters as fit workgroup memory, but no more than
/// it needs.
fn counting(request: &Request, facts: &Facts) -> Variant {
    let keys = tuning::HISTOGRAM_BATCH * (32 / request.key_bits).max(1);
    let kernel = |counters| Variant {
        radix_bits: request.key_bits,
        ..Variant::of(KernelShape::CountValues { keys, counters }, request.key_bits, tuning::COUNT_GROUP.min(facts.max_group))
    };
    let (fit, radix) = (facts.workgroup_bytes / 4, kernel(0).radix());
    kernel(if kernel(0).packs_counts() {
        // All spans have the same number of counters.
        (radix / 2).div_ceil((radix / 2).div_ceil(fit))
    } else {
        radix * (fit / radix).clamp(1, MOST_COLUMNS)
    })
}

/// Returns the kernel that selects the keys of a request. It has the smallest tile that the selected keys fit:
/// the less memory a workgroup takes, the more workgroups run at a time.
fn top_variant(request: &Request, facts: &Facts) -> Result<Option<Variant>, Error> {
    let Some(top) = request.top else { return Ok(None) };
    let most = facts.most_selected();
    if top.k > most {
        // From an array, all workgroups together select this many keys.
        if !top.segmented {
            return Ok(None);
        }
        return Err(Error::Unsupported {
            what: format!("a selection of {} keys of each segment; this device selects at most {most}", top.k),
        });
    }
    let (group, ranking) = selecting(request.algorithm, facts);
    let keys = top.k.div_ceil(group).next_power_of_two().min(SELECT_KEYS);
    let kernel = |tile| {
        let shape = KernelShape::TopK { tile, segmented: top.segmented, nested: false, aliased: request.aliased };
        Variant::of(shape, request.key_bits, group)
    };
    fitted(keys, ranking, facts, kernel).map(|tile| Some(kernel(tile)))
}

/// Returns the kernel that finds runs of up to `max` keys, if the request asks for them.
fn runs_variant(request: &Request, max: u64, facts: &Facts) -> Option<Variant> {
    let outputs = request.run_outputs()?;
    let (group, keys) = tuning::run_tile(request.key_words(), max, facts.unrolls());
    // A tile has whole words of marks.
    let group = if group > facts.max_group { GROUP } else { group };
    let subgroups = facts.subgroups.filter(|_| request.algorithm != Some(Algorithm::ReduceThenScan));
    let whole = subgroups.filter(|&(_, most)| group.is_multiple_of(most));
    let ballot = whole.map(|(least, most)| Ballot { rows: group / least, wide: most > 32 });
    let shape = KernelShape::Runs { keys, ballot, outputs, aliased: request.aliased };
    Some(Variant::of(shape, request.key_bits, group))
}
