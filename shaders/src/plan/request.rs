//! What a user asks of a plan.

use super::blocked::Blocked;
use super::class::Class;
use super::digit::RADIX;
use super::tuning::{SELECT_SEGMENT, batch_keys};
use polysort_core::{Error, Masks, Spec};

/// An algorithm that sorts on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// LSD radix sort with one read and one write of each key per digit. Tiles use decoupled look-back (Adinets and
    /// Merrill, "Onesweep", 2022).
    OneSweep,
    /// LSD radix sort with three launches per digit. No workgroup waits for another (Merrill and Grimshaw, 2011). Long
    /// segments are still sorted with look-back.
    ReduceThenScan,
    /// Counts the keys of each value, and writes the values from these counts. For keys of 8 and 16 bits without payload.
    Counting,
    /// OneSweep with digits of 11, 11 and 10 bits of each word: keys of 32 bits take three passes. For keys of 32 and 64
    /// bits. Two counters of 16 bits share a word, so that the counters of all values fit workgroup memory (warp-level
    /// multi-split, Ashkiani et al., 2016).
    WideDigits,
    /// One partition by the most significant digit, then a sort of the buckets by the other digits, batch by batch. A
    /// batch fits a cache. Both steps use decoupled look-back. For keys of 32 and 64 bits.
    MsdHybrid,
}

impl Algorithm {
    /// Returns whether this algorithm supports a request, on a device with the needed features. A request that names an
    /// algorithm that does not support it fails. If such an algorithm is set for a whole backend, the planner chooses
    /// another one.
    pub fn sorts(self, request: &Request) -> bool {
        match self {
            Self::OneSweep | Self::ReduceThenScan => true,
            // These have kernels of their own.
            _ if request.segments.is_some() || request.runs.is_some() || request.gather.is_some() => false,
            Self::Counting => request.is_packed() && request.payload == Payload::None && request.spec.width() == request.key_bits,
            Self::WideDigits | Self::MsdHybrid => matches!(request.key_bits, 32 | 64),
        }
    }

    /// Returns whether tiles look back over the counts of earlier tiles.
    pub fn looks_back(self) -> bool {
        matches!(self, Self::OneSweep | Self::WideDigits | Self::MsdHybrid)
    }
}

/// The payload of a sort: what it moves with the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Nothing.
    None,
    /// Values of 1 to 4 words of 32 bits.
    Words(u32),
    /// The indices of the keys. They are the result: the keys stay as they are.
    Indices,
}

impl Payload {
    /// Returns the words of 32 bits of a value.
    pub fn words(self) -> u32 {
        match self {
            Payload::None => 0,
            Payload::Words(words) => words,
            Payload::Indices => 1,
        }
    }
}

/// Where the data of one of the caller's buffers starts within the binding of that buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Words of 32 bits from the start of the binding to the first element.
    pub first: u32,
}

/// A selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Top {
    /// The number of keys to select, at least 1.
    pub k: u32,
    /// Whether to select from each of many segments by itself. Counts are then numbers of segments. The segments may lie
    /// anywhere in the binding of the keys.
    pub segmented: bool,
}

impl Top {
    /// Returns the number of candidates of each level, up to the level of a single segment. The candidates of the first
    /// level are the `keys`.
    pub fn levels(self, keys: u64) -> Vec<u64> {
        let mut levels = vec![keys];
        while let Some(&there) = levels.last().filter(|&&there| there > SELECT_SEGMENT.into()) {
            let full = there.div_ceil(SELECT_SEGMENT.into()) - 1;
            let last = there - full * u64::from(SELECT_SEGMENT);
            levels.push(full * u64::from(self.k) + last.min(self.k.into()));
        }
        levels
    }

    /// Returns the number of indices that a selection from up to `max` keys, or segments, writes.
    pub fn results(self, max: u64) -> u64 {
        u64::from(self.k) * if self.segmented { max } else { 1 }
    }
}

/// The segments of a request, whose offsets lie in buffers. In such a request, counts are numbers of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segmented {
    /// The largest number of segments.
    pub max: u32,
    /// The offset of the begin of segment 0 in its binding.
    pub begins: Place,
    /// The offset of the end of segment 0 in its binding.
    pub ends: Place,
}

/// What a search for runs of equal neighboring keys writes, and where. An output whose place is `None` is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FindRuns {
    /// Where to write the number of runs, a word.
    pub count: Place,
    /// Where to write the first key of each run.
    pub unique: Option<Place>,
    /// Where to write the index of the first key of each run, and after them the number of keys, a word each.
    pub offsets: Option<Place>,
    /// Where to write the number of keys of each run, a word each.
    pub lengths: Option<Place>,
}

/// A gather of elements by indices. The indices are the keys of the request, which have 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gather {
    /// Bytes of an element: 1, 2, or a multiple of 4.
    pub element_bytes: u32,
    /// The number of elements of the source. An index that is not smaller gives an element of zeros.
    pub elements: u32,
    /// The offset of the source in its binding.
    pub from: Place,
    /// The offset of the result in its binding.
    pub to: Place,
}

/// The most batches: as many as there are buckets.
const MAX_BATCHES: u64 = RADIX as u64;

/// A request to sort, to select, to find runs of equal keys, or to gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Bits of a key: 8, 16, 32, 64 or 128.
    pub key_bits: u32,
    /// The payload.
    pub payload: Payload,
    /// The order.
    pub spec: Spec,
    /// The selection, if this is a request to select. The payload is then [`Payload::Indices`].
    pub top: Option<Top>,
    /// The segments, if this is a request to sort each segment by itself.
    /// A selection from segments may have them too.
    pub segments: Option<Segmented>,
    /// The outputs, if this is a request to find runs of equal keys. It has no payload.
    pub runs: Option<FindRuns>,
    /// The elements, if this is a request to gather. It has no payload.
    pub gather: Option<Gather>,
    /// The largest number of keys; of a selection from segments without [`segments`](Request::segments), that of segments.
    pub max: u64,
    /// The keys before these in the array whose number of keys a count buffer has; 0 if the number is that of these keys.
    pub skip: u64,
    /// The offset of the keys in their binding.
    pub keys: Place,
    /// The offset of the values, or of the indices, in their binding.
    pub values: Place,
    /// The offset of indices of 64 bits in their binding; `None` if indices have 32 bits. The payload is then
    /// [`Payload::Indices`], and `values` is 0.
    pub wide_indices: Option<Place>,
    /// The elements of a page, a power of two of 256 or more; `None` if keys and values lie in one buffer each. Pages are
    /// buffers, one after another, with this number of elements each; only the last may have fewer. The scratch of the
    /// merges has such pages too, and the offsets `keys` and `values` are 0.
    pub page: Option<u64>,
    /// Whether what is read and what is written lie in one buffer: the keys to select from and the indices of the selected
    /// keys, or two buffers of a search for runs or of a gather. A launch can bind one buffer twice only if both bindings
    /// are writable.
    pub aliased: bool,
    /// Whether kernels that compile in less time, but run longer, suit the request better ([`Facts::rolls`](super::Facts::rolls)): the keys come from the host
    /// and return to it, so that copies take most of the time, or the caller asked for it.
    pub quick: bool,
    /// The forced algorithm; `None` lets the planner choose. With a forced algorithm, not even a few keys are sorted in one
    /// launch.
    pub algorithm: Option<Algorithm>,
    /// For tests: tiles that publish nothing, so that other workgroups have to count them.
    pub blocked: Blocked,
    /// For tests: the keys of a batch. `None` means a number that suits a cache.
    pub batch: Option<u32>,
    /// For tests: the most keys of a bucket that one workgroup sorts. `None` means as many as fit its memory.
    pub small_bucket: Option<u32>,
}

impl Request {
    /// Returns a request to sort up to `max` keys of `key_bits` bits, without payload.
    pub fn keys(key_bits: u32, spec: Spec, max: u64) -> Self {
        Self {
            key_bits,
            payload: Payload::None,
            spec,
            top: None,
            segments: None,
            runs: None,
            gather: None,
            max,
            skip: 0,
            keys: Place::default(),
            values: Place::default(),
            wide_indices: None,
            page: None,
            aliased: false,
            quick: false,
            algorithm: None,
            blocked: Blocked::NONE,
            batch: None,
            small_bucket: None,
        }
    }

    /// Returns this request for kernels that compile in less time, but run longer.
    #[must_use]
    pub fn quick_to_compile(self) -> Self {
        Self { quick: true, ..self }
    }

    /// Returns this request with values of `words` words of 32 bits, 1 to 4.
    #[must_use]
    pub fn with_values(self, words: u32) -> Self {
        Self { payload: Payload::Words(words), ..self }
    }

    /// Returns this request as an argsort.
    #[must_use]
    pub fn for_indices(self) -> Self {
        Self { payload: Payload::Indices, ..self }
    }

    /// Returns this request as the selection `top`, whose result is the indices of the selected keys.
    #[must_use]
    pub fn select(self, top: Top) -> Self {
        Self { payload: Payload::Indices, top: Some(top), ..self }
    }

    /// Returns this request with these segments: the sort treats each as an array of its own.
    #[must_use]
    pub fn in_segments(self, segments: Segmented) -> Self {
        Self { segments: Some(segments), ..self }
    }

    /// Returns this request as a search for runs of equal neighboring keys.
    #[must_use]
    pub fn find_runs(self, runs: FindRuns) -> Self {
        Self { runs: Some(runs), ..self }
    }

    /// Returns this request, whose keys are indices, as a gather.
    #[must_use]
    pub fn gather(self, gather: Gather) -> Self {
        Self { gather: Some(gather), ..self }
    }

    /// Returns whether a search for runs, or a gather, has a payload or is another request too.
    pub(super) fn has_two_tasks(&self) -> bool {
        let is_plain = self.payload == Payload::None && self.top.is_none() && self.segments.is_none();
        let tasks = usize::from(self.runs.is_some()) + usize::from(self.gather.is_some());
        tasks > 1 || tasks == 1 && !is_plain
    }

    /// Returns whether this is a request to sort all keys: no selection, no segments, no search for runs, no gather.
    pub(super) fn is_of_all_keys(&self) -> bool {
        self.top.is_none() && self.segments.is_none() && self.runs.is_none() && self.gather.is_none()
    }

    /// Returns the bytes that a key, or a segment to select from, takes in its largest binding. The binding of the values
    /// is left out.
    pub fn unit_bytes(&self) -> usize {
        match self.top {
            // The segment's begin and end take two words; the indices selected from it take `k` words.
            Some(top) if self.has_bounds() => 4 * top.k.max(2) as usize,
            _ if self.is_packed() => 4,
            _ => self.key_bits as usize / 8,
        }
    }

    /// Returns the bytes of the values, or of the indices, of `max` keys.
    pub fn value_bytes(&self) -> u64 {
        4 * u64::from(self.value_words()) * self.results()
    }

    /// Returns the largest number of values, or of indices.
    pub(super) fn results(&self) -> u64 {
        self.top.map_or(self.max, |top| top.results(self.units()))
    }

    /// Checks that the keys selected from all segments fit a binding, and so do the bounds of the segments.
    pub(super) fn check_selected(&self, max_binding: u64) -> Result<(), Error> {
        let (Some(top), Some(segments)) = (self.top, self.segments) else { return Ok(()) };
        let (asked, limit) = (segments.max.into(), max_binding / (4 * u64::from(top.k.max(2))));
        if asked <= limit {
            return Ok(());
        }
        Err(Error::TooLong { what: "the device, as a number of segments".into(), asked, limit })
    }

    /// Returns whether this is a selection from segments whose bounds the caller provides in one buffer.
    pub fn has_bounds(&self) -> bool {
        self.segments.is_none() && self.top.is_some_and(|top| top.segmented)
    }

    /// Returns the largest count: the number of segments, if the request has segments, else the number of keys.
    pub fn units(&self) -> u64 {
        self.segments.map_or(self.max, |segments| segments.max.into())
    }

    /// Returns the words of 32 bits that a key takes while it is sorted.
    pub fn key_words(&self) -> u32 {
        self.key_bits.div_ceil(32)
    }

    /// Returns the masks and the window of the order, for the words of the kernels: there, a key of 8 or 16 bits is in the
    /// top bits of a word. The window is its first and its end bit.
    pub(super) fn widened(&self) -> (Masks, (u32, u32)) {
        let up = self.key_words() * 32 - self.key_bits;
        let Spec { masks, begin, end, .. } = self.spec;
        (Masks { clear: masks.clear << up, set: masks.set << up }, (begin + up, end + up))
    }

    /// Returns whether a word of the caller's buffer has several keys.
    pub fn is_packed(&self) -> bool {
        self.key_bits < 32
    }

    /// Returns the keys of a batch: the tuned number, or more if there would be more batches than buckets.
    pub(super) fn keys_of_batch(&self, class: Class) -> u32 {
        let wanted = self.batch.unwrap_or_else(|| batch_keys(class, self.key_words(), self.payload.words()));
        let least = self.max.div_ceil(MAX_BATCHES).next_power_of_two();
        wanted.max(least as u32).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_level_has_one_segment() {
        let segment = u64::from(SELECT_SEGMENT);
        let top = |k| Top { k, segmented: false };
        assert_eq!(top(1).levels(0), [0]);
        assert_eq!(top(100).levels(segment), [segment]);
        assert_eq!(top(100).levels(segment + 7), [segment + 7, 107]);
        assert_eq!(top(100).levels(3 * segment), [3 * segment, 300]);
        for k in [1, 100, SELECT_SEGMENT / 4] {
            let levels = top(k).levels((1 << 30) - 1);
            assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] / 4 + u64::from(k)), "{levels:?}");
            assert!(*levels.last().unwrap() <= segment);
        }
        assert_eq!((top(5).results(1000), Top { k: 5, segmented: true }.results(1000)), (5, 5000));
    }
}
