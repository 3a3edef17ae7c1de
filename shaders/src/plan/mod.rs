//! How a GPU sorts: planned here, without a GPU, and executed elsewhere.
//!
//! ```text
//! Request + Facts ──SortPlan::new──▶ SortPlan ──commands──▶ [Command]   kernel, bindings, numbers, workgroups
//!                                                             │
//!                            encoded by wgpu, or run by any other executor
//! ```
//!
//! Both steps are pure functions. Plans can be printed and compared, and tests keep them as snapshots. An executor
//! decides nothing.

mod command;
mod hybrid;
mod pick;
mod search;
mod segments;
mod shape;
mod top;
mod touched;
mod tuned;
pub mod tuning;

pub use command::{
    Buffer, COUNT_DIGIT_BITS, Command, Groups, LAST_LEVEL, Number, STATE_HEADER, VALUE_BLOCK, When, count_digit, state_words,
};
pub use hybrid::{BATCH_WORDS, BucketTable, TILE_WORDS};
pub use search::SearchPlan;
pub use segments::{SegmentLists, Segmented};
pub use shape::{Blocked, Class, Facts, Kernel, Ranking, Variant, Vectors};
pub use top::Top;
pub use touched::SearchSize;
pub use tuned::{PassKind, Tuned};

use command::Builder;
use polysort_core::{Error, Limits, Masks, Spec};
use segments::SegmentShapes;
use shape::Shapes;

/// Bits of a digit.
pub const RADIX_BITS: u32 = 8;

/// Number of values of a digit.
pub const RADIX: u32 = 1 << RADIX_BITS;

/// Bits of a wide digit. A word has three, of 11, 11 and 10 bits.
pub const WIDE_RADIX_BITS: u32 = 11;

/// The most digits of a key, which has up to 128 bits.
pub const MAX_DIGITS: u32 = 16;

/// The most keys of one sort: a status word has 30 bits for a count.
pub const MAX_KEYS: u64 = (1 << 30) - 1;

/// How to sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// From the least significant digit on, with one read and one write of each key for a digit. Tiles use decoupled
    /// look-back (Adinets and Merrill, "Onesweep", 2022).
    OneSweep,
    /// From the least significant digit on, in three steps for a digit. No workgroup waits for another (Merrill and
    /// Grimshaw, 2011). Long segments are still sorted with look-back.
    ReduceThenScan,
    /// Counts how many keys have each value, and writes the keys from these counts. For keys of 8 and 16 bits without
    /// payload.
    Counting,
    /// Like OneSweep, with digits of 11, 11 and 10 bits of each word: keys of 32 bits take three passes. For keys of 32
    /// and 64 bits. Two counters of 16 bits share a word, so that those of all values fit workgroup memory (warp-level
    /// multi-split, Ashkiani et al., 2016).
    WideDigits,
    /// A partition by the most significant digit, then a sort of each bucket by the other digits, batch by batch. A
    /// batch fits a cache. Both use decoupled look-back. For keys of 32 and 64 bits.
    MsdHybrid,
}

impl Algorithm {
    /// Returns whether this algorithm supports a request, on a device with the needed features. If a backend is set to
    /// an algorithm that does not, the plan chooses another one. A request that names it fails.
    pub fn sorts(self, request: &Request) -> bool {
        match self {
            Self::OneSweep | Self::ReduceThenScan => true,
            // Segments have kernels of their own.
            _ if request.segments.is_some() => false,
            Self::Counting => request.is_packed() && request.payload == Payload::None && request.spec.width() == request.key_bits,
            Self::WideDigits | Self::MsdHybrid => matches!(request.key_bits, 32 | 64),
        }
    }

    /// Returns whether tiles look back over the counts of earlier tiles.
    pub fn looks_back(self) -> bool {
        matches!(self, Self::OneSweep | Self::WideDigits | Self::MsdHybrid)
    }
}

/// What moves with the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Nothing.
    None,
    /// Values of 1 to 4 words of 32 bits.
    Words(u32),
    /// The positions of the keys, which are the result. The keys stay as they are.
    Indices,
}

impl Payload {
    /// Words of 32 bits of a value.
    pub fn words(self) -> u32 {
        match self {
            Payload::None => 0,
            Payload::Words(words) => words,
            Payload::Indices => 1,
        }
    }
}

/// Where the elements of a caller's buffer start in a binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Words of 32 bits from the start of the binding to the first element.
    pub first: u32,
}

/// What to sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bits of a key: 8, 16, 32, 64 or 128.
    pub key_bits: u32,
    /// What moves with the keys.
    pub payload: Payload,
    /// The order.
    pub spec: Spec,
    /// What to select, if the request is not to sort everything. The payload is then [`Payload::Indices`].
    pub top: Option<Top>,
    /// The segments to sort, if the request is not to sort all keys together.
    pub segments: Option<Segmented>,
    /// The largest number of keys, or of segments to select from.
    pub max: u64,
    /// Where the keys start.
    pub keys: Place,
    /// Where the values, or the indices, start.
    pub values: Place,
    /// Whether the keys to select from and the positions of the selected keys lie in one buffer. A launch may bind one
    /// buffer twice only if it may write both parts.
    pub aliased: bool,
    /// The algorithm to use, if the request names one. Then even a few keys are not sorted in one launch.
    pub algorithm: Option<Algorithm>,
    /// For tests: tiles that publish nothing, so that other workgroups have to count them.
    pub blocked: Blocked,
    /// For tests: the keys of a batch, instead of as many as suit a cache.
    pub batch: Option<u32>,
    /// For tests: the most keys of a bucket that one workgroup sorts, instead of as many as it can hold.
    pub small_bucket: Option<u32>,
}

impl Request {
    /// A request to sort up to `max` keys of `key_bits` bits, without payload.
    pub fn keys(key_bits: u32, spec: Spec, max: u64) -> Self {
        Self {
            key_bits,
            payload: Payload::None,
            spec,
            top: None,
            segments: None,
            max,
            keys: Place::default(),
            values: Place::default(),
            aliased: false,
            algorithm: None,
            blocked: Blocked::NONE,
            batch: None,
            small_bucket: None,
        }
    }

    /// The same request with values of `words` words of 32 bits, 1 to 4.
    #[must_use]
    pub fn with_values(self, words: u32) -> Self {
        Self { payload: Payload::Words(words), ..self }
    }

    /// The same request, for the indices of the sorted keys.
    #[must_use]
    pub fn for_indices(self) -> Self {
        Self { payload: Payload::Indices, ..self }
    }

    /// The same request, for the positions of the keys that `top` selects.
    #[must_use]
    pub fn select(self, top: Top) -> Self {
        Self { payload: Payload::Indices, top: Some(top), ..self }
    }

    /// The same request, for each of these segments by itself.
    #[must_use]
    pub fn in_segments(self, segments: Segmented) -> Self {
        Self { segments: Some(segments), ..self }
    }

    /// Returns the bytes that a key, or a segment to select from, takes in its largest binding. The binding of the
    /// values does not count.
    pub fn unit_bytes(&self) -> usize {
        match self.top {
            // The segment's begin and end, and room for the keys that are selected from it.
            Some(top) if top.segmented => 4 * top.k.max(2) as usize,
            _ if self.is_packed() => 4,
            _ => self.key_bits as usize / 8,
        }
    }

    /// Returns the bytes of the values, or of the indices, of `max` keys.
    pub fn value_bytes(&self) -> u64 {
        4 * self.top.map_or(u64::from(self.payload.words()) * self.max, |top| top.results(self.max))
    }

    /// Words of 32 bits of a key while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
    }

    /// Whether several keys are packed in a word.
    pub fn is_packed(&self) -> bool {
        self.key_bits < 32
    }
}

/// A digit of a key: `bits` bits of a word, from `shift` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// The word, 0 the least significant.
    pub word: u32,
    /// The lowest bit of the digit in the word.
    pub shift: u32,
    /// The number of bits: 1 to 8, or up to 11 for wide digits.
    pub bits: u32,
}

/// Which commands of a plan a sort executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// None: there is nothing to sort.
    Nothing,
    /// The commands for keys that fit one tile.
    Short,
    /// The commands for any length.
    Long,
}

/// How to sort a request on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortPlan {
    /// The request.
    pub request: Request,
    /// The algorithm for keys that do not fit one tile.
    pub algorithm: Algorithm,
    /// Bits of a digit; for a counting sort, bits of a key.
    pub radix_bits: u32,
    /// The digits, least significant first. A digit takes a pass, unless all keys share it.
    pub digits: Vec<Digit>,
    /// Masks in the words that the kernels see: a key of 8 or 16 bits is the top bits of one.
    pub masks: Masks,
    /// First and end bit of the window in these words.
    pub window: (u32, u32),
    /// Keys of a tile.
    pub tile: u32,
    /// Keys of a batch: the buckets that start in so many keys are sorted together. 0 for algorithms without buckets.
    pub batch: u32,
    /// The most keys of a bucket, or of a segment, that one workgroup sorts.
    pub small_bucket: u32,
    /// The most keys of a segment that a thread of the network holds; 0 without segments.
    pub network_keys: u32,
    /// The most keys that one launch sorts; 0 if the request rules this out.
    pub single_tile: u32,
    /// The scratch buffers of the sort, and their bytes.
    pub scratch: Vec<(Buffer, u64)>,
    /// The commands of a sort of any length, in order.
    long: Vec<Command>,
    /// The commands of a sort that fits one tile, in order.
    short: Vec<Command>,
    /// The sort of the selected keys, if all workgroups together select them. Its keys are [`Buffer::Picked`], its
    /// values those of this plan.
    pub then: Option<Box<SortPlan>>,
}

impl SortPlan {
    /// Plans `request` for a device.
    ///
    /// # Errors
    /// - [`Error::InvalidRange`] or [`Error::Unsupported`] if the spec does not suit the keys.
    /// - [`Error::TooLong`] if a binding cannot hold so many keys.
    /// - [`Error::Unsupported`] if the device or the request does not suit the algorithm.
    pub fn new(request: Request, facts: &Facts) -> Result<Self, Error> {
        check_request(&request)?;
        let limits = facts.limits(request.payload.words());
        limits.check("the device", request.max as usize, request.unit_bytes())?;
        let algorithm = algorithm(&request, facts)?;
        // A selection always has digits of eight bits.
        let is_wide = algorithm == Algorithm::WideDigits && request.top.is_none();
        let digit_bits = if is_wide { WIDE_RADIX_BITS } else { RADIX_BITS };
        let shapes = Shapes::new(&request, digit_bits, facts)?;
        // A counting sort has counters for whole keys, but sorts a single tile by digits.
        let radix_bits = if algorithm == Algorithm::Counting { request.key_bits } else { digit_bits };
        let up = request.key_words() * 32 - request.key_bits;
        let masks = Masks { clear: request.spec.masks.clear << up, set: request.spec.masks.set << up };
        let window = (request.spec.begin + up, request.spec.end + up);
        let digits = digits(window.0, window.1, digit_bits);
        let mut plan = Self {
            request,
            algorithm,
            radix_bits,
            digits,
            masks,
            window,
            tile: shapes.segments.as_ref().map_or_else(|| shapes.pass_tile(algorithm), SegmentShapes::tile),
            batch: shapes.bucket_sweep.map_or(0, |shape| shape.batch),
            small_bucket: match &shapes.segments {
                Some(shapes) => shapes.small_bucket(),
                None => shapes.bucket_tile.map_or(0, |shape| shape.small_bucket),
            },
            network_keys: shapes.segments.as_ref().map_or(0, SegmentShapes::network_keys),
            single_tile: if request.algorithm.is_some() || request.top.is_some() || request.segments.is_some() {
                0
            } else {
                shapes.single.tile
            },
            scratch: vec![],
            long: vec![],
            short: vec![],
            then: None,
        };
        // If a tile has few keys, its status words can take more room than its keys.
        if is_wide && plan.status_bytes() > facts.max_binding {
            let limit = (facts.max_binding >> (2 + radix_bits)) * u64::from(plan.tile);
            return Err(Error::TooLong { what: "the device".into(), asked: request.max, limit });
        }
        let mut builder = Builder::new(&plan, &shapes);
        match request.top {
            None if request.segments.is_some() => builder.segments(),
            None => builder.long(),
            Some(top) if shapes.picks(top) => builder.pick(),
            Some(top) => builder.top(top),
        }
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
        Ok(plan)
    }

    /// Returns which commands sort `count` keys. `None` is a count that is not known while recording: it may be as
    /// large as the buffers.
    pub fn length(&self, count: Option<u64>) -> Length {
        match count {
            // A selection from nothing must still write its result, and an argsort of segments the indices of keys
            // outside all segments.
            _ if self.request.top.is_some() || self.request.segments.is_some() => Length::Long,
            Some(0) => Length::Nothing,
            Some(1) if self.request.payload != Payload::Indices => Length::Nothing,
            count if count.unwrap_or(self.request.max) <= u64::from(self.single_tile) => Length::Short,
            _ => Length::Long,
        }
    }

    /// The commands of a sort of any length.
    pub fn long_commands(&self) -> &[Command] {
        &self.long
    }

    /// The commands of a sort that fits one tile.
    pub fn short_commands(&self) -> &[Command] {
        &self.short
    }

    /// Bytes of all scratch buffers.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().map(|(_, bytes)| bytes).sum()
    }

    /// All commands of this plan, and of the plan that follows it.
    pub fn all_commands(&self) -> impl Iterator<Item = &Command> {
        let then = self.then.as_deref().map_or([&[][..]; 2], |then| [&then.long, &then.short]);
        self.long.iter().chain(&self.short).chain(then.into_iter().flatten())
    }

    /// Returns how many keys the plan in `then` sorts, if this one gets `count` keys; `None` if the device knows the
    /// count.
    pub fn then_count(&self, count: Option<u64>) -> Option<u64> {
        count.map(|count| count.min(self.request.top.map_or(count, |top| top.k.into())))
    }
}

fn check_request(request: &Request) -> Result<(), Error> {
    match request.key_bits {
        8 => request.spec.check::<u8>(),
        16 => request.spec.check::<u16>(),
        32 => request.spec.check::<u32>(),
        64 => request.spec.check::<u64>(),
        128 => request.spec.check::<u128>(),
        bits => Err(Error::Unsupported { what: format!("keys of {bits} bits; there are 8, 16, 32, 64 and 128") }),
    }?;
    let segments = request.segments.map_or(0, |segments| segments.max.into());
    if segments > MAX_KEYS {
        return Err(Error::TooLong { what: "a sort, as a number of segments".into(), asked: segments, limit: MAX_KEYS });
    }
    match request.payload {
        Payload::Words(words) if !(1..=4).contains(&words) => {
            Err(Error::Unsupported { what: format!("values of {words} words of 32 bits; there are 1 to 4") })
        }
        _ if request.top.is_some() && request.segments.is_some() => {
            Err(Error::Unsupported { what: "a selection from segments that a buffer tells; sort them".into() })
        }
        payload if request.top.is_some_and(|top| top.k == 0 || payload != Payload::Indices) => {
            Err(Error::Unsupported { what: format!("a selection {:?} with payload {payload:?}", request.top) })
        }
        _ => Ok(()),
    }
}

fn algorithm(request: &Request, facts: &Facts) -> Result<Algorithm, Error> {
    let is_due = request.key_bits == 8 || request.max >= tuning::COUNT_16 && facts.counts_16();
    let counts = Algorithm::Counting.sorts(request) && is_due;
    let sweeps = facts.ballot(tuning::GROUP).is_some();
    match request.algorithm {
        None if counts => Ok(Algorithm::Counting),
        None if sweeps => Ok(Algorithm::OneSweep),
        None => Ok(Algorithm::ReduceThenScan),
        Some(wanted) if !wanted.sorts(request) => {
            let Request { key_bits, payload, .. } = request;
            Err(Error::Unsupported {
                what: format!("{wanted:?} of keys of {key_bits} bits with payload {payload:?} by this window"),
            })
        }
        Some(wanted @ (Algorithm::OneSweep | Algorithm::MsdHybrid)) if !sweeps => {
            Err(Error::Unsupported { what: format!("{wanted:?} on a device without subgroups of a suitable size") })
        }
        Some(wanted) => Ok(wanted),
    }
}

/// Returns the digits of bits `begin` to `end`, least significant first. No digit crosses a word.
fn digits(begin: u32, end: u32, radix_bits: u32) -> Vec<Digit> {
    let mut digits = vec![];
    let mut at = begin;
    while at < end {
        let bits = radix_bits.min(end - at).min(32 - at % 32);
        digits.push(Digit { word: at / 32, shift: at % 32, bits });
        at += bits;
    }
    digits
}

impl Facts {
    /// Returns the smallest number of keys whose sort takes the same kernels as `request`. A test of these kernels needs no
    /// more keys. One shape may differ: a thread of the histogram may count fewer keys. Returns 1 for selections and segments,
    /// whose kernels serve all lengths.
    pub fn least_alike(&self, request: &Request) -> u64 {
        if request.top.is_some() || request.segments.is_some() {
            return 1;
        }
        let counted = request.key_bits == 16 && Algorithm::Counting.sorts(request) && self.counts_16();
        let shapes = tuning::steps(self.class).chain(self.single_steps(request)).take_while(|_| self.unrolls());
        let steps = shapes.chain(counted.then_some(tuning::COUNT_16));
        steps.filter(|&step| step <= request.max).max().unwrap_or(1)
    }

    /// Returns the numbers of keys from which on the single launch has another shape, or does not exist.
    fn single_steps(&self, request: &Request) -> impl Iterator<Item = u64> {
        let next = |&step: &u64| {
            let shape = shape::single(request, step, self).ok().filter(|_| request.algorithm.is_none())?;
            Some(u64::from(shape.tile) + 1).filter(|&next| next > step)
        };
        core::iter::successors(Some(1), next).skip(1)
    }

    /// Returns whether this device sorts many keys of 16 bits by counting.
    fn counts_16(&self) -> bool {
        self.class != Class::Apple && self.workgroup_bytes >= 4 * (1_u32 << 15).div_ceil(tuning::COUNT_16_SPANS)
    }

    /// Returns the limits of a sort of keys, and of values of `value_words` words; 0 means no values.
    pub fn limits(&self, value_words: u32) -> Limits {
        let max_len = if value_words == 0 { MAX_KEYS } else { MAX_KEYS.min(self.max_binding / (4 * u64::from(value_words))) };
        let mut limits = Limits::default();
        (limits.max_len, limits.max_bytes) = (max_len, self.max_binding);
        // A shorter key or value takes a word while it is sorted.
        limits.min_element_bytes = 4;
        limits
    }
}
