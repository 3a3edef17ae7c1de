//! The commands of a plan: the launches of an executor, in order.

use super::digit::{MAX_DIGITS, RADIX_BITS, WIDE_RADIX_BITS};
use super::ranked_tile::{Ballot, Ranking};
use super::variant::Variant;
use polysort_core::Error;

/// Words of the state before the histogram.
pub const STATE_HEADER: u32 = 32;

/// Returns the words of the state of a sort with digits of `radix_bits` bits. They include the counts of each digit that a
/// key can have.
pub const fn state_words(radix_bits: u32) -> u32 {
    let words = match radix_bits {
        RADIX_BITS => MAX_DIGITS << RADIX_BITS,
        WIDE_RADIX_BITS => MAX_WIDE_DIGITS << WIDE_RADIX_BITS,
        // Counting sort: a word for each block of values, and one for each value.
        bits => VALUE_BLOCK + (1 << bits),
    };
    STATE_HEADER + words
}

/// The values of a block. One workgroup of a counting sort adds up the counts of a block. It is also the largest number of
/// blocks.
pub const VALUE_BLOCK: u32 = 256;

/// The most wide digits of a key: three in each of two words.
const MAX_WIDE_DIGITS: u32 = 2 * 32_u32.div_ceil(WIDE_RADIX_BITS);

/// The last level of a selection is passed to the kernel as its number plus this.
pub const LAST_LEVEL: u32 = 512;

/// A buffer, by its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Buffer {
    /// The table of numbers: a uniform, at the dynamic offset of the command's next number.
    Number,
    /// The parameters of the sort: a uniform, [`abi::Sort`](crate::abi::Sort).
    Sort,
    /// The count buffer, if there is one; else any readable buffer.
    Count,
    /// The state of the sort: number of keys, schedule, tickets and histogram.
    State,
    /// Status words of the tiles, in even passes.
    Status,
    /// Status words of the tiles, in odd passes.
    StatusOdd,
    /// The table of buckets, tiles and batches: a [`BucketTable`](super::BucketTable).
    Buckets,
    /// The caller's keys.
    Keys,
    /// The keys after an odd number of passes.
    Scratch,
    /// The keys after an even number of passes, if not in the caller's buffer.
    Spare,
    /// The caller's values, or the indices of 32 bits that an argsort or a selection writes.
    Values,
    /// The result of an argsort or a selection, if its indices have 64 bits.
    WideIndices,
    /// The values after an odd number of passes.
    ValuesScratch,
    /// The values after an even number of passes, if not in the caller's buffer.
    ValuesSpare,
    /// Begin and end of each segment to select from.
    Bounds,
    /// The begin of each segment to sort.
    Begins,
    /// The end of each segment to sort.
    Ends,
    /// The lists of the segments of each class: [`SegmentLists`](super::SegmentLists).
    Lists,
    /// The keys that all workgroups together selected.
    Picked,
    /// The number of these keys.
    PickedCount,
    /// The indices that a level with an even number has selected.
    Candidates,
    /// The indices that a level with an odd number has selected.
    CandidatesOdd,
    /// The parameters of a step of a merge: a uniform, [`abi::Merge`](crate::abi::Merge).
    Merge,
    /// The count buffer of the second run, if there is one; else any readable buffer. [`Buffer::Count`] is that of the
    /// first.
    SecondCount,
    /// The keys of the first run of a merge.
    FirstKeys,
    /// The keys of the second run of a merge.
    SecondKeys,
    /// The keys that a merge writes.
    MergedKeys,
    /// The values of the first run of a merge.
    FirstValues,
    /// The values of the second run of a merge.
    SecondValues,
    /// The values that a merge writes.
    MergedValues,
    /// The points of the merge path: those between two steps, and those at the tiles of a step.
    Path,
    /// The number of runs of equal keys.
    RunCount,
    /// The first key of each run.
    Unique,
    /// The index of the first key of each run, and after them the number of keys.
    RunOffsets,
    /// The number of keys of each run.
    RunLengths,
    /// The elements from which a gather reads.
    GatherFrom,
    /// The elements that a gather writes.
    GatherTo,
    /// The parameters of a vector search: a uniform, [`abi::Search`](crate::abi::Search).
    Search,
    /// The queries.
    Queries,
    /// A page of vectors.
    Vectors,
    /// The slot of each entry.
    Entries,
    /// The entry of each candidate.
    Listed,
    /// The offset of the first candidate of each query, and the number of all candidates.
    Offsets,
    /// The distance of each candidate.
    Distances,
    /// The slot of each candidate.
    Slots,
    /// The number of candidates without an entry or a slot.
    Faults,
    /// The indices of the nearest candidates of each query, in the list of all candidates.
    Positions,
    /// The distances of the nearest candidates.
    NearDistances,
    /// The slots of the nearest candidates.
    NearSlots,
}

/// A number that a command passes to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// This number.
    Is(u32),
    /// A digit of [`COUNT_DIGIT_BITS`] bits of the number of keys, 0 the lowest. If that number lies in a buffer, the highest
    /// digit is [`COUNT_ON_DEVICE`](crate::abi::COUNT_ON_DEVICE). A merge has two numbers of keys; this is the first.
    CountDigit(u32),
    /// A digit of the second number of keys of a merge.
    SecondCountDigit(u32),
}

/// The condition under which a copy runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// After an odd number of passes.
    Odd = 0,
    /// After an even number of passes, or none.
    Even = 1,
    /// Always.
    Always = 2,
}

/// The number of workgroups that a command launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Groups {
    /// This number.
    Fixed(u32),
    /// One for every `of` units, rounded up. A key has `units` of them.
    Each {
        /// Units of a key.
        units: u32,
        /// Units of a workgroup.
        of: u32,
    },
    /// A team of workgroups for every `of` keys, rounded up, but at most `most` teams. Each team takes work until none is
    /// left.
    AtMost {
        /// The largest number of teams.
        most: u32,
        /// Keys of a team.
        of: u32,
        /// Workgroups of a team.
        team: u32,
    },
}

impl Groups {
    /// Returns the number of workgroups for `count` keys.
    pub fn for_keys(self, count: u64) -> u64 {
        match self {
            Groups::Fixed(groups) => groups.into(),
            Groups::Each { units, of } => (count * u64::from(units)).div_ceil(of.into()),
            Groups::AtMost { most, of, team } => count.div_ceil(of.into()).min(most.into()) * u64::from(team),
        }
    }

    /// Returns the workgroups for `count` keys, as the two dimensions of a launch.
    ///
    /// # Errors
    /// [`Error::TooLong`] if a dimension would be more than `max_groups`.
    pub fn grid(self, count: u64, max_groups: u32) -> Result<(u32, u32), Error> {
        let groups = self.for_keys(count);
        let rows = groups.div_ceil(max_groups.into()).max(1);
        let most = u64::from(max_groups) * u64::from(max_groups);
        let limit = match self {
            Groups::Fixed(_) | Groups::AtMost { .. } => most,
            Groups::Each { units, of } => most.saturating_mul(of.into()) / u64::from(units),
        };
        let too_long = || Error::TooLong { what: "the device".into(), asked: count, limit };
        let columns = u32::try_from(groups.div_ceil(rows)).map_err(|_| too_long())?;
        if rows > u64::from(max_groups) {
            return Err(too_long());
        }
        Ok((columns, rows as u32))
    }
}

/// A launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The kernel.
    pub variant: Variant,
    /// The buffers, in the order of the bindings from 0 on.
    pub bindings: Vec<Buffer>,
    /// The numbers, in the order of the [`Buffer::Number`] bindings.
    pub numbers: Vec<Number>,
    /// The number of workgroups.
    pub groups: Groups,
}

impl core::fmt::Display for Command {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let shape = &self.variant.shape;
        // What a kernel does not have is left blank.
        let keys = shape.keys().map_or(String::new(), |keys| format!("× {keys}"));
        let tile = self.variant.tile().map_or(String::new(), |tile| format!("tile {tile}"));
        write!(f, "{:<16} {:>4} {keys:<5} {tile:<11}", self.variant.kernel().name(), self.variant.group)?;
        let ranked = match (shape.ballot(), shape.ranked_tile().map(|tile| tile.ranking)) {
            (Some(Ballot { rows, wide: false }), _) => format!("ballot {rows} rows"),
            (Some(Ballot { rows, wide: true }), _) => format!("wide ballot {rows} rows"),
            (None, Some(Ranking::Counters)) => "counters".into(),
            (None, _) => String::new(),
        };
        let pass = shape.pass_tile();
        let slices = pass.filter(|tile| tile.slices > 1).map_or(String::new(), |tile| format!("{} slices", tile.slices));
        let runs = if pass.is_some_and(|tile| tile.runs) { "runs" } else { "" };
        let unrolled = if shape.unrolled() == Some(true) { "unrolled" } else { "" };
        write!(f, "{ranked:<16} {slices:<8} {runs:<5}{unrolled:<9}")?;
        match self.groups {
            Groups::Fixed(groups) => write!(f, "groups {groups:<14}")?,
            Groups::Each { units: 1, of } => write!(f, "groups n/{of:<12}")?,
            Groups::Each { units, of } => write!(f, "groups {units}n/{of:<11}")?,
            Groups::AtMost { most, of, team } => {
                let team = if team > 1 { format!("{team} × ") } else { String::new() };
                write!(f, "groups {:<14}", format!("{team}n/{of} ≤ {most}"))?;
            }
        }
        let mut numbers = self.numbers.iter();
        for binding in &self.bindings {
            match binding {
                Buffer::Number => match numbers.next() {
                    Some(Number::Is(number)) => write!(f, " {number}")?,
                    Some(Number::CountDigit(digit)) => write!(f, " n.{digit}")?,
                    Some(Number::SecondCountDigit(digit)) => write!(f, " m.{digit}")?,
                    None => write!(f, " ?")?,
                },
                buffer => write!(f, " {buffer:?}")?,
            }
        }
        Ok(())
    }
}

/// Bits of the digits in which a number of keys is recorded. A number has 32 bits; its third digit has ten of them.
pub const COUNT_DIGIT_BITS: u32 = 11;

/// Returns a digit of a number of keys, 0 the lowest.
pub fn count_digit(keys: u32, digit: u32) -> u32 {
    keys >> (COUNT_DIGIT_BITS * digit) & ((1 << COUNT_DIGIT_BITS) - 1)
}

pub(super) const COUNT_DIGITS: [Number; 3] = [Number::CountDigit(0), Number::CountDigit(1), Number::CountDigit(2)];

/// Returns the digits of a number of keys that is the same in each recording.
pub(super) fn fixed_digits(keys: u32) -> [Number; 3] {
    [0, 1, 2].map(|digit| Number::Is(count_digit(keys, digit)))
}

pub(super) fn each(units: u32, of: u32) -> Groups {
    Groups::Each { units, of }
}
