//! A plan of a sort or a selection: its commands, and all that they refer to.

use super::architecture::Source;
use super::command::{Buffer, Command, Groups};
use super::digit::Digit;
use super::request::{Algorithm, Gather, Payload, Request, Top};
use polysort_core::{Error, Masks};

/// The commands of a plan that a sort executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// None: there is nothing to sort.
    Nothing,
    /// The commands for keys that fit one tile.
    Short,
    /// The commands for any length.
    Long,
}

/// The list of commands that sorts a request on a device.
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
    /// Masks for the words of the kernels. There, a key of 8 or 16 bits is in the top bits of a word.
    pub masks: Masks,
    /// First and end bit of the window, in the words of the kernels.
    pub window: (u32, u32),
    /// Keys of a tile.
    pub tile: u32,
    /// Keys of a batch: the buckets that start within this many keys are sorted together. 0 for algorithms without buckets.
    pub batch: u32,
    /// The most keys of a bucket, or of a segment, that one workgroup sorts.
    pub small_bucket: u32,
    /// The most keys of a segment that a thread of the network has in registers; 0 without segments.
    pub network_keys: u32,
    /// The most keys that one launch sorts; 0 if the request excludes the single launch.
    pub single_tile: u32,
    /// The tuned numbers that the plan depends on, and where they come from.
    pub sources: Vec<(&'static str, Source)>,
    /// The scratch buffers of the sort, and their bytes.
    pub scratch: Vec<(Buffer, u64)>,
    /// The commands of a sort of any length, in order.
    pub(super) long: Vec<Command>,
    /// The commands of a sort that fits one tile, in order.
    pub(super) short: Vec<Command>,
    /// The sort of the selected keys, if all workgroups together select them. Its keys are [`Buffer::Picked`], its
    /// values the [`value_buffer`](Request::value_buffer) of this plan.
    pub then: Option<Box<SortPlan>>,
}

impl SortPlan {
    /// Returns which commands sort `count` keys. `None` means that the count lies in a buffer: it may be as large as
    /// [`Request::max`].
    pub fn length(&self, count: Option<u64>) -> Length {
        match count {
            // Without keys, a selection or a search for runs must still write its result, and an argsort of segments must
            // write the indices of keys outside all segments.
            _ if !self.request.is_of_all_keys() => Length::Long,
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

    /// Whether a sort of up to [`Request::max`] keys may need the long commands: not if all of its keys always fit one tile.
    pub fn may_be_long(&self) -> bool {
        self.length(None) == Length::Long
    }

    /// The commands that a sort of up to [`Request::max`] keys may need.
    pub fn needed_commands(&self) -> impl Iterator<Item = &Command> {
        self.all_commands().skip(if self.may_be_long() { 0 } else { self.long.len() })
    }

    /// Returns the number of keys that the plan in `then` sorts, if this plan gets `count` keys. `None` means that the number
    /// lies in a buffer.
    pub fn then_count(&self, count: Option<u64>) -> Option<u64> {
        count.map(|count| count.min(self.request.top.map_or(count, |top| top.k.into())))
    }

    /// Returns whether the sort must copy the keys first. That is so if the index of their first word is not a multiple of a
    /// key's words: no binding can then address them as keys.
    pub fn keys_move(&self) -> bool {
        !self.request.is_packed() && !self.request.keys.first.is_multiple_of(self.request.key_words())
    }

    /// Returns whether the sort must copy the values first. That is so if the index of their first word is not a multiple of
    /// a value's words: no binding can then address them as values.
    pub fn values_move(&self) -> bool {
        let words = self.request.payload.words();
        words > 0 && !self.request.values.first.is_multiple_of(words)
    }

    /// Bytes of the status words of all tiles of a pass.
    pub(super) fn status_bytes(&self) -> u64 {
        let tiles = self.request.max.div_ceil(self.tile.max(1).into()).max(1);
        let most = if self.bucket_table().is_some() { self.bucket_tiles() } else { tiles };
        (4 * most) << self.radix_bits
    }

    /// Returns the workgroups of a command for `count` keys, as the two dimensions of a launch; for as many keys as the request allows if `count` is
    /// `None`. `groups` are the command's [`groups`](Command::groups). The product of the dimensions may be more than needed: the kernels ignore the rest.
    ///
    /// # Errors
    /// [`Error::TooLong`] if a dimension would be more than `max_groups`.
    pub fn grid(&self, groups: Groups, count: Option<u64>, max_groups: u32) -> Result<(u32, u32), Error> {
        // In a sort of segments, `count` is the number of segments, but the commands are launched for all keys.
        match (self.request.segments, self.request.top) {
            (Some(_), None) => groups.grid(self.request.max, max_groups),
            _ => groups.grid(count.unwrap_or(self.request.units()), max_groups),
        }
    }
}

impl core::fmt::Display for SortPlan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { request, algorithm, digits, single_tile, .. } = self;
        let (key, payload, max, digits) = (request.key_bits, request.payload, request.max, digits.len());
        if let Some(segments) = request.segments.filter(|_| request.top.is_none()) {
            write!(f, "up to {} segments, ", segments.max)?;
        }
        match (request.top, request.gather) {
            (None, Some(Gather { element_bytes, elements, .. })) => {
                writeln!(f, "gather of up to {max} of {elements} elements of {element_bytes} bytes")?;
            }
            (None, None) if request.runs.is_some() => writeln!(f, "runs of up to {max} keys of {key} bits")?,
            (None, None) => {
                writeln!(f, "{algorithm:?}: up to {max} keys of {key} bits, payload {payload:?}, {digits} digits")?;
            }
            (Some(Top { k, segmented: false }), _) => {
                writeln!(f, "first {k} of up to {max} keys of {key} bits, {digits} digits")?;
            }
            (Some(Top { k, .. }), _) => {
                let max = request.units();
                writeln!(f, "first {k} of each of up to {max} segments of keys of {key} bits, {digits} digits")?;
            }
        }
        for (numbers, source) in &self.sources {
            writeln!(f, "  {numbers}: {source}")?;
        }
        for (buffer, bytes) in &self.scratch {
            writeln!(f, "  {buffer:?}: {bytes} bytes")?;
        }
        if *single_tile > 0 {
            writeln!(f, "up to {single_tile} keys:")?;
            self.short.iter().try_for_each(|command| writeln!(f, "  {command}"))?;
        }
        writeln!(f, "more:")?;
        self.long.iter().try_for_each(|command| writeln!(f, "  {command}"))?;
        match &self.then {
            Some(then) => write!(f, "then {then}"),
            None => Ok(()),
        }
    }
}
