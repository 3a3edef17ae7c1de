//! Plain Rust models of all kernels of a sort: element by element, with keys of 128 bits.

mod buckets;
mod counting;
mod passes;
mod runs;
mod selection;

use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::{
    Buffer, COUNT_DIGIT_BITS, Command, Digit, Kernel, KernelShape, Number, Payload, SortPlan, state_words,
};

/// Applies `command` to the buffers, for a launch of `groups` workgroups and `count` keys.
pub(crate) fn step(plan: &SortPlan, command: &Command, count: usize, groups: u64, on: &mut Contents) {
    let model = Model { plan, command, count };
    match command.variant.kernel() {
        Kernel::Begin => {
            let state = model.state(on);
            state[..state_words(plan.radix_bits) as usize].fill(0);
            // Before a selection from segments, the number of keys is fixed, and the count is that of segments.
            model.state(on)[abi::STATE_COUNT as usize] = model.launched_count() as u32;
        }
        Kernel::Histogram => model.histogram(on),
        Kernel::Scan => model.scan(on),
        Kernel::CountValues => model.count_values(on),
        Kernel::ScanValues => model.scan_values(on),
        Kernel::Onesweep => model.onesweep(on, groups as u32),
        Kernel::Buckets => model.buckets(on),
        Kernel::BucketTile => model.bucket_tile(on),
        Kernel::BucketHistogram => model.bucket_histogram(on),
        Kernel::BucketSweep => model.bucket_sweep(on, groups as u32),
        Kernel::Upsweep => model.upsweep(on),
        Kernel::Spine => model.spine(on),
        Kernel::Downsweep => model.downsweep(on),
        Kernel::SingleTile => model.single_tile(on),
        Kernel::Copy => model.copy(on),
        Kernel::Identity => {
            if model.passes(on) == 0 {
                let first = model.first(command.bindings[2]);
                let indices = model.buffer(on, 2);
                (0..count).for_each(|i| indices[first + i] = i as u32);
            }
        }
        Kernel::Widen => {
            let keys: Vec<u32> = (0..count).map(|i| model.source_key(on, command.bindings[2], i) as u32).collect();
            model.buffer(on, 3)[..count].copy_from_slice(&keys);
        }
        Kernel::Narrow => {
            let from = command.bindings[if model.passes(on) % 2 == 1 { 3 } else { 2 }];
            (0..count).for_each(|i| model.put_packed(on, i, on[&from][i]));
        }
        Kernel::Fill => model.fill(on),
        Kernel::TopK => model.top_k(on),
        Kernel::PickCount => model.pick_count(on),
        Kernel::PickDigit => model.pick_digit(on),
        Kernel::PickTally => model.pick_tally(on),
        Kernel::PickSpine => model.pick_spine(on),
        Kernel::Pick => model.pick(on),
        Kernel::SegmentBounds => model.segment_bounds(on),
        Kernel::BeginRuns => model.begin_runs(on),
        Kernel::Runs => model.runs(on, groups as u32),
        Kernel::Gather => model.gather(on),
        Kernel::WidenIndices => model.widen_indices(on),
        kernel => unreachable!("the kernel {} has no model here", kernel.name()),
    }
}

/// Brings keys that a pass may write in any order into one order. If equal keys are identical, these are the keys of one digit in the first
/// pass, and of one digit of a bucket in the first pass over the bucket.
pub(crate) fn settle(plan: &SortPlan, command: &Command, count: usize, on: &mut Contents) {
    let model = Model { plan, command, count };
    let request = &plan.request;
    let last_free = match command.variant.kernel() {
        Kernel::Onesweep => 0,
        Kernel::BucketSweep => 1,
        _ => return,
    };
    if request.payload != Payload::None || request.spec.width() < request.key_bits || model.number(0) > last_free {
        return;
    }
    let Some(d) = model.scheduled(on) else { return };
    let (_, to) = model.ends();
    // The keys of a bucket share the digit of the partition.
    let top = if last_free == 1 { model.top_scheduled(on) } else { d };
    let digits = |key: u128| [top, d].map(|d| model.digit_of(key, &plan.digits[d]));
    let mut keys: Vec<u128> = (0..count).map(|i| model.key(on, to, i)).collect();
    keys.chunk_by_mut(|&one, &next| digits(one) == digits(next)).for_each(<[u128]>::sort_unstable);
    keys.iter().enumerate().for_each(|(i, &key)| model.put_key(on, to, i, key));
}

struct Model<'a> {
    plan: &'a SortPlan,
    command: &'a Command,
    count: usize,
}

impl Model<'_> {
    /// Returns the keys of a tile of the kernel, which must have tiles.
    fn tile(&self) -> usize {
        self.command.variant.tile().expect("a kernel with tiles") as usize
    }

    /// Moves each key, and its value, to its index in `places`.
    fn scatter(&self, on: &mut Contents, places: &[u32]) {
        let moves: Vec<(usize, usize)> = places.iter().map(|&place| place as usize).enumerate().collect();
        self.move_all(on, &moves);
    }

    /// Moves keys, and their values. Each move is an index to read from, and one to write to.
    fn move_all(&self, on: &mut Contents, moves: &[(usize, usize)]) {
        let (from, to) = self.ends();
        let keys: Vec<u128> = moves.iter().map(|&(i, _)| self.key(on, from, i)).collect();
        keys.iter().zip(moves).for_each(|(&key, &(_, place))| self.put_key(on, to, place, key));
        let &[.., from, to] = &self.command.bindings[..] else { unreachable!("a pass has many bindings") };
        match self.plan.request.payload {
            Payload::None => {}
            Payload::Indices if self.number(0) == 0 => {
                let first = self.first(to);
                moves.iter().for_each(|&(i, place)| self.contents(on, to)[first + place] = i as u32);
            }
            _ => self.move_values(on, (from, to), moves),
        }
    }

    fn move_values(&self, on: &mut Contents, (from, to): (Buffer, Buffer), moves: &[(usize, usize)]) {
        let (words, from_first, to_first) = (self.plan.request.payload.words() as usize, self.first(from), self.first(to));
        let value = |i: usize| on[&from][(from_first + i) * words..][..words].to_vec();
        let values: Vec<Vec<u32>> = moves.iter().map(|&(i, _)| value(i)).collect();
        for (value, &(_, place)) in values.iter().zip(moves) {
            self.contents(on, to)[(to_first + place) * words..][..words].copy_from_slice(value);
        }
    }

    /// Returns the buffer that the pass reads keys from, and the one that it writes to.
    fn ends(&self) -> (Buffer, Buffer) {
        let first = match self.command.variant.kernel() {
            Kernel::Onesweep => 5,
            Kernel::BucketSweep => 7,
            _ => 4,
        };
        let bindings = &self.command.bindings;
        (bindings[first], bindings.get(first + 1).copied().unwrap_or(bindings[first]))
    }

    /// Returns the digit of each key that the pass reads.
    fn digits(&self, on: &Contents, d: usize) -> Vec<usize> {
        (0..self.count).map(|i| self.digit_of(self.key(on, self.ends().0, i), &self.plan.digits[d])).collect()
    }

    /// Returns the digit that the pass sorts by; `None` if the pass is not scheduled.
    fn scheduled(&self, on: &Contents) -> Option<usize> {
        self.scheduled_in(on, if self.command.variant.kernel() == Kernel::BucketSweep { 3 } else { 2 })
    }

    fn scheduled_in(&self, on: &Contents, state: usize) -> Option<usize> {
        assert_eq!(self.command.bindings[state], Buffer::State);
        let slot = self.number(0);
        let varies = on[&Buffer::State][abi::STATE_VARIES as usize];
        let partitions = matches!(self.command.variant.shape, KernelShape::Onesweep { partitions: true, .. });
        let nth = |n: usize| (0..32).filter(|bit| varies >> bit & 1 == 1).nth(n);
        let digit = match self.command.variant.kernel() {
            Kernel::BucketSweep => nth(slot - 1),
            Kernel::Onesweep if partitions => nth((varies.count_ones() as usize).saturating_sub(1)),
            _ => nth(slot),
        };
        digit.filter(|_| slot < self.passes(on))
    }

    /// Returns the digit of the partition: the most significant digit that varies.
    fn top_scheduled(&self, on: &Contents) -> usize {
        on[&Buffer::State][abi::STATE_VARIES as usize].ilog2() as usize
    }

    fn passes(&self, on: &Contents) -> usize {
        let state = &on[&Buffer::State];
        if state[abi::STATE_DESCENTS as usize] == 0 { 0 } else { state[abi::STATE_VARIES as usize].count_ones() as usize }
    }

    /// Returns the offset of the first element in a buffer; it may differ from 0 in the caller's buffers only.
    fn first(&self, buffer: Buffer) -> usize {
        let request = &self.plan.request;
        match buffer {
            Buffer::Keys => (request.keys.first / request.key_words()) as usize,
            Buffer::Values => (request.values.first / request.payload.words()) as usize,
            _ => 0,
        }
    }

    fn key(&self, on: &Contents, buffer: Buffer, i: usize) -> u128 {
        let words = self.plan.request.key_words() as usize;
        let key = &on[&buffer][(self.first(buffer) + i) * words..][..words];
        key.iter().rev().fold(0, |key, &word| key << 32 | u128::from(word))
    }

    fn put_key(&self, on: &mut Contents, buffer: Buffer, i: usize, key: u128) {
        let words = self.plan.request.key_words() as usize;
        let first = self.first(buffer);
        let to = &mut self.contents(on, buffer)[(first + i) * words..][..words];
        to.iter_mut().enumerate().for_each(|(word, to)| *to = (key >> (32 * word)) as u32);
    }

    /// Returns a key of the input. A key of 8 or 16 bits becomes the top of a word.
    fn source_key(&self, on: &Contents, buffer: Buffer, i: usize) -> u128 {
        if !self.plan.request.is_packed() {
            return self.key(on, buffer, i);
        }
        let (at, shift, mask) = self.packed_at(i);
        u128::from((on[&buffer][at] >> shift & mask) << (32 - self.plan.request.key_bits))
    }

    fn put_packed(&self, on: &mut Contents, i: usize, key: u32) {
        let (at, shift, mask) = self.packed_at(i);
        let word = &mut self.contents(on, Buffer::Keys)[at];
        *word = *word & !(mask << shift) | key >> (32 - self.plan.request.key_bits) << shift;
    }

    fn packed_at(&self, i: usize) -> (usize, usize, u32) {
        let bits = self.plan.request.key_bits as usize;
        (self.plan.request.keys.first as usize + i * bits / 32, i * bits % 32, (1 << bits) - 1)
    }

    fn ordered(&self, key: u128) -> u128 {
        let sign = key >> (32 * self.plan.request.key_words() - 1) & 1;
        key ^ if sign == 1 { self.plan.masks.set } else { self.plan.masks.clear }
    }

    fn digit_of(&self, key: u128, digit: &Digit) -> usize {
        (self.ordered(key) >> (32 * digit.word + digit.shift)) as usize & ((1 << digit.bits) - 1)
    }

    /// Returns the windowed ordered bits of a key.
    pub(crate) fn rank(&self, key: u128) -> u128 {
        let (begin, end) = self.plan.window;
        if begin == end { 0 } else { self.ordered(key) >> begin & u128::MAX >> (128 - (end - begin)) }
    }

    /// Returns the number in the first three numbers of the command: the count, or a number that is the same for all counts.
    fn launched_count(&self) -> usize {
        match self.command.numbers[0] {
            Number::Is(_) => (0..3).map(|digit| self.number(digit) << (COUNT_DIGIT_BITS as usize * digit)).sum(),
            _ => self.count,
        }
    }

    fn number(&self, index: usize) -> usize {
        match self.command.numbers[index] {
            Number::Is(number) => number as usize,
            Number::CountDigit(_) | Number::SecondCountDigit(_) => unreachable!("the number of keys is known"),
        }
    }

    /// Returns the number of values of a digit.
    fn radix(&self) -> usize {
        1 << self.plan.radix_bits
    }

    /// Returns the first word of the histogram of a digit, in the state.
    fn histogram_of(&self, digit: usize) -> usize {
        abi::STATE_HISTOGRAM as usize + digit * self.radix()
    }

    fn state<'a>(&self, on: &'a mut Contents) -> &'a mut Vec<u32> {
        self.contents(on, Buffer::State)
    }

    fn buffer<'a>(&self, on: &'a mut Contents, binding: usize) -> &'a mut Vec<u32> {
        self.contents(on, self.command.bindings[binding])
    }

    fn contents<'a>(&self, on: &'a mut Contents, buffer: Buffer) -> &'a mut Vec<u32> {
        on.get_mut(&buffer).unwrap_or_else(|| panic!("{buffer:?} is no buffer of this plan"))
    }
}

fn next_of(place: &mut u32) -> u32 {
    *place += 1;
    *place - 1
}
