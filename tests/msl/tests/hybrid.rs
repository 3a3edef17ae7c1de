//! The MSD hybrid, command by command: each command must leave the same buffers as a plain model of it, bucket by bucket.
#![cfg(unix)]

mod digits;
mod sources;

use digits::spec;
use polysort_core::{Error, Spec, Word};
use polysort_kit::{is_thorough, step};
use polysort_msl::{Buffer as Bytes, Config, FACTS, Memory, MslBackend, Source};
use polysort_shaders::abi;
use polysort_shaders::plan::{
    Algorithm, BATCH_WORDS, Blocked, BucketTable, Buffer, Command, Digit, Facts, Kernel, Number, Payload, Place, Request,
    SortPlan, TILE_WORDS,
};
use std::ops::Range;

const RADIX: usize = 256;

/// The keys of each sort: enough for a few tiles and a few batches.
const KEYS: usize = 9000;
const BATCH: u32 = 2500;

/// A distribution of keys.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    Uniform,
    /// All keys share the highest digit. The most significant digit that varies is the next one, which has two values.
    OneBucket,
    /// The highest digit has two values, which are not adjacent. Most keys have the first value.
    TwoHuge,
    /// The first bucket has half of all keys, the last one has one key, the others have a few.
    Skewed,
    FewUnique,
    Sorted,
    Reversed,
    /// One digit varies, so that no pass follows the partition.
    OneDigit,
    /// Three digits vary, but not the highest nor the lowest. The number of passes is odd.
    ThreeDigits,
}

const PATTERNS: [Pattern; 9] = [
    Pattern::Uniform,
    Pattern::OneBucket,
    Pattern::TwoHuge,
    Pattern::Skewed,
    Pattern::FewUnique,
    Pattern::Sorted,
    Pattern::Reversed,
    Pattern::OneDigit,
    Pattern::ThreeDigits,
];

fn keys<W: Word>(pattern: Pattern, count: usize) -> Vec<W> {
    let mixed = |i: usize| u128::from((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
    let (bits, top) = (W::BITS, W::BITS - 8);
    let low = |i: usize| mixed(i) & ((1 << top) - 1);
    let key = |i: usize| match pattern {
        Pattern::Uniform => mixed(i),
        Pattern::OneBucket => 0x35 << top | (mixed(i) >> 40 & 1) << (top - 8) | low(i) & ((1 << (top - 8)) - 1),
        Pattern::TwoHuge => (if i.is_multiple_of(5) { 0xd0 } else { 0x11 }) << top | low(i),
        Pattern::Skewed if i == 77 => 0xff << top,
        Pattern::Skewed => (if i.is_multiple_of(2) { 0 } else { mixed(i) >> 20 & 0x7f }) << top | low(i),
        Pattern::FewUnique => mixed(i % 23),
        Pattern::Sorted => (i as u128) << (bits - 16),
        Pattern::Reversed => ((count - i) as u128) << (bits - 16),
        Pattern::OneDigit => 0x12 << top | (mixed(i) >> 9 & 0xff) << 8,
        Pattern::ThreeDigits if bits == 32 => mixed(i) & 0x0007_0fff | 0x5500_0000,
        Pattern::ThreeDigits => mixed(i) & 0x0003_00ff_00f0_0000 | 0x55 << top,
    };
    (0..count).map(|i| W::truncate(key(i))).collect()
}

/// The model of a sort.
struct Model<'a, W> {
    plan: &'a SortPlan,
    table: BucketTable,
    keys: &'a [W],
    /// The digits of the passes, in their order.
    schedule: Vec<Digit>,
    /// The indices of the keys, in the order after the partition.
    partition: Vec<usize>,
    /// The range of each bucket.
    buckets: Vec<Range<usize>>,
}

impl<'a, W: Word> Model<'a, W> {
    fn new(plan: &'a SortPlan, keys: &'a [W]) -> Self {
        let table = plan.bucket_table().expect("a hybrid has one");
        let mut model = Self { plan, table, keys, schedule: vec![], partition: (0..keys.len()).collect(), buckets: vec![] };
        let varies = |digit: &Digit| keys.iter().any(|&key| model.digit(key, digit) != model.digit(keys[0], digit));
        let rank = |key: W| plan.request.spec.rank(key);
        if keys.windows(2).any(|pair| rank(pair[1]) < rank(pair[0])) {
            model.schedule = plan.digits.iter().copied().filter(varies).collect();
        }
        if let Some(top) = model.schedule.pop() {
            model.schedule.insert(0, top);
            let mut partition = std::mem::take(&mut model.partition);
            partition.sort_by_key(|&i| model.digit(keys[i], &top));
            let ends = (0..RADIX).map(|bucket| partition.partition_point(|&i| model.digit(keys[i], &top) <= bucket));
            let ends: Vec<usize> = ends.collect();
            model.buckets = ends.iter().enumerate().map(|(b, &end)| if b == 0 { 0 } else { ends[b - 1] }..end).collect();
            model.partition = partition;
        }
        model
    }

    fn digit(&self, key: W, digit: &Digit) -> usize {
        digits::digit(self.plan, key, digit)
    }

    fn is_small(&self, bucket: usize) -> bool {
        self.buckets[bucket].len() <= self.plan.small_bucket as usize
    }

    /// Returns the tiles of a bucket. A small bucket has none: one threadgroup sorts it.
    fn tiles_of(&self, bucket: usize) -> usize {
        if self.is_small(bucket) { 0 } else { self.buckets[bucket].len().div_ceil(self.plan.tile as usize) }
    }

    /// Returns the buckets that start in a batch, without empty ones.
    fn all_of_batch(&self, batch: usize) -> impl Iterator<Item = usize> {
        let batch_of = |bucket: usize| self.buckets[bucket].start / self.plan.batch as usize;
        (0..RADIX).filter(move |&bucket| batch_of(bucket) == batch && !self.buckets[bucket].is_empty())
    }

    /// Returns the buckets that the passes of a batch sort.
    fn batch(&self, batch: usize) -> impl Iterator<Item = usize> {
        self.all_of_batch(batch).filter(|&bucket| !self.is_small(bucket))
    }

    /// Returns the indices of the keys of a bucket, in the order after pass `slot`.
    fn after(&self, slot: usize, bucket: usize) -> Vec<usize> {
        let mut positions = self.partition[self.buckets[bucket].clone()].to_vec();
        positions.sort_by_key(|&i| self.rank(slot, i));
        positions
    }

    /// Returns the digits of a key that the passes up to `slot` have sorted by.
    fn rank(&self, slot: usize, position: usize) -> Vec<usize> {
        self.schedule[1..=slot].iter().rev().map(|digit| self.digit(self.keys[position], digit)).collect()
    }

    /// Returns the distance by which a batch is moved to the start of the buffer that a pass writes.
    fn shift(&self, slot: usize, batch: usize) -> usize {
        let ends_elsewhere = (self.schedule.len() - 1 - slot) % 2 == 1;
        let start = self.all_of_batch(batch).next().map_or(0, |bucket| self.buckets[bucket].start);
        if slot > 0 && ends_elsewhere { start } else { 0 }
    }

    fn check(&self, command: &Command, memory: &Memory) {
        let number = |index: usize| match command.numbers[index] {
            Number::Is(number) => number as usize,
            Number::CountDigit(_) | Number::SecondCountDigit(_) => unreachable!(),
        };
        if self.schedule.is_empty() {
            return;
        }
        match command.variant.kernel() {
            Kernel::Onesweep => {
                (0..RADIX).for_each(|bucket| self.check_bucket(0, bucket, 0, written(command), memory));
            }
            _ if self.schedule.len() == 1 => {}
            Kernel::BucketTile => {
                let last = self.schedule.len() - 1;
                // The buffers of keys and values in which the sort ends: the scratch or home.
                let ends = if last.is_multiple_of(2) { [2, 4] } else { [3, 5] };
                (0..RADIX).filter(|&bucket| self.is_small(bucket)).for_each(|bucket| {
                    self.check_bucket(last, bucket, 0, ends.map(|end| command.bindings.get(end).copied()), memory);
                });
            }
            Kernel::Buckets => self.check_table(&memory[&Buffer::Buckets].values()),
            Kernel::BucketHistogram => {
                let table = memory[&Buffer::Buckets].values::<u32>();
                let status = memory[&Buffer::StatusOdd].values::<u32>();
                let tiles: usize = self.batch(number(0)).map(|bucket| self.tiles_of(bucket)).sum();
                assert!(status[..tiles * RADIX].iter().all(|&word| word == 0));
                for bucket in self.batch(number(0)) {
                    self.check_counts(bucket, &table);
                }
            }
            Kernel::BucketSweep => {
                let (slot, batch) = (number(0), number(1));
                if slot < self.schedule.len() {
                    for bucket in self.batch(batch) {
                        self.check_bucket(slot, bucket, self.shift(slot, batch), written(command), memory);
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks the keys of a bucket in the buffer that a pass has written.
    fn check_bucket(&self, slot: usize, bucket: usize, shift: usize, to: [Option<Buffer>; 2], memory: &Memory) {
        let (request, expected) = (&self.plan.request, self.after(slot, bucket));
        // A caller's buffer begins with words that are not sorted.
        let range = |buffer| {
            let first = match buffer {
                Buffer::Keys => request.keys.first / request.key_words(),
                Buffer::Values => request.values.first / request.payload.words(),
                _ => 0,
            };
            let start = first as usize + self.buckets[bucket].start - shift;
            start..start + expected.len()
        };
        let [to, values_to] = [to[0].expect("keys are written"), to[1].unwrap_or(Buffer::Values)];
        let mut found = memory[&to].values::<W>()[range(to)].to_vec();
        let mut keys: Vec<W> = expected.iter().map(|&i| self.keys[i]).collect();
        let what = format!("bucket {bucket} after pass {slot}, in {to:?} at {:?}", range(to));
        if request.payload == Payload::None {
            // Keys with the same digits may be in any order.
            let digits = |key: &W| self.schedule[1..=slot].iter().rev().map(|digit| self.digit(*key, digit)).collect::<Vec<_>>();
            assert!(found.iter().map(digits).eq(keys.iter().map(digits)), "digits of {what}");
            found.sort_unstable();
            keys.sort_unstable();
        } else {
            let (words, range) = (request.payload.words() as usize, range(values_to));
            let values = memory[&values_to].values::<u32>();
            let values = values[range.start * words..range.end * words].chunks_exact(words).map(|value| value[0] as usize);
            assert!(values.eq(expected.iter().copied()), "values of {what}");
        }
        assert!(found == keys, "keys of {what}");
    }

    /// Checks the tiles and the batches of the table.
    fn check_table(&self, table: &[u32]) {
        let BucketTable { batches, first_batch, first_tile, .. } = self.table;
        let row = |first: u32, words: u32, number: usize| &table[first as usize + number * words as usize..][..words as usize];
        let mut tiles = 0;
        for (bucket, range) in self.buckets.iter().enumerate() {
            let first = tiles;
            for start in range.clone().step_by(self.plan.tile as usize).take(self.tiles_of(bucket)) {
                let keys = (range.end - start).min(self.plan.tile as usize);
                assert_eq!(row(first_tile, TILE_WORDS, tiles), [start, keys, first, bucket].map(|word| word as u32));
                tiles += 1;
            }
        }
        assert!(tiles as u64 <= self.plan.bucket_tiles());
        assert_eq!(table.len() as u64, self.table.words);
        let mut keys = 0;
        for batch in 0..batches as usize {
            let buckets: Vec<usize> = self.all_of_batch(batch).collect();
            let (found, next) = (row(first_batch, BATCH_WORDS, batch), row(first_batch, BATCH_WORDS, batch + 1));
            assert_eq!((next[0] - found[0]) as usize, buckets.iter().map(|&bucket| self.tiles_of(bucket)).sum());
            if let (Some(&first), Some(&last)) = (buckets.first(), buckets.last()) {
                assert_eq!(found[1] as usize, self.buckets[first].start);
                assert!(self.buckets[last].start - self.buckets[first].start < self.plan.batch as usize);
            }
            assert!(found[2..].iter().all(|&ticket| ticket == 0));
            keys += buckets.iter().map(|&bucket| self.buckets[bucket].len()).sum::<usize>();
        }
        assert_eq!(keys, self.keys.len(), "every bucket is in a batch");
        assert!(table[..first_batch as usize].iter().all(|&count| count == 0));
    }

    /// Checks the counts of a bucket in the table.
    fn check_counts(&self, bucket: usize, table: &[u32]) {
        for (d, digit) in self.plan.digits.iter().enumerate() {
            if !self.schedule[1..].contains(digit) {
                continue;
            }
            let mut counts = [0; RADIX];
            self.partition[self.buckets[bucket].clone()].iter().for_each(|&i| counts[self.digit(self.keys[i], digit)] += 1);
            let smaller: Vec<u32> = (0..RADIX).map(|value| counts[..value].iter().sum()).collect();
            assert_eq!(table[self.table.smaller(bucket as u32, d as u32) as usize..][..RADIX], smaller, "digit {d} of {bucket}");
        }
    }
}

/// Returns the buffers of keys, and of values if there are any, that a pass writes.
fn written(command: &Command) -> [Option<Buffer>; 2] {
    let first = if command.variant.kernel() == Kernel::Onesweep { 6 } else { 8 };
    [first, first + 2].map(|binding| command.bindings.get(binding).copied())
}

/// Sorts, and checks the buffers after each command. Returns the number of recounts.
fn check<W: Word>(source: Source, pattern: Pattern, payload: Payload, spec: Spec, blocked: Blocked, seed: u64) -> u32 {
    let keys = keys::<W>(pattern, KEYS);
    let words = payload.words();
    // Offsets that bindings can address, and offsets at which the sort must copy the elements first.
    let first = [0, 12, 5][seed as usize % 3];
    let place = Place { first };
    let max = KEYS as u64 + 1000 * (seed % 2);
    let algorithm = Some(Algorithm::MsdHybrid);
    let request = Request::keys(W::BITS, spec, max);
    // The largest small bucket: none, a few keys, or a few hundred.
    let small_bucket = [Some(0), Some(40), None][seed as usize / 2 % 3];
    let request = Request { payload, algorithm, blocked, batch: Some(BATCH), small_bucket, ..request };
    let request = Request { keys: place, values: place, ..request };
    let plan = SortPlan::new(request, &FACTS).unwrap();
    let model = Model::new(&plan, &keys);
    let backend = MslBackend::open_with(Config { seed, ..Config::of(source) }).unwrap();
    let before = vec![0xa5a5_a5a5_u32; first as usize];
    let placed = |elements: &[u32]| Bytes::of(&[&before, elements].concat());
    let mut values: Vec<u32> = (0..KEYS as u32).flat_map(|i| (0..words).map(move |word| i + word)).collect();
    if payload == Payload::Indices {
        values.fill(u32::MAX);
    }
    let mut memory = Memory::from([(Buffer::Keys, placed(bytemuck::cast_slice(&keys))), (Buffer::Values, placed(&values))]);
    backend.launch_each(&plan, KEYS as u64, &mut memory, |command, memory| model.check(command, memory)).unwrap();

    let mut order: Vec<usize> = (0..KEYS).collect();
    order.sort_by_key(|&i| spec.rank(keys[i]));
    if payload != Payload::None {
        let found = memory[&Buffer::Values].values::<u32>();
        let found = found[first as usize..].chunks_exact(words as usize).map(|value| value[0] as usize);
        assert!(found.eq(order.iter().copied()), "{pattern:?}");
    }
    let expected: Vec<W> = if payload == Payload::Indices { keys.clone() } else { order.iter().map(|&i| keys[i]).collect() };
    assert!(memory[&Buffer::Keys] == placed(bytemuck::cast_slice(&expected)), "{pattern:?}");
    memory[&Buffer::State].values::<u32>()[abi::STATE_RECOUNTS as usize]
}

fn buckets_of_u32_are_those_of_the_model(source: Source) {
    // Every second pattern, if the test is not thorough, and in turn without and with a payload.
    for (number, pattern) in PATTERNS.into_iter().enumerate().step_by(step(2)) {
        let payloads = [Payload::None, [Payload::Indices, Payload::Words(1), Payload::Words(3)][number % 3]];
        let taken = if is_thorough() { &payloads[..] } else { &payloads[number / 2 % 2..][..1] };
        for &payload in taken {
            check::<u32>(source, pattern, payload, Spec::unsigned::<u32>(), Blocked::NONE, number as u64);
        }
        if is_thorough() {
            let payload = [Payload::Words(1), Payload::None][number % 2];
            check::<u32>(source, pattern, payload, spec::<u32>(number + 1), Blocked::NONE, number as u64 + 100);
        }
    }
}

fn buckets_of_u64_are_those_of_the_model(source: Source) {
    // Every third pattern, if the test is not thorough.
    for (number, pattern) in PATTERNS.into_iter().enumerate().step_by(step(3)) {
        let payload = [Payload::None, Payload::Words(2), Payload::Indices, Payload::Words(4)][number % 4];
        check::<u64>(source, pattern, payload, spec::<u64>(number), Blocked::NONE, number as u64);
    }
}

/// The look-back over buckets recounts blocked tiles too.
fn blocked_tiles_are_recounted(source: Source) {
    for (number, blocked) in [Blocked::one_of(2), Blocked::run(0, 1), Blocked::run(1, u32::MAX)].into_iter().enumerate() {
        for pattern in [Pattern::OneBucket, Pattern::TwoHuge] {
            let payload = [Payload::None, Payload::Words(1)][number % 2];
            let one_pass = check::<u32>(source, Pattern::OneDigit, payload, Spec::unsigned::<u32>(), blocked, number as u64);
            let all = check::<u32>(source, pattern, payload, Spec::unsigned::<u32>(), blocked, number as u64);
            assert!(one_pass > 0 && all > one_pass, "{all} tiles counted by others, {one_pass} of them in the partition");
        }
    }
}

/// Sorted keys stay where they are: the buffers of the passes do not change.
fn sorted_keys_are_only_counted(source: Source) {
    let keys = keys::<u32>(Pattern::Sorted, KEYS);
    let request = Request { algorithm: Some(Algorithm::MsdHybrid), ..Request::keys(32, Spec::unsigned::<u32>(), KEYS as u64) };
    let plan = SortPlan::new(request, &FACTS).unwrap();
    let backend = MslBackend::open_with(Config::of(source)).unwrap();
    let mut memory = Memory::from([(Buffer::Keys, Bytes::of(&keys)), (Buffer::Values, Bytes::default())]);
    let mut before = Memory::new();
    let written = [Buffer::Scratch, Buffer::Buckets, Buffer::StatusOdd, Buffer::Keys];
    let launched = |command: &Command, memory: &Memory| {
        if command.variant.kernel() == Kernel::Scan {
            before = memory.clone();
        }
        assert!(before.is_empty() || written.iter().all(|buffer| before[buffer] == memory[buffer]), "{command}");
    };
    backend.launch_each(&plan, KEYS as u64, &mut memory, launched).unwrap();
    assert!(!before.is_empty());
}

each_source!(
    buckets_of_u32_are_those_of_the_model
    buckets_of_u64_are_those_of_the_model
    blocked_tiles_are_recounted
    sorted_keys_are_only_counted
);

#[test]
fn unsupported_requests_are_refused() {
    let request = |bits, spec| Request { algorithm: Some(Algorithm::MsdHybrid), ..Request::keys(bits, spec, 1000) };
    for (bits, spec) in [(8, Spec::unsigned::<u8>()), (16, Spec::unsigned::<u16>()), (128, Spec::unsigned::<u128>())] {
        assert!(matches!(SortPlan::new(request(bits, spec), &FACTS), Err(Error::Unsupported { .. })));
    }
    let request = request(32, Spec::unsigned::<u32>());
    assert!(SortPlan::new(request, &FACTS).is_ok());
    let facts = Facts { subgroups: None, ..FACTS };
    assert!(matches!(SortPlan::new(request, &facts), Err(Error::Unsupported { .. })));
}
