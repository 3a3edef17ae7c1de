//! The shapes of the kernels of one sort.

use super::facts::Facts;
use super::fit::{fitted, held, no_wide_digits, selecting, sweep};
use super::request::{Algorithm, Payload, Request};
use super::segment_shapes::SegmentShapes;
use super::tuning::{self, COPY_TILE, COUNTER_KEYS, GROUP, MOST_COLUMNS, SELECT_KEYS};
use super::variant::{Ranking, Variant};
use crate::manifest::Kernel;
use polysort_core::Error;

/// The shapes of the kernels of one sort.
pub(super) struct Shapes {
    pub(super) onesweep: Option<Variant>,
    pub(super) bucket_sweep: Option<Variant>,
    pub(super) bucket_tile: Option<Variant>,
    pub(super) segments: Option<SegmentShapes>,
    pub(super) downsweep: Variant,
    pub(super) single: Variant,
    pub(super) plain: Variant,
    pub(super) histogram: Variant,
    pub(super) count_values: Option<Variant>,
    pub(super) top: Variant,
    pub(super) runs: Option<Variant>,
}

impl Shapes {
    pub(super) fn new(request: &Request, radix_bits: u32, facts: &Facts) -> Result<Self, Error> {
        let (counters_group, counters) = facts.counters();
        let base = moving(Kernel::Begin, request);
        // The passes sort keys of 8 and 16 bits as words of 32 bits.
        let pass = Variant { key_bits: 32 * request.key_words(), ..base };
        let max = facts.alike(request.max);
        let pass_of = |kernel| {
            let shape = sweep(Variant { kernel, look_back: true, radix_bits, ..pass }, max, facts)?;
            Ok::<_, Error>(shape.map(|shape| facts.rolled(request, shape)))
        };
        let mut onesweep = pass_of(Kernel::Onesweep)?;
        let (mut bucket_sweep, mut bucket_tile) = (None, None);
        if request.algorithm == Some(Algorithm::MsdHybrid) {
            // All passes have the tile of bucket_sweep, which needs more memory. Its passes are never the first one, so
            // their values are never the indices of the keys.
            let shape = pass_of(Kernel::BucketSweep)?;
            onesweep = shape.map(|shape| Variant { kernel: Kernel::Onesweep, partitions: true, ..shape });
            bucket_sweep = shape.map(|shape| Variant { indexed: false, batch: request.keys_of_batch(facts.class), ..shape });
        }
        let downsweep = fitted(Variant { kernel: Kernel::Downsweep, ..pass }, counters_group, COUNTER_KEYS, counters, facts)?;
        let single = single(request, max, facts)?;
        if bucket_sweep.is_some() && single.ranking != Some(counters) {
            let small_bucket = request.small_bucket.unwrap_or(single.tile).min(single.tile);
            bucket_tile = Some(Variant { kernel: Kernel::BucketTile, indexed: false, small_bucket, ..single });
        }
        let plain = Variant { key_bits: 32, value_words: 0, indexed: false, group: GROUP.min(facts.max_group), ..base };
        let histogram =
            Variant { kernel: Kernel::Histogram, key_bits: request.key_bits, packed: request.is_packed(), radix_bits, ..plain };
        let most = if histogram.packs_counts() { tuning::MAX_KEYS_IN_HALVES } else { u32::MAX };
        let histogram = Variant { keys: tuning::histogram_keys(max).min(most), ..histogram };
        if histogram.has_wide_digits() && histogram.workgroup_bytes() > facts.workgroup_bytes {
            return Err(no_wide_digits(facts));
        }
        let values = Variant { kernel: Kernel::CountValues, radix_bits: request.key_bits, ..histogram };
        let count_values = request.is_packed().then(|| counting(values, facts));
        let top = top_shape(Variant { kernel: Kernel::TopK, value_words: 0, indexed: false, ..single }, request, facts)?;
        let single = Variant { unrolled: single.unrolled && !facts.rolls_single(request, single.tile), ..single };
        let sorts_segments = request.segments.is_some() && request.top.is_none();
        let segments = sorts_segments.then(|| SegmentShapes::new(request, facts)).transpose()?;
        let runs = request.runs.map(|_| runs_shape(request, max, facts));
        Ok(Self { onesweep, bucket_sweep, bucket_tile, segments, downsweep, single, plain, histogram, count_values, top, runs })
    }

    /// Keys of a tile of the passes.
    pub(super) fn pass_tile(&self, algorithm: Algorithm) -> u32 {
        match &self.onesweep {
            _ if algorithm == Algorithm::Counting => self.count_values.map_or(0, |shape| shape.tile),
            Some(onesweep) if algorithm.looks_back() => onesweep.tile,
            _ => self.downsweep.tile,
        }
    }

    /// Returns a kernel that copies.
    pub(super) fn copying(&self, kernel: Kernel) -> Variant {
        Variant { kernel, tile: COPY_TILE, ..self.plain }
    }
}

/// Returns the shape of the single launch for up to `max` keys, or for as many keys as fit.
pub(super) fn single(request: &Request, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let shape = Variant { packed: request.is_packed(), ..moving(Kernel::SingleTile, request) };
    held(shape, max, true, facts)
}

/// Returns the shape of the kernel that counts whole keys. It has as many counters as fit workgroup memory, but no more than
/// it needs.
fn counting(shape: Variant, facts: &Facts) -> Variant {
    let group = tuning::COUNT_GROUP.min(facts.max_group);
    let shape = Variant { group, keys: tuning::HISTOGRAM_BATCH * (32 / shape.key_bits).max(1), ..shape };
    let shape = Variant { tile: group * shape.keys, ..shape };
    let fit = facts.workgroup_bytes / 4;
    let counters = if shape.packs_counts() {
        // All spans have the same number of counters.
        (shape.radix() / 2).div_ceil((shape.radix() / 2).div_ceil(fit))
    } else {
        shape.radix() * (fit / shape.radix()).clamp(1, MOST_COLUMNS)
    };
    Variant { counters, ..shape }
}

/// Returns the shape of the kernel that selects the keys of a request. It has the smallest tile that the selected keys fit:
/// the less memory a workgroup takes, the more workgroups run at a time.
fn top_shape(shape: Variant, request: &Request, facts: &Facts) -> Result<Variant, Error> {
    let Some(top) = request.top else { return Ok(shape) };
    let most = facts.most_selected();
    if top.k > most {
        // From an array, all workgroups together select this many keys.
        if !top.segmented {
            return Ok(Variant { tile: 0, ..shape });
        }
        return Err(Error::Unsupported {
            what: format!("a selection of {} keys of each segment; this device selects at most {most}", top.k),
        });
    }
    let (group, ranking) = selecting(request.algorithm, facts);
    let keys = top.k.div_ceil(group).next_power_of_two().min(SELECT_KEYS);
    fitted(Variant { segmented: top.segmented, aliased: request.aliased, ..shape }, group, keys, ranking, facts)
}

/// Returns the shape of the kernel that finds runs of up to `max` keys.
fn runs_shape(request: &Request, max: u64, facts: &Facts) -> Variant {
    let (group, keys) = tuning::run_tile(request.key_words(), max, facts.unrolls());
    // A tile has whole words of marks.
    let group = if group > facts.max_group { GROUP } else { group };
    let subgroups = facts.subgroups.filter(|_| request.algorithm != Some(Algorithm::ReduceThenScan));
    let whole = subgroups.filter(|&(_, most)| group.is_multiple_of(most));
    let ranking = whole.map(|(least, most)| Ranking::Ballot { rows: group / least, wide: most > 32 });
    let shape = Variant { group, keys, tile: group * keys, ranking, ..Variant::of(Kernel::Runs, request.key_bits) };
    Variant { packed: request.is_packed(), aliased: request.aliased, outputs: request.run_outputs(), ..shape }
}

/// Returns a kernel that moves the keys and values of a request.
fn moving(kernel: Kernel, request: &Request) -> Variant {
    let (value_words, indexed) = (request.payload.words(), request.payload == Payload::Indices);
    Variant { value_words, indexed, ..Variant::of(kernel, request.key_bits) }
}
