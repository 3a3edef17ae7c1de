//! How a GPU sorts: planned here, without a GPU, and executed elsewhere.
//!
//! ```text
//! Request + Facts ──SortPlan::new──▶ SortPlan ──commands──▶ [Command]   kernel, bindings, numbers, groups
//!                                                             │
//!                            encoded by wgpu, or run by any other executor
//! ```
//!
//! Both steps are pure; plans print, compare and are kept as snapshots. An executor decides nothing.

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

/// Values of a digit.
pub const RADIX: u32 = 1 << RADIX_BITS;

/// Bits of a wide digit: three make a word, of 11, 11 and 10 bits.
pub const WIDE_RADIX_BITS: u32 = 11;

/// The most digits of a key: 128 bits of them.
pub const MAX_DIGITS: u32 = 16;

/// The most keys of one sort: a status word counts to 2³⁰.
pub const MAX_KEYS: u64 = (1 << 30) - 1;

/// A way to sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Least significant digit first, one read and one write a digit, by decoupled look-back (Adinets and Merrill, "Onesweep", 2022).
    OneSweep,
    /// Least significant digit first, in three steps a digit that wait for no other group (Merrill and Grimshaw, 2011); long segments by
    /// look-back all the same.
    ReduceThenScan,
    /// How many keys there are of each value alone tells the sorted keys: for keys of 8 and 16 bits without payload.
    Counting,
    /// As OneSweep, by digits of 11, 11 and 10 bits of each word, so that keys of 32 bits take three passes: for keys of 32 and 64 bits. Counters
    /// of 16 bits, two in a word, make room for as many digits in workgroup memory (warp-level multi-split, Ashkiani et al., 2016).
    WideDigits,
    /// One partition by the most significant digit, then its buckets by the others, so many at a time as a cache holds, both by decoupled
    /// look-back: for keys of 32 and 64 bits.
    MsdHybrid,
}

impl Algorithm {
    /// Whether it sorts such keys, on a device that has what it takes. Who is set to one algorithm for all sorts leaves those to the plan that
    /// it does not sort; a request for it is refused.
    pub fn sorts(self, request: &Request) -> bool {
        match self {
            Self::OneSweep | Self::ReduceThenScan => true,
            // Segments have kernels of their own.
            _ if request.segments.is_some() => false,
            Self::Counting => request.is_packed() && request.payload == Payload::None && request.spec.width() == request.key_bits,
            Self::WideDigits | Self::MsdHybrid => matches!(request.key_bits, 32 | 64),
        }
    }

    /// Whether tiles look back over the counts of those before.
    pub fn looks_back(self) -> bool {
        matches!(self, Self::OneSweep | Self::WideDigits | Self::MsdHybrid)
    }
}

/// What moves besides the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Nothing.
    None,
    /// Values of so many words of 32 bits, 1 to 4.
    Words(u32),
    /// The keys' positions, which are the result; the keys stay as they are.
    Indices,
}

impl Payload {
    /// Words of 32 bits of each value.
    pub fn words(self) -> u32 {
        match self {
            Payload::None => 0,
            Payload::Words(words) => words,
            Payload::Indices => 1,
        }
    }
}

/// A part of a device buffer that a caller gave: what of it a binding covers, and where the elements start in that.
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
    /// What moves besides.
    pub payload: Payload,
    /// The order.
    pub spec: Spec,
    /// What to select, where not everything is to be sorted. The payload is then [`Payload::Indices`].
    pub top: Option<Top>,
    /// The segments that are sorted by themselves, if not all keys are sorted together.
    pub segments: Option<Segmented>,
    /// The most keys, or segments to select from, that there can be.
    pub max: u64,
    /// Where the keys start.
    pub keys: Place,
    /// Where the values, or the indices, start.
    pub values: Place,
    /// Whether the keys that are selected from and the positions of the selected ones lie in one buffer. A launch may bind one buffer twice only
    /// if it may write both parts.
    pub aliased: bool,
    /// The way to sort, if it is to be this one; what fits one tile is then not sorted in one launch either.
    pub algorithm: Option<Algorithm>,
    /// Tiles that publish nothing, so that others have to count them: for tests.
    pub blocked: Blocked,
    /// Keys in which the buckets of a batch start, if they are not to be as many as suit a cache: for tests.
    pub batch: Option<u32>,
    /// Keys of a bucket, at most, that one group sorts, if not as many as it can hold: for tests.
    pub small_bucket: Option<u32>,
}

impl Request {
    /// Sorts `max` keys of `key_bits` bits, without more ado.
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

    /// With values of `words` words of 32 bits, 1 to 4.
    #[must_use]
    pub fn with_values(self, words: u32) -> Self {
        Self { payload: Payload::Words(words), ..self }
    }

    /// For the indices alone.
    #[must_use]
    pub fn for_indices(self) -> Self {
        Self { payload: Payload::Indices, ..self }
    }

    /// For the positions of what `top` tells.
    #[must_use]
    pub fn select(self, top: Top) -> Self {
        Self { payload: Payload::Indices, top: Some(top), ..self }
    }

    /// Each segment by itself.
    #[must_use]
    pub fn in_segments(self, segments: Segmented) -> Self {
        Self { segments: Some(segments), ..self }
    }

    /// Bytes that a key, or a segment to select from, takes in the largest of its bindings but the values'.
    pub fn unit_bytes(&self) -> usize {
        match self.top {
            // A begin and an end, and room for what is selected.
            Some(top) if top.segmented => 4 * top.k.max(2) as usize,
            _ if self.is_packed() => 4,
            _ => self.key_bits as usize / 8,
        }
    }

    /// Bytes of the values, or of the indices, of `max` keys.
    pub fn value_bytes(&self) -> u64 {
        4 * self.top.map_or(u64::from(self.payload.words()) * self.max, |top| top.results(self.max))
    }

    /// Words of 32 bits of a key while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
    }

    /// Whether keys lie packed in words.
    pub fn is_packed(&self) -> bool {
        self.key_bits < 32
    }
}

/// A digit of a key: `bits` bits from `shift` on of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digit {
    /// The word, 0 the least significant.
    pub word: u32,
    /// The lowest bit in it.
    pub shift: u32,
    /// The number of bits, 1 to 8, or 11 if digits are wide.
    pub bits: u32,
}

/// Which commands of a plan a sort takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// None: there is nothing to sort.
    Nothing,
    /// Those for what fits one tile.
    Short,
    /// Those for any length.
    Long,
}

/// How a request is sorted on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortPlan {
    /// What was asked for.
    pub request: Request,
    /// The way to sort what does not fit one tile.
    pub algorithm: Algorithm,
    /// Bits of what has a counter for each value: a digit, or a key that is counted as a whole.
    pub radix_bits: u32,
    /// The digits, least significant first: a pass each, unless all keys share it.
    pub digits: Vec<Digit>,
    /// Masks and window in the bits of the words that kernels see, where a key of 8 or 16 bits is the top of one.
    pub masks: Masks,
    /// First and end bit of the window there.
    pub window: (u32, u32),
    /// Keys of a tile.
    pub tile: u32,
    /// Keys in which the buckets of a batch start; 0 for algorithms without buckets.
    pub batch: u32,
    /// Keys of a bucket, or of a segment, at most, that one group sorts.
    pub small_bucket: u32,
    /// Keys of a segment, at most, that a thread of the network holds; 0 where there are no segments.
    pub network_keys: u32,
    /// The most keys that one launch sorts; 0 if that is not wanted.
    pub single_tile: u32,
    /// Bytes of each buffer that the sort needs of its own.
    pub scratch: Vec<(Buffer, u64)>,
    /// The kernels of a long sort, in order.
    long: Vec<Command>,
    /// The kernels of a short one.
    short: Vec<Command>,
    /// The sort of what was selected, where that is a sort of its own: its keys are [`Buffer::Picked`], its values those of this plan.
    pub then: Option<Box<SortPlan>>,
}

impl SortPlan {
    /// Plans `request` for a device.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] or [`Error::Unsupported`] for a spec that does not suit the keys, [`Error::TooLong`] for more keys than a
    /// binding holds, [`Error::Unsupported`] for an algorithm that cannot do this here.
    pub fn new(request: Request, facts: &Facts) -> Result<Self, Error> {
        check_request(&request)?;
        let limits = facts.limits(request.payload.words());
        limits.check("the device", request.max as usize, request.unit_bytes())?;
        let algorithm = algorithm(&request, facts)?;
        // Selections have digits of eight bits in any case.
        let is_wide = algorithm == Algorithm::WideDigits && request.top.is_none();
        let digit_bits = if is_wide { WIDE_RADIX_BITS } else { RADIX_BITS };
        let shapes = Shapes::new(&request, digit_bits, facts)?;
        // Counting has counters for whole keys, but a tile by itself is sorted by digits all the same.
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
        // A tile of few keys can have more counts than keys.
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

    /// Which commands sort a count of keys that is known when they are recorded, or else as many as the buffers hold.
    pub fn length(&self, count: Option<u64>) -> Length {
        match count {
            // What is selected of nothing has to be told as well, and the indices of what no segment holds.
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

    /// Bytes of scratch in all.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Every command of the plan, and of the one that follows it.
    pub fn all_commands(&self) -> impl Iterator<Item = &Command> {
        let then = self.then.as_deref().map_or([&[][..]; 2], |then| [&then.long, &then.short]);
        self.long.iter().chain(&self.short).chain(then.into_iter().flatten())
    }

    /// How many keys the plan that follows this one sorts, if this one has so many; as many as the device tells, if it tells that.
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

/// The digits of bits `begin` to `end`, least significant first. None crosses a word.
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
    /// The fewest keys that are sorted by the same kernels as those of a request, in one launch or by passes, but that a thread of the histogram may
    /// count fewer: whoever tries these need not have more. Of selections and segments, which have kernels for all lengths, one.
    pub fn least_alike(&self, request: &Request) -> u64 {
        if request.top.is_some() || request.segments.is_some() {
            return 1;
        }
        let counted = request.key_bits == 16 && Algorithm::Counting.sorts(request) && self.counts_16();
        let shapes = tuning::steps(self.class).chain(self.single_steps(request)).take_while(|_| self.unrolls());
        let steps = shapes.chain(counted.then_some(tuning::COUNT_16));
        steps.filter(|&step| step <= request.max).max().unwrap_or(1)
    }

    /// Numbers of keys from which on one launch sorts them by another shape, or none does.
    fn single_steps(&self, request: &Request) -> impl Iterator<Item = u64> {
        let next = |&step: &u64| {
            let shape = shape::single(request, step, self).ok().filter(|_| request.algorithm.is_none())?;
            Some(u64::from(shape.tile) + 1).filter(|&next| next > step)
        };
        core::iter::successors(Some(1), next).skip(1)
    }

    /// Whether many keys of 16 bits are counted.
    fn counts_16(&self) -> bool {
        self.class != Class::Apple && self.workgroup_bytes >= 4 * (1_u32 << 15).div_ceil(tuning::COUNT_16_SPANS)
    }

    /// What one sort can take: keys, and values of `value_words` words of 32 bits if there are any.
    pub fn limits(&self, value_words: u32) -> Limits {
        let max_len = if value_words == 0 { MAX_KEYS } else { MAX_KEYS.min(self.max_binding / (4 * u64::from(value_words))) };
        let mut limits = Limits::default();
        (limits.max_len, limits.max_bytes) = (max_len, self.max_binding);
        // A shorter key or value takes a word while it is sorted.
        limits.min_element_bytes = 4;
        limits
    }
}
