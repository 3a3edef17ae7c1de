//! The commands of a plan: the launches of an executor, in order.

use super::shape::{Kernel, Ranking, Shapes, Variant};
use super::tuning::{COPY_GROUPS, COPY_TILE, COUNT_TEAMS, PASS_GROUPS, team_keys};
use super::{Algorithm, MAX_DIGITS, Payload, RADIX, RADIX_BITS, SortPlan, Top, WIDE_RADIX_BITS};
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
    /// The caller's values, or the result of an argsort or a selection.
    Values,
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
    /// A digit of ten bits of the number of keys, 0 the lowest. If that number lies in a buffer, the highest digit is
    /// [`COUNT_ON_DEVICE`](crate::abi::COUNT_ON_DEVICE).
    CountDigit(u32),
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
            Groups::Each { units, of } => most * u64::from(of) / u64::from(units),
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
        let Variant { kernel, group, keys, tile, ranking, slices, runs, .. } = self.variant;
        write!(f, "{:<12} {group:>4} × {keys:<3} tile {tile:<6}", kernel.name())?;
        let ranked = match ranking {
            None => String::new(),
            Some(Ranking::Counters) => "counters".into(),
            Some(Ranking::Ballot { rows, wide: false }) => format!("ballot {rows} rows"),
            Some(Ranking::Ballot { rows, wide: true }) => format!("wide ballot {rows} rows"),
        };
        let slices = if slices > 1 { format!("{slices} slices") } else { String::new() };
        write!(f, "{ranked:<16} {slices:<8} {:<5}", if runs { "runs" } else { "" })?;
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
                    None => write!(f, " ?")?,
                },
                buffer => write!(f, " {buffer:?}")?,
            }
        }
        Ok(())
    }
}

impl core::fmt::Display for SortPlan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { request, algorithm, digits, single_tile, .. } = self;
        let (key, payload, max, digits) = (request.key_bits, request.payload, request.max, digits.len());
        if let Some(segments) = request.segments {
            write!(f, "up to {} segments, ", segments.max)?;
        }
        match request.top {
            None => writeln!(f, "{algorithm:?}: up to {max} keys of {key} bits, payload {payload:?}, {digits} digits")?,
            Some(Top { k, segmented: false }) => writeln!(f, "first {k} of up to {max} keys of {key} bits, {digits} digits")?,
            Some(Top { k, .. }) => {
                writeln!(f, "first {k} of each of up to {max} segments of keys of {key} bits, {digits} digits")?;
            }
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

/// The result of a builder: the commands, and the scratch buffers that they need, with their bytes.
type Built = (Vec<Command>, Vec<(Buffer, u64)>);

/// Collects the commands of a plan.
pub(super) struct Builder<'a> {
    pub(super) plan: &'a SortPlan,
    pub(super) shapes: &'a Shapes,
    commands: Vec<Command>,
    /// The buffer from which the first pass reads keys.
    source: Buffer,
    /// The buffer of the keys after an even number of passes.
    pub(super) home: Buffer,
    /// The buffer of the values after an even number of passes.
    pub(super) values_home: Buffer,
}

impl<'a> Builder<'a> {
    pub(super) fn new(plan: &'a SortPlan, shapes: &'a Shapes) -> Self {
        let (request, indexed) = (&plan.request, plan.request.payload == Payload::Indices);
        let source = if plan.keys_move() || request.is_packed() { Buffer::Spare } else { Buffer::Keys };
        let home = if indexed { Buffer::Spare } else { source };
        let values_home = if plan.values_move() { Buffer::ValuesSpare } else { Buffer::Values };
        Self { plan, shapes, commands: vec![], source, home, values_home }
    }

    /// Adds the commands of a sort of any length.
    pub(super) fn long(&mut self) {
        let plan = self.plan;
        let indexed = plan.request.payload == Payload::Indices;
        let packed = plan.request.is_packed();
        self.begin();
        self.move_in();
        if !plan.digits.is_empty() {
            if let (Algorithm::Counting, Some(shape)) = (plan.algorithm, self.shapes.count_values) {
                self.count_values(shape);
                return;
            }
            self.histogram();
            if packed {
                let bindings = [Buffer::Sort, Buffer::State, Buffer::Keys, Buffer::Spare];
                self.push(self.packed(Kernel::Widen), bindings, [], each(1, COPY_TILE));
            }
            if plan.algorithm == Algorithm::MsdHybrid {
                self.hybrid();
            } else {
                (0..plan.digits.len() as u32).for_each(|slot| self.pass(slot));
            }
        }
        if indexed {
            let identity = self.shapes.copying(Kernel::Identity);
            self.push(identity, [Buffer::Sort, Buffer::State, self.values_home], [], each(1, COPY_TILE));
        } else if packed {
            if !plan.digits.is_empty() {
                let bindings = [Buffer::Sort, Buffer::State, Buffer::Spare, Buffer::Scratch, Buffer::Keys];
                self.push(self.packed(Kernel::Narrow), bindings, [], self.words_of_keys());
            }
        } else {
            self.bring_home(self.home, Buffer::Scratch, Buffer::Keys, plan.request.key_words(), plan.request.keys.first);
        }
        if plan.request.payload != Payload::None {
            let words = plan.request.payload.words();
            self.bring_home(self.values_home, Buffer::ValuesScratch, Buffer::Values, words, plan.request.values.first);
        }
    }

    /// Returns the commands of a sort that fits one tile.
    pub(super) fn short(mut self) -> Vec<Command> {
        let (plan, single) = (self.plan, self.shapes.single);
        let moves = plan.keys_move() || plan.values_move();
        if moves {
            self.begin();
            self.move_in();
        }
        let keys = if plan.keys_move() { Buffer::Spare } else { Buffer::Keys };
        let mut bindings = vec![Buffer::Number, Buffer::Number, Buffer::Number, Buffer::Sort, Buffer::Count, keys];
        if plan.request.payload != Payload::None {
            bindings.push(self.values_home);
        }
        self.push(single, bindings, COUNT_DIGITS, Groups::Fixed(1));
        // An argsort only reads the keys, and writes the indices to the caller's buffer.
        if plan.request.payload != Payload::Indices {
            if plan.keys_move() {
                self.copy(When::Always, plan.request.key_words(), (Buffer::Spare, 0), (Buffer::Keys, plan.request.keys.first));
            }
            if plan.values_move() {
                let to = (Buffer::Values, plan.request.values.first);
                self.copy(When::Always, plan.request.payload.words(), (Buffer::ValuesSpare, 0), to);
            }
        }
        self.commands
    }

    /// Returns the commands, and the scratch buffers that they need, with their bytes.
    pub(super) fn finish(self) -> Built {
        let (request, plan) = (&self.plan.request, self.plan);
        let (keys, values) = (4 * u64::from(request.key_words()), 4 * u64::from(request.payload.words()));
        let table = plan.bucket_table();
        let list_bytes = self.list_bytes();
        let bytes = |buffer: Buffer| match buffer {
            Buffer::State => 4 * u64::from(state_words(plan.radix_bits)),
            Buffer::Status if request.top.is_some() => self.tally_bytes(),
            Buffer::Status | Buffer::StatusOdd => plan.status_bytes(),
            Buffer::Buckets => 4 * table.map_or(0, |table| table.words),
            Buffer::Scratch | Buffer::Spare => keys * request.max.max(1),
            Buffer::ValuesScratch | Buffer::ValuesSpare => values * request.max.max(1),
            Buffer::Lists => list_bytes,
            Buffer::Picked => keys * request.picked().max(1),
            Buffer::PickedCount => 4,
            Buffer::Candidates | Buffer::CandidatesOdd => 4 * self.candidates(buffer == Buffer::CandidatesOdd),
            // The others are the caller's, or belong to the device.
            _ => 0,
        };
        let mut used: Vec<Buffer> = self.commands.iter().flat_map(|command| command.bindings.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let scratch = used.into_iter().map(|buffer| (buffer, bytes(buffer))).filter(|&(_, bytes)| bytes > 0).collect();
        (self.commands, scratch)
    }

    pub(super) fn begin(&mut self) {
        self.begin_with(COUNT_DIGITS);
    }

    /// Adds the command that starts a sort of this number of keys.
    pub(super) fn begin_with(&mut self, count: [Number; 3]) {
        let bindings = [Buffer::Number, Buffer::Number, Buffer::Number, Buffer::Sort, Buffer::Count, Buffer::State];
        let begin = Variant { kernel: Kernel::Begin, radix_bits: self.plan.radix_bits, ..self.shapes.plain };
        self.push(begin, bindings, count, Groups::Fixed(1));
    }

    /// Adds copies of keys or values whose offset does not allow a binding to address them as elements.
    pub(super) fn move_in(&mut self) {
        let request = &self.plan.request;
        if self.plan.keys_move() {
            self.copy(When::Always, request.key_words(), (Buffer::Keys, request.keys.first), (Buffer::Spare, 0));
        }
        if self.plan.values_move() {
            self.copy(When::Always, request.payload.words(), (Buffer::Values, request.values.first), (Buffer::ValuesSpare, 0));
        }
    }

    fn histogram(&mut self) {
        let plan = self.plan;
        let look_back = plan.algorithm.looks_back();
        let packed = plan.request.is_packed();
        let shape = self.shapes.histogram;
        let keys = shape.group * shape.keys;
        let shape = Variant { look_back, tile: if look_back { plan.tile } else { 0 }, ..shape };
        let source = if packed { Buffer::Keys } else { self.source };
        let mut bindings = vec![Buffer::Sort, Buffer::State, source];
        if look_back {
            bindings.push(Buffer::Status);
        }
        self.push(shape, bindings, [], each(1, keys));
        let scan = Variant { kernel: Kernel::Scan, group: RADIX, radix_bits: plan.radix_bits, ..self.shapes.plain };
        self.push(scan, [Buffer::Sort, Buffer::State], [], Groups::Fixed(plan.digits.len() as u32));
    }

    /// Adds the commands of a counting sort.
    fn count_values(&mut self, shape: Variant) {
        let bindings = [Buffer::Sort, Buffer::State, Buffer::Keys];
        let teams = Groups::AtMost { most: COUNT_TEAMS, of: team_keys(self.plan.request.max), team: shape.spans() };
        self.push(shape, bindings, [], teams);
        let of_values = |kernel| Variant { radix_bits: shape.radix_bits, group: VALUE_BLOCK, ..self.packed(kernel) };
        let (scan, fill) = (of_values(Kernel::ScanValues), of_values(Kernel::Fill));
        self.push(scan, [Buffer::Sort, Buffer::State], [], Groups::Fixed(shape.radix() / VALUE_BLOCK));
        self.push(fill, bindings, [], self.words_of_keys());
    }

    /// Returns the status words that a pass uses, and those that it clears for the next pass.
    pub(super) fn status(&self, slot: u32) -> [Buffer; 2] {
        if slot.is_multiple_of(2) { [Buffer::Status, Buffer::StatusOdd] } else { [Buffer::StatusOdd, Buffer::Status] }
    }

    /// Returns the buffer that a pass reads keys from, and the one that it writes keys to.
    pub(super) fn keys(&self, slot: u32) -> [Buffer; 2] {
        match slot {
            0 => [self.source, Buffer::Scratch],
            slot if slot % 2 == 1 => [Buffer::Scratch, self.home],
            _ => [self.home, Buffer::Scratch],
        }
    }

    /// Returns the buffer that a pass reads values from, and the one that it writes values to; empty without values.
    pub(super) fn values(&self, slot: u32) -> Vec<Buffer> {
        match slot % 2 {
            _ if self.plan.request.payload == Payload::None => vec![],
            0 => vec![self.values_home, Buffer::ValuesScratch],
            _ => vec![Buffer::ValuesScratch, self.values_home],
        }
    }

    pub(super) fn pass(&mut self, slot: u32) {
        let [from, to] = self.keys(slot);
        let number = [Number::Is(slot)];
        let mut bindings = vec![Buffer::Number, Buffer::Sort, Buffer::State];
        let mut tiles = each(1, self.plan.tile);
        let moving = match self.shapes.onesweep {
            Some(onesweep) if self.plan.algorithm.looks_back() => {
                bindings.extend(self.status(slot));
                bindings.push(from);
                tiles = Groups::AtMost { most: PASS_GROUPS, of: self.plan.tile, team: 1 };
                onesweep
            }
            _ => {
                bindings.extend([Buffer::Status, from]);
                let downsweep = self.shapes.downsweep;
                let plain = Variant { value_words: 0, indexed: false, ranking: None, keys: 0, unrolled: false, ..downsweep };
                self.push(Variant { kernel: Kernel::Upsweep, ..plain }, bindings.clone(), number, tiles);
                let spine = [Buffer::Number, Buffer::State, Buffer::Status];
                let shape = Variant { kernel: Kernel::Spine, key_bits: 32, ..plain };
                self.push(shape, spine, number, Groups::Fixed(RADIX));
                downsweep
            }
        };
        bindings.push(to);
        bindings.extend(self.values(slot));
        self.push(moving, bindings, number, tiles);
    }

    /// Adds the copies to the caller's buffer. After an odd number of passes, the result is in the scratch; after an even
    /// number, it is in `home`.
    fn bring_home(&mut self, home: Buffer, scratch: Buffer, callers: Buffer, width: u32, first: u32) {
        let passes = !self.plan.digits.is_empty();
        if passes {
            self.copy(When::Odd, width, (scratch, 0), (callers, first));
        }
        if home != callers {
            self.copy(When::Even, width, (home, 0), (callers, first));
        }
    }

    pub(super) fn copy(&mut self, when: When, width: u32, from: (Buffer, u32), to: (Buffer, u32)) {
        let numbers = [when as u32, width, from.1, to.1].map(Number::Is);
        let bindings = [Buffer::Number, Buffer::Number, Buffer::Number, Buffer::Number, Buffer::State, from.0, to.0];
        let groups = Groups::AtMost { most: COPY_GROUPS, of: COPY_TILE / width, team: 1 };
        self.push(self.shapes.copying(Kernel::Copy), bindings, numbers, groups);
    }

    pub(super) fn packed(&self, kernel: Kernel) -> Variant {
        Variant { key_bits: self.plan.request.key_bits, packed: true, ..self.shapes.copying(kernel) }
    }

    pub(super) fn words_of_keys(&self) -> Groups {
        each(1, COPY_TILE * 32 / self.plan.request.key_bits)
    }

    pub(super) fn push(
        &mut self,
        variant: Variant,
        bindings: impl Into<Vec<Buffer>>,
        numbers: impl IntoIterator<Item = Number>,
        groups: Groups,
    ) {
        let numbers = numbers.into_iter().collect();
        self.commands.push(Command { variant, bindings: bindings.into(), numbers, groups });
    }
}

/// Bits of the digits in which a number of keys is recorded.
pub const COUNT_DIGIT_BITS: u32 = 10;

/// Returns a digit of a number of keys, 0 the lowest.
pub fn count_digit(keys: u32, digit: u32) -> u32 {
    keys >> (COUNT_DIGIT_BITS * digit) & ((1 << COUNT_DIGIT_BITS) - 1)
}

pub(super) const COUNT_DIGITS: [Number; 3] = [Number::CountDigit(0), Number::CountDigit(1), Number::CountDigit(2)];

pub(super) fn each(units: u32, of: u32) -> Groups {
    Groups::Each { units, of }
}

impl SortPlan {
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

    /// Returns the workgroups for a count of keys, as the two dimensions of a launch.
    ///
    /// # Errors
    /// [`Error::TooLong`] if a dimension would be more than `max_groups`.
    pub fn grid(&self, groups: Groups, count: Option<u64>, max_groups: u32) -> Result<(u32, u32), Error> {
        // In a sort of segments, `count` is the number of segments.
        let keys = if self.request.segments.is_some() { None } else { count };
        groups.grid(keys.unwrap_or(self.request.max), max_groups)
    }
}
