//! Plans sorts of more keys than one sort takes: portions, and merges of neighbors.
//!
//! ```text
//! keys     ├─ sorted ─┼─ sorted ─┼─ sorted ─┼─ sorted ─┤    portions, in place, one after the other
//! scratch  ├────── merged ───────┼────── merged ───────┤    first round
//! keys     ├───────────────── merged ──────────────────┤    second round
//! ```
//!
//! Each round merges pairs of runs from one of the two arrays to the other. A run without a partner is copied. After an odd
//! number of rounds, the keys are copied back.
//!
//! The arrays may have pages ([`Request::page`]). Then no portion, and no part of a run that is bound, lies in two pages.

use super::command::Buffer;
use super::facts::Facts;
use super::merge::{MAX_MERGED, MergePlan, MergeRequest, SortedRun};
use super::request::{Algorithm, Payload, Place, Request};
use super::sort_plan::SortPlan;
use core::fmt::{self, Display, Formatter};
use polysort_core::Error;

/// A sort of a portion, in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    /// The keys before the portion.
    pub start: u64,
    /// The plan of the sort.
    pub plan: SortPlan,
}

/// A merge of two neighboring runs into the other array, or a copy of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortionMerge {
    /// The keys before the first run.
    pub start: u64,
    /// Whether the runs lie in the scratch, and the merge writes the caller's buffers; else the other way round.
    pub from_scratch: bool,
    /// The plan of the merge.
    pub plan: MergePlan,
}

impl PortionMerge {
    /// Returns the array in which `buffer`, a buffer of the merge, lies, and the number of its bytes before it. The arrays are
    /// the caller's [`Buffer::Keys`] and [`Buffer::Values`], and the scratch [`Buffer::MergedKeys`] and
    /// [`Buffer::MergedValues`].
    pub fn array(&self, buffer: Buffer) -> (Buffer, u64) {
        let (callers, scratch) = match buffer {
            Buffer::FirstKeys | Buffer::SecondKeys | Buffer::MergedKeys => (Buffer::Keys, Buffer::MergedKeys),
            Buffer::FirstValues | Buffer::SecondValues | Buffer::MergedValues => (Buffer::Values, Buffer::MergedValues),
            other => return (other, 0),
        };
        let MergeRequest { first, second, .. } = self.plan.request;
        // The binding of an empty run has room for an element, which the kernels do not read.
        let is_second = matches!(buffer, Buffer::SecondKeys | Buffer::SecondValues) && second.max > 0;
        let is_source = !matches!(buffer, Buffer::MergedKeys | Buffer::MergedValues);
        let before = self.start + if is_second { first.max } else { 0 };
        let bytes = self.plan.request.element_bytes()[usize::from(callers == Buffer::Values)];
        (if is_source == self.from_scratch { scratch } else { callers }, before * bytes)
    }
}

/// The plan of a sort of keys, or of pairs, that one [`SortPlan`] does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortionPlan {
    /// The request.
    pub request: Request,
    /// The sorts, in order.
    pub portions: Vec<Portion>,
    /// The merges, in order.
    pub merges: Vec<PortionMerge>,
    /// The scratch buffers, and their bytes.
    pub scratch: Vec<(Buffer, u64)>,
}

impl PortionPlan {
    /// Returns whether a request needs portions: it sorts more keys or pairs than one sort takes, or than fit a binding with
    /// the bytes before them. Selections, sorts of segments, argsorts, searches for runs
    /// and gathers have no portions.
    pub fn is_needed(request: &Request, facts: &Facts) -> bool {
        let of_all = request.top.is_none() && request.segments.is_none() && request.payload != Payload::Indices;
        let sorts = of_all && request.runs.is_none() && request.gather.is_none();
        let one = facts.limits(request.payload.words()).longest(request.unit_bytes());
        let touched = |place: Place, bytes: u64| (4 * u64::from(place.first)).saturating_add(bytes);
        let keys = touched(request.keys, request.max.saturating_mul(u64::from(request.key_bits) / 8));
        let values = touched(request.values, request.max.saturating_mul(4 * u64::from(request.payload.words())));
        let is_in_pages = request.page.is_some_and(|page| request.max > page);
        sorts && (is_in_pages || request.max > one || keys > facts.max_binding || values > facts.max_binding)
    }

    /// Returns the requests of the sorts, with the keys before each. All but the last have the same number of keys.
    /// The last one's may be much smaller if the arrays have pages.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than [`MAX_MERGED`] keys, or [`Error::Unsupported`] if the device binds too little memory.
    pub fn sorts(request: &Request, facts: &Facts) -> Result<Vec<(u64, Request)>, Error> {
        if request.max > MAX_MERGED {
            return Err(Error::TooLong { what: "the device".into(), asked: request.max, limit: MAX_MERGED });
        }
        // Short keys have a word each while they are sorted.
        let [key_bytes, value_bytes] = [4 * u64::from(request.key_words()), 4 * u64::from(request.payload.words())];
        let longest = facts.limits(request.payload.words()).longest(request.unit_bytes());
        let part = facts.part_len([key_bytes, value_bytes], request.page)?;
        let longest = longest / PORTION_UNIT * PORTION_UNIT;
        let each = if request.page.is_some() {
            // Both are powers of two, so a page is a multiple of a portion.
            part.min(1 << longest.max(PORTION_UNIT).ilog2())
        } else {
            let count = request.max.div_ceil(part.min(longest).max(PORTION_UNIT)).max(1);
            request.max.div_ceil(count).next_multiple_of(PORTION_UNIT)
        };
        let count = request.max.div_ceil(each).max(1);
        let starts = (0..count).map(|i| i * each).take_while(|&start| start < request.max);
        Ok(starts.map(|start| (start, Request { max: each.min(request.max - start), skip: start, ..*request })).collect())
    }

    /// Plans `request` for a device. `algorithms` are those of the first and of the last sort, as in [`Request::algorithm`].
    /// All sorts but the last have the algorithm of the first.
    ///
    /// # Errors
    /// Those of [`SortPlan::new`], of [`MergePlan::new`] and of [`sorts`](PortionPlan::sorts).
    pub fn new(request: Request, algorithms: [Option<Algorithm>; 2], facts: &Facts) -> Result<Self, Error> {
        let sorts = Self::sorts(&request, facts)?;
        let last = sorts.len().saturating_sub(1);
        let portion = |(i, (start, sort)): (usize, (u64, Request))| {
            let algorithm = algorithms[usize::from(i == last && i > 0)];
            SortPlan::new(Request { algorithm, ..sort }, facts).map(|plan| Portion { start, plan })
        };
        let portions: Vec<Portion> = sorts.into_iter().enumerate().map(portion).collect::<Result<_, _>>()?;
        let mut runs: Vec<[u64; 2]> = portions.iter().map(|portion| [portion.start, portion.plan.request.max]).collect();
        let (mut merges, mut from_scratch) = (vec![], false);
        while runs.len() > 1 || from_scratch {
            for pair in runs.chunks(2) {
                let [start, len] = pair[0];
                let plan = MergePlan::new(merge(&request, pair, from_scratch), facts)?;
                merges.push(PortionMerge { start, from_scratch, plan });
                debug_assert!(pair.len() == 1 || pair[1][0] == start + len, "runs are neighbors");
            }
            runs = runs.chunks(2).map(|pair| [pair[0][0], pair.iter().map(|[_, len]| len).sum()]).collect();
            from_scratch = !from_scratch;
        }
        let scratch = scratch(&request, &portions, &merges);
        Ok(Self { request, portions, merges, scratch })
    }

    /// Bytes of all scratch buffers.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Returns the array in which `buffer`, a buffer of the sort of `portion`, lies, and the number of its bytes before the
    /// portion. The keys and values between passes lie where the first round writes the portion, if they have the same size.
    pub fn array(&self, portion: &Portion, buffer: Buffer) -> (Buffer, u64) {
        let [keys, values] = element_bytes(&self.request);
        match buffer {
            Buffer::Keys => (Buffer::Keys, portion.start * keys),
            Buffer::Values => (Buffer::Values, portion.start * values),
            Buffer::Scratch if !self.request.is_packed() => (Buffer::MergedKeys, portion.start * keys),
            Buffer::ValuesScratch => (Buffer::MergedValues, portion.start * values),
            other => (other, 0),
        }
    }

    /// Returns the bytes of a page of the caller's keys and of its values, which are those of a page of the scratch
    /// [`Buffer::MergedKeys`] and [`Buffer::MergedValues`]; `None` for another buffer, or if the arrays have no pages.
    pub fn page_bytes(&self, buffer: Buffer) -> Option<u64> {
        let [keys, values] = element_bytes(&self.request);
        let bytes = match buffer {
            Buffer::Keys | Buffer::MergedKeys => keys,
            Buffer::Values | Buffer::MergedValues => values,
            _ => return None,
        };
        Some(self.request.page? * bytes)
    }

    /// Returns the keys of the sort of `portion` if there are `count` keys in all.
    pub fn portion_count(portion: &Portion, count: u64) -> u64 {
        count.saturating_sub(portion.start).min(portion.plan.request.max)
    }

    /// Returns the bytes that the plan touches of the caller's keys, and of its values, from the start of their bindings on.
    pub fn touched_bytes(&self) -> [u64; 2] {
        let [keys, values] = element_bytes(&self.request);
        let touched = |place: Place, bytes: u64| 4 * u64::from(place.first) + (self.request.max * bytes).next_multiple_of(4);
        [touched(self.request.keys, keys), touched(self.request.values, values)]
    }
}

/// Portions start at multiples of this many keys, so that bindings can start there.
const PORTION_UNIT: u64 = 256;

/// Returns the bytes of a key, and of a value, in the caller's buffers.
fn element_bytes(request: &Request) -> [u64; 2] {
    [u64::from(request.key_bits) / 8, 4 * u64::from(request.payload.words())]
}

/// Returns the request to merge one or two neighboring runs. A run is its first key and its number of keys.
fn merge(request: &Request, runs: &[[u64; 2]], from_scratch: bool) -> MergeRequest {
    let callers = [request.keys, request.values];
    let [source, target] = if from_scratch { [[Place::default(); 2], callers] } else { [callers, [Place::default(); 2]] };
    let run = |[skip, max]: [u64; 2]| SortedRun { max, skip, keys: source[0], values: source[1] };
    let [start, len] = runs[0];
    // A run without a partner that is too long for a run of a merge is two runs.
    let alone = len.min(MAX_MERGED / 2);
    let [first, second] = match runs {
        &[first, second, ..] => [first, second],
        _ => [[start, alone], [start + alone, len - alone]],
    };
    MergeRequest {
        payload: request.payload,
        first: run(first),
        second: run(second),
        keys: target[0],
        values: target[1],
        page: request.page,
        ..MergeRequest::keys(request.key_bits, request.spec, [0; 2])
    }
}

/// Returns the scratch of all sorts and merges. They run one after the other and share it.
fn scratch(request: &Request, portions: &[Portion], merges: &[PortionMerge]) -> Vec<(Buffer, u64)> {
    let [keys, values] = element_bytes(request).map(|bytes| (bytes * request.max).next_multiple_of(4));
    let mut scratch = vec![(Buffer::MergedKeys, keys)];
    scratch.extend((values > 0).then_some((Buffer::MergedValues, values)));
    // These lie in the scratch of the merges: see `PortionPlan::array`.
    let is_shared = |buffer: Buffer| buffer == Buffer::ValuesScratch || buffer == Buffer::Scratch && !request.is_packed();
    let of_sorts = portions.iter().flat_map(|portion| portion.plan.scratch.iter());
    for &(buffer, bytes) in of_sorts.chain(merges.iter().flat_map(|merge| merge.plan.scratch.iter())) {
        match scratch.iter_mut().find(|(own, _)| *own == buffer) {
            _ if is_shared(buffer) => {}
            Some((_, own)) => *own = bytes.max(*own),
            None => scratch.push((buffer, bytes)),
        }
    }
    scratch
}

impl Display for PortionPlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Request { key_bits, payload, max, .. } = self.request;
        writeln!(f, "up to {max} keys of {key_bits} bits in {} portions, payload {payload:?}", self.portions.len())?;
        for (buffer, bytes) in &self.scratch {
            writeln!(f, "  {buffer:?}: {bytes} bytes")?;
        }
        for Portion { start, plan } in &self.portions {
            write!(f, "from key {start}: {plan}")?;
        }
        for merge in &self.merges {
            let to = if merge.from_scratch { Buffer::Keys } else { Buffer::MergedKeys };
            write!(f, "from key {}, to {to:?}: {}", merge.start, merge.plan)?;
        }
        Ok(())
    }
}
