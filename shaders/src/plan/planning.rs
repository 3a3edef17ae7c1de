//! From a request and the facts of a device to a plan.

use super::architecture::Source;
use super::builder::Builder;
use super::command::Buffer;
use super::digit::{MAX_KEYS, RADIX_BITS, WIDE_RADIX_BITS, digits};
use super::facts::Facts;
use super::request::{Algorithm, Payload, Request};
use super::segment_lists::SegmentLists;
use super::shapes::Shapes;
use super::sort_plan::SortPlan;
use super::tuned::PassKind;
use super::tuning;
use polysort_core::Error;

impl SortPlan {
    /// Plans `request` for a device.
    ///
    /// # Errors
    /// - [`Error::InvalidRange`] or [`Error::Unsupported`] if the spec does not suit the keys.
    /// - [`Error::TooLong`] if the keys do not fit a binding.
    /// - [`Error::Unsupported`] if the algorithm does not support the device or the request, or if the device's workgroups are
    ///   too small.
    pub fn new(request: Request, facts: &Facts) -> Result<Self, Error> {
        check_request(&request)?;
        facts.check()?;
        let limits = facts.limits(request.payload.words());
        limits.check("the device", request.max as usize, request.unit_bytes())?;
        request.check_runs(facts.max_binding)?;
        request.check_selected(facts.max_binding)?;
        request.check_wide_indices(facts.max_binding)?;
        let algorithm = algorithm(&request, facts)?;
        // A selection always has digits of eight bits.
        let is_wide = algorithm == Algorithm::WideDigits && request.top.is_none();
        let digit_bits = if is_wide { WIDE_RADIX_BITS } else { RADIX_BITS };
        let shapes = Shapes::new(&request, digit_bits, facts)?;
        // A counting sort has counters for whole keys, but sorts a single tile by digits.
        let radix_bits = if algorithm == Algorithm::Counting { request.key_bits } else { digit_bits };
        let (masks, window) = request.widened();
        let digits = digits(window.0, window.1, digit_bits);
        let single_tile = shapes.single.tile().filter(|_| request.algorithm.is_none() && request.is_of_all_keys()).unwrap_or(0);
        let mut plan = Self {
            request,
            algorithm,
            radix_bits,
            digits,
            masks,
            window,
            tile: match &shapes.segments {
                Some(of) => of.tile,
                None => shapes.runs.unwrap_or_else(|| shapes.pass(algorithm)).tile().unwrap_or(0),
            },
            batch: shapes.bucket_sweep.map_or(0, |_| request.keys_of_batch(facts.class)),
            small_bucket: match &shapes.segments {
                Some(of) => of.classes.small,
                None => shapes.bucket_tile.map_or(0, |(_, most)| most),
            },
            network_keys: shapes.segments.as_ref().map_or(0, |of| of.classes.network_keys),
            single_tile,
            sources: sources(&request, algorithm, single_tile, facts),
            scratch: vec![],
            long: vec![],
            short: vec![],
            then: None,
        };
        // If a tile has few keys, its status words can take more bytes than its keys.
        if is_wide && plan.status_bytes() > facts.max_binding {
            let limit = (facts.max_binding >> (2 + radix_bits)) * u64::from(plan.tile);
            return Err(Error::TooLong { what: "the device".into(), asked: request.max, limit });
        }
        let mut builder = Builder::new(&plan, &shapes);
        match (request.top, request.runs, request.gather) {
            (Some(top), ..) if shapes.picks(top) => builder.pick(),
            (Some(top), ..) => builder.top(top),
            (None, Some(runs), _) => builder.runs(runs),
            (None, None, Some(gather)) => builder.gather(gather),
            (None, None, None) if request.segments.is_some() => builder.segments(),
            (None, None, None) => builder.long(),
        }
        builder.widen_indices();
        let (long, scratch) = builder.finish();
        let too_large = |&(_, bytes): &(Buffer, u64)| bytes > facts.max_binding;
        if let Some(segments) = request.segments.filter(|_| scratch.iter().any(too_large)) {
            let (what, asked) = ("the device, as a number of segments".into(), segments.max.into());
            return Err(Error::TooLong { what, asked, limit: facts.max_binding / SegmentLists::MOST_BYTES });
        }
        let short = if plan.single_tile > 0 { Builder::new(&plan, &shapes).short() } else { vec![] };
        (plan.long, plan.scratch, plan.short) = (long, scratch, short);
        if request.top.is_some_and(|top| shapes.picks(top)) {
            plan.sort_picked(facts)?;
        }
        facts.check_commands(plan.all_commands())?;
        Ok(plan)
    }
}

/// Returns the tuned numbers that a plan depends on, and where they come from.
fn sources(request: &Request, algorithm: Algorithm, single_tile: u32, facts: &Facts) -> Vec<(&'static str, Source)> {
    let row = facts.class.architecture();
    let kind = PassKind::new(request.key_words(), request.payload.words());
    let passes = if facts.tuned.shape(kind).is_some() { Source::ThisDevice } else { row.passes.source };
    let is_batched = algorithm == Algorithm::MsdHybrid && request.batch.is_none();
    let has_passes = request.top.is_none()
        && request.runs.is_none()
        && request.gather.is_none()
        && (request.segments.is_some() || matches!(algorithm, Algorithm::OneSweep | Algorithm::MsdHybrid));
    let counts = request.top.is_none() && request.key_bits == 16 && algorithm == Algorithm::Counting;
    let rolls = has_passes && facts.rolls(request) || single_tile > 0 && facts.rolls_single(request, single_tile);
    let mut sources = vec![];
    sources.extend(has_passes.then_some(("passes", passes)));
    sources.extend(is_batched.then_some(("batches", row.batch_bytes.source)));
    sources.extend(counts.then_some(("counting", row.count_16.source)));
    sources.extend(rolls.then_some(("loops that are not unrolled", row.rolls.source)));
    sources.push(("other numbers", row.others));
    sources
}

pub(super) fn check_request(request: &Request) -> Result<(), Error> {
    match request.key_bits {
        8 => request.spec.check::<u8>(),
        16 => request.spec.check::<u16>(),
        32 => request.spec.check::<u32>(),
        64 => request.spec.check::<u64>(),
        128 => request.spec.check::<u128>(),
        bits => Err(Error::Unsupported { what: format!("keys of {bits} bits; a key has 8, 16, 32, 64 or 128") }),
    }?;
    let segments = request.segments.map_or(0, |segments| segments.max.into());
    if segments > MAX_KEYS {
        return Err(Error::TooLong { what: "a sort, as a number of segments".into(), asked: segments, limit: MAX_KEYS });
    }
    match request.payload {
        Payload::Words(words) if !(1..=4).contains(&words) => {
            Err(Error::Unsupported { what: format!("values of {words} words of 32 bits; a value has 1 to 4") })
        }
        _ if request.segments.is_some() && request.top.is_some_and(|top| !top.segmented) => {
            Err(Error::Unsupported { what: "a selection from all keys in segments; select from each segment".into() })
        }
        _ if request.has_two_tasks() => {
            Err(Error::Unsupported { what: "a search for runs, or a gather, that is something else too".into() })
        }
        payload if request.top.is_some_and(|top| top.k == 0 || payload != Payload::Indices) => {
            Err(Error::Unsupported { what: format!("a selection {:?} with payload {payload:?}", request.top) })
        }
        _ => request.check_gather(),
    }
}

fn algorithm(request: &Request, facts: &Facts) -> Result<Algorithm, Error> {
    let is_due = request.key_bits == 8 || facts.count_16().is_some_and(|least| request.max >= least);
    let counts = Algorithm::Counting.sorts(request) && is_due;
    let sweeps = facts.ballot(tuning::GROUP).is_some();
    match request.algorithm {
        None if counts => Ok(Algorithm::Counting),
        None if sweeps => Ok(Algorithm::OneSweep),
        None => Ok(Algorithm::ReduceThenScan),
        Some(wanted) if !wanted.sorts(request) => {
            let Request { key_bits, payload, .. } = request;
            Err(Error::Unsupported {
                what: format!("{wanted:?} of keys of {key_bits} bits with payload {payload:?} and this window"),
            })
        }
        Some(wanted @ (Algorithm::OneSweep | Algorithm::MsdHybrid)) if !sweeps => {
            Err(Error::Unsupported { what: format!("{wanted:?} on a device without subgroups of a suitable size") })
        }
        Some(wanted) => Ok(wanted),
    }
}
