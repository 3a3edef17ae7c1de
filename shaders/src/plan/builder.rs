//! Collects the commands of a plan.

use super::command::{Buffer, COUNT_DIGITS, Command, Groups, Number, VALUE_BLOCK, When, each, state_words};
use super::digit::RADIX;
use super::kernel_shape::KernelShape;
use super::request::{Algorithm, Payload};
use super::shapes::Shapes;
use super::sort_plan::SortPlan;
use super::tuning::{COPY_GROUPS, COPY_TILE, COUNT_TEAMS, PASS_GROUPS, team_keys};
use super::variant::Variant;

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
            if let (Algorithm::Counting, Some(count)) = (plan.algorithm, self.shapes.count_values)
                && let Some(spans) = count.spans()
            {
                self.count_values(count, spans);
                return;
            }
            self.histogram();
            if packed {
                let bindings = [Buffer::Sort, Buffer::State, Buffer::Keys, Buffer::Spare];
                self.push(self.packed(KernelShape::Widen), bindings, [], each(1, COPY_TILE));
            }
            if plan.algorithm == Algorithm::MsdHybrid {
                self.hybrid();
            } else {
                (0..plan.digits.len() as u32).for_each(|slot| self.pass(slot));
            }
        }
        if indexed {
            let identity = self.shapes.plain(KernelShape::Identity);
            self.push(identity, [Buffer::Sort, Buffer::State, self.values_home], [], each(1, COPY_TILE));
        } else if packed {
            if !plan.digits.is_empty() {
                let bindings = [Buffer::Sort, Buffer::State, Buffer::Spare, Buffer::Scratch, Buffer::Keys];
                self.push(self.packed(KernelShape::Narrow), bindings, [], self.words_of_keys());
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
        // An argsort only reads the keys.
        if plan.request.payload != Payload::Indices {
            if plan.keys_move() {
                self.copy(When::Always, plan.request.key_words(), (Buffer::Spare, 0), (Buffer::Keys, plan.request.keys.first));
            }
            if plan.values_move() {
                let to = (Buffer::Values, plan.request.values.first);
                self.copy(When::Always, plan.request.payload.words(), (Buffer::ValuesSpare, 0), to);
            }
        }
        self.widen_indices();
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
            Buffer::Status if request.runs.is_some() => plan.run_status_bytes(),
            Buffer::Status | Buffer::StatusOdd => plan.status_bytes(),
            Buffer::Buckets => 4 * table.map_or(0, |table| table.words),
            Buffer::Scratch | Buffer::Spare => keys * request.max.max(1),
            // Indices of 32 bits, which become numbers of 64 bits.
            Buffer::Values if request.wide_indices.is_some() => values * request.results().max(1),
            Buffer::ValuesScratch | Buffer::ValuesSpare => values * request.max.max(1),
            // The caller provides the bounds, unless the offsets of the segments lie in buffers.
            Buffer::Bounds if request.segments.is_some() => 8 * request.units().max(1),
            Buffer::Lists => list_bytes,
            Buffer::Picked => keys * request.picked().max(1),
            Buffer::PickedCount => 4,
            Buffer::Candidates | Buffer::CandidatesOdd => 4 * self.candidates(buffer == Buffer::CandidatesOdd),
            Buffer::RunOffsets | Buffer::RunLengths | Buffer::Unique => self.run_bytes(buffer),
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
        let begin = Variant { radix_bits: self.plan.radix_bits, ..self.shapes.plain(KernelShape::Begin) };
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
        let keys = self.shapes.histogram_keys;
        let status_tile = look_back.then_some(plan.tile);
        let histogram = Variant { shape: KernelShape::Histogram { keys, status_tile }, ..self.shapes.histogram };
        let source = if packed { Buffer::Keys } else { self.source };
        let mut bindings = vec![Buffer::Sort, Buffer::State, source];
        if look_back {
            bindings.push(Buffer::Status);
        }
        self.push(histogram, bindings, [], each(1, histogram.group * keys));
        let scan = Variant { radix_bits: plan.radix_bits, ..Variant::of(KernelShape::Scan, 32, RADIX) };
        self.push(scan, [Buffer::Sort, Buffer::State], [], Groups::Fixed(plan.digits.len() as u32));
    }

    /// Adds the commands of a counting sort. A team of `count` has a workgroup for each of `spans`.
    fn count_values(&mut self, count: Variant, spans: u32) {
        let bindings = [Buffer::Sort, Buffer::State, Buffer::Keys];
        let teams = Groups::AtMost { most: COUNT_TEAMS, of: team_keys(self.plan.request.max), team: spans };
        self.push(count, bindings, [], teams);
        let of_values = |shape| Variant { shape, group: VALUE_BLOCK, ..count };
        let (scan, fill) = (of_values(KernelShape::ScanValues), of_values(KernelShape::Fill));
        self.push(scan, [Buffer::Sort, Buffer::State], [], Groups::Fixed(count.radix() / VALUE_BLOCK));
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
                let tile = self.plan.tile;
                let upsweep = Variant { shape: KernelShape::Upsweep { tile }, ..downsweep };
                self.push(upsweep, bindings.clone(), number, tiles);
                let spine = Variant::of(KernelShape::Spine { tile }, 32, downsweep.group);
                self.push(spine, [Buffer::Number, Buffer::State, Buffer::Status], number, Groups::Fixed(RADIX));
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
        self.push(self.shapes.plain(KernelShape::Copy), bindings, numbers, groups);
    }

    /// Returns a kernel that reads or writes the caller's keys of 8 or 16 bits.
    pub(super) fn packed(&self, shape: KernelShape) -> Variant {
        Variant::of(shape, self.plan.request.key_bits, self.shapes.group)
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
