//! Sorts of segments, command by command: each command must leave the same buffers as a plain model of it.
#![cfg(unix)]

mod sources;

use polysort_core::{Masks, Spec, Word};
use polysort_kit::step;
use polysort_msl::{self as msl, Buffer as Bytes, Config, FACTS, Memory, MslBackend, Schedule, Source};
use polysort_shaders::plan::{
    Algorithm, BATCH_WORDS, Blocked, BucketTable, Buffer, Command, Digit, Kernel, Number, Payload, Place, RADIX, Request,
    SegmentLists, Segmented, SortPlan, TILE_WORDS,
};
use polysort_shaders::{abi, manifest};
use std::ops::Range;

const KEYS: usize = 14_000;

/// The words around the memory that the kernels may write.
const MARGIN: u32 = 0xa5a5_a5a5;

/// The flag of a status word: an inclusive count.
const AGGREGATE: u32 = 1 << 30;
const INCLUSIVE: u32 = 2 << 30;

/// A distribution of lengths of segments.
#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Lengths around the ends of all classes, in random order.
    Classes,
    /// Many segments of a few keys: more than one workgroup lists at a time.
    Tiny,
    /// One segment of nearly all keys, and some short ones.
    Huge,
    /// Segments of whole tiles, and several long ones. There are so many segments between them that one workgroup does not list all long ones.
    Long,
    /// No segment has more than one key.
    Empty,
    /// There are no segments.
    Nothing,
    /// Some segments end after the last key, begin there, or end before they begin.
    Cut,
}

/// Lengths around the ends of all classes of the network, and of the class of small segments.
const ENDS: [u32; 34] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025,
    1399, 1400, 1401, 2100,
];

/// Returns a pseudo-random number (SplitMix64).
fn mixed(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Returns begin and end of each segment. Segments do not overlap; some have gaps between them.
fn bounds(pattern: Pattern, seed: u64) -> Vec<[u32; 2]> {
    let mut lengths: Vec<u32> = match pattern {
        Pattern::Classes => ENDS.to_vec(),
        Pattern::Tiny => (0..700).map(|i| mixed(seed ^ i) as u32 % 19).collect(),
        Pattern::Huge => vec![11_000, 2, 100, 3, 600],
        Pattern::Long => [4096, 1537, 3072, 1401, 3000, 50].into_iter().chain((0..300).map(|i| i % 2)).collect(),
        Pattern::Empty => vec![0, 1, 1, 0, 1],
        Pattern::Nothing => vec![],
        Pattern::Cut => vec![1500, 5, 40, 3000, 700],
    };
    lengths.sort_by_key(|&length| mixed(seed ^ u64::from(length) << 20));
    let (mut bounds, mut at) = (vec![], 1);
    for (i, length) in lengths.into_iter().enumerate() {
        at += i as u32 % 3;
        bounds.push([at, at + length]);
        at += length;
    }
    let end = KEYS as u32;
    assert!(at <= end);
    if matches!(pattern, Pattern::Cut) {
        // All segments but the first are empty.
        let others = [[end - 2000, end + 77], [end, end + 9], [end + 5, u32::MAX], [u32::MAX, 4], [300, 200], [end - 100, 7]];
        bounds.splice(2..2, others);
    }
    bounds.sort_by_key(|&[begin, end]| mixed(seed ^ u64::from(begin) << 20 ^ u64::from(end)));
    bounds
}

/// Returns a key. Keys have few values, which differ in all bits. So many keys of a segment agree in some digits or in all, and some keys have
/// the largest digits.
fn key<W: Word>(i: usize) -> W {
    match u128::from(mixed(i as u64) % 97) {
        few @ 0..=5 => W::truncate(u128::MAX >> (128 - W::BITS + few as u32 % 2)),
        few => W::truncate(few.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)),
    }
}

/// The model of a sort of segments.
struct Model<'a, W> {
    plan: &'a SortPlan,
    lists: SegmentLists,
    table: BucketTable,
    keys: &'a [W],
    /// The segments of each class.
    classes: Vec<Vec<Range<usize>>>,
    /// The most workgroups of a launch.
    most_groups: u32,
    /// The index of each key in the input, in the current order.
    order: Vec<usize>,
    /// The buffers after the last command.
    before: Memory,
}

/// Writes words to a buffer.
fn put(memory: &mut Memory, to: Buffer, first: usize, words: &[u32]) {
    let bytes = memory.get_mut(&to).expect("it is there").bytes_mut();
    bytes[4 * first..][..4 * words.len()].copy_from_slice(bytemuck::cast_slice(words));
}

impl<'a, W: Word> Model<'a, W> {
    fn new(plan: &'a SortPlan, keys: &'a [W], bounds: &[[u32; 2]], most_groups: u32) -> Self {
        let (lists, table) = (plan.segment_lists().expect("it has lists"), plan.bucket_table().expect("it has a table"));
        let mut classes = vec![vec![]; SegmentLists::CLASSES as usize];
        for &[begin, end] in bounds {
            let end = (end as usize).min(keys.len());
            let length = end.saturating_sub(begin as usize);
            // The teams of each class are twice as large as those of the class before.
            let class = match length as u32 {
                0 | 1 => continue,
                length if length <= lists.network() => length.div_ceil(plan.network_keys).next_power_of_two().ilog2(),
                length if length <= plan.small_bucket => SegmentLists::SMALL,
                _ => SegmentLists::LONG,
            };
            classes[class as usize].push(begin as usize..end);
        }
        Self { plan, lists, table, keys, classes, most_groups, order: (0..keys.len()).collect(), before: Memory::new() }
    }

    /// Returns a key as the kernels sort it: a key of 8 or 16 bits is in the top of a word.
    fn wide(&self, key: W) -> u128 {
        key.widen() << (32 * self.plan.request.key_words() - W::BITS)
    }

    fn digit(&self, key: u128, digit: &Digit) -> usize {
        let top = 32 * self.plan.request.key_words() - 1;
        let ordered = key ^ if key >> top & 1 == 1 { self.plan.masks.set } else { self.plan.masks.clear };
        (ordered >> (32 * digit.word + digit.shift)) as usize & ((1 << digit.bits) - 1)
    }

    fn tiles(&self, range: &Range<usize>) -> usize {
        range.len().div_ceil(self.plan.tile as usize)
    }

    /// Returns the long segments in the order of their list, and the first tile of each.
    fn long(&self, memory: &Memory) -> Vec<(Range<usize>, usize)> {
        let lists = memory[&Buffer::Lists].values::<u32>();
        let at = |class: u32| (0..class).map(|class| 2 * self.lists.capacity(class) as usize).sum::<usize>();
        let (list, tiles) = (at(SegmentLists::LONG), at(SegmentLists::CLASSES));
        let segments = lists[list..tiles].chunks_exact(2).map(|pair| (pair[0] as usize, pair[1] as usize));
        let segments = segments.zip(&lists[tiles..]).take(self.classes[SegmentLists::LONG as usize].len());
        segments.map(|((begin, keys), &tile)| (begin..begin + keys, tile as usize)).collect()
    }

    fn check(&mut self, command: &Command, memory: &Memory) {
        let mut expected = std::mem::take(&mut self.before);
        let at = |binding: usize| command.bindings.get(binding).copied();
        let number = |index: usize| match command.numbers[index] {
            Number::Is(number) => number as usize,
            Number::CountDigit(_) | Number::SecondCountDigit(_) => unreachable!(),
        };
        match command.variant.kernel() {
            Kernel::Segments => self.check_lists(&mut expected, memory),
            Kernel::SegmentNetwork => self.sort(0..SegmentLists::SMALL, [at(3), at(4)], &mut expected),
            Kernel::SegmentTile => self.sort(SegmentLists::SMALL..SegmentLists::LONG, [at(3), at(4)], &mut expected),
            Kernel::LongSegments => self.cut(&mut expected),
            Kernel::BucketHistogram => self.count(&mut expected, at(4), [at(6), at(8)]),
            Kernel::BucketSweep => self.check_pass(&mut expected, memory, number(0), command),
            kernel => {
                assert_ne!(kernel.entry().model, manifest::Model::Runner, "the kernel {} has no model here", kernel.name());
                expected = memory.clone();
            }
        }
        for (buffer, found) in memory.iter().filter(|(buffer, _)| !matches!(buffer, Buffer::Number | Buffer::Count)) {
            let differs = || {
                let (found, expected) = (found.values::<u32>(), expected[buffer].values::<u32>());
                let at = (0..found.len()).find(|&at| found[at] != expected[at]).unwrap_or(0);
                format!("word {at} of {buffer:?} is {:#x}, not {:#x}, after {command}", found[at], expected[at])
            };
            assert!(*found == expected[buffer], "{}", differs());
        }
        self.before = memory.clone();
    }

    /// Checks that each list has the segments of its class, in any order, and that no other word is written.
    fn check_lists(&self, expected: &mut Memory, memory: &Memory) {
        let lists = memory[&Buffer::Lists].values::<u32>();
        let counted = abi::STATE_HISTOGRAM as usize;
        let mut at = 0;
        for (class, segments) in self.classes.iter().enumerate() {
            let capacity = self.lists.capacity(class as u32) as usize;
            assert!(segments.len() <= capacity, "{} segments of class {class} of {capacity}", segments.len());
            put(expected, Buffer::State, counted + class, &[segments.len() as u32]);
            let list = &lists[at..][..2 * segments.len()];
            put(expected, Buffer::Lists, at, list);
            let mut found: Vec<[u32; 2]> = list.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
            let mut segments: Vec<[u32; 2]> = segments.iter().map(|range| [range.start as u32, range.len() as u32]).collect();
            found.sort_unstable();
            segments.sort_unstable();
            assert_eq!(found, segments, "class {class}");
            at += 2 * capacity;
        }
        assert_eq!(lists.len(), (at + self.lists.capacity(SegmentLists::LONG) as usize).max(1));
        let mut long = self.long(memory);
        put(expected, Buffer::Lists, at, &lists[at..][..long.len()]);
        long.sort_by_key(|&(_, first_tile)| first_tile);
        let tiles = long.iter().fold(0, |tiles, (range, first_tile)| {
            assert_eq!(*first_tile, tiles);
            tiles + self.tiles(range)
        });
        assert!(tiles as u64 <= self.plan.bucket_tiles());
        put(expected, Buffer::State, counted + SegmentLists::CLASSES as usize, &[tiles as u32]);
    }

    /// Sorts the segments of some classes in the model; other words stay as they were.
    fn sort(&mut self, classes: Range<u32>, to: [Option<Buffer>; 2], expected: &mut Memory) {
        for range in classes.flat_map(|class| self.classes[class as usize].clone()) {
            self.order[range.clone()].sort_by_key(|&i| self.plan.request.spec.rank(self.keys[i]));
            self.write(expected, to, range.start, &self.order[range.clone()]);
        }
    }

    /// Returns the offset of the first element in a buffer, in words. It may differ from 0 in the caller's buffers only.
    fn first(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Keys => self.plan.request.keys.first as usize,
            Buffer::Values => self.plan.request.values.first as usize,
            _ => 0,
        }
    }

    /// Writes the keys, and the values, that had these indices in the input.
    fn write(&self, memory: &mut Memory, to: [Option<Buffer>; 2], start: usize, positions: &[usize]) {
        let (key_words, value_words) = (self.plan.request.key_words(), self.plan.request.payload.words());
        if let Some(to) = to[0] {
            let word = |i: usize, word: u32| (self.wide(self.keys[i]) >> (32 * word)) as u32;
            let words: Vec<u32> = positions.iter().flat_map(|&i| (0..key_words).map(move |w| word(i, w))).collect();
            put(memory, to, self.first(to) + start * key_words as usize, &words);
        }
        if let Some(to) = to[1] {
            let words: Vec<u32> = positions.iter().flat_map(|&i| (0..value_words).map(move |w| i as u32 + w)).collect();
            put(memory, to, self.first(to) + start * value_words as usize, &words);
        }
    }

    /// Writes the table: a record for each tile, and one batch.
    fn cut(&self, memory: &mut Memory) {
        let long = self.long(memory);
        let BucketTable { lower_digits, first_batch, first_tile, words, .. } = self.table;
        assert_eq!(memory[&Buffer::Buckets].values::<u32>().len() as u64, words);
        let tiles: usize = long.iter().map(|(range, _)| self.tiles(range)).sum();
        let batches: Vec<u32> = (0..2 * BATCH_WORDS).map(|word| if word == BATCH_WORDS { tiles as u32 } else { 0 }).collect();
        put(memory, Buffer::Buckets, first_batch as usize, &batches);
        for (segment, (range, first)) in long.iter().enumerate() {
            let counts = vec![0; (lower_digits * RADIX) as usize];
            put(memory, Buffer::Buckets, self.table.smaller(segment as u32, 0) as usize, &counts);
            for (tile, start) in range.clone().step_by(self.plan.tile as usize).enumerate() {
                let keys = (range.end - start).min(self.plan.tile as usize);
                let row = [start, keys, *first, segment].map(|word| word as u32);
                put(memory, Buffer::Buckets, first_tile as usize + (first + tile) * TILE_WORDS as usize, &row);
            }
        }
    }

    /// Writes the counts: for each value of each digit of a long segment, the number of its keys with a smaller value. If the first pass reads the
    /// scratch, the keys are copied there.
    fn count(&self, memory: &mut Memory, status: Option<Buffer>, copies: [Option<Buffer>; 2]) {
        let mut tiles = 0;
        for (segment, (range, _)) in self.long(memory).into_iter().enumerate() {
            for (d, digit) in self.plan.digits.iter().enumerate() {
                let mut counts = [0; RADIX as usize];
                range.clone().for_each(|i| counts[self.digit(self.wide(self.keys[i]), digit)] += 1);
                let smaller: Vec<u32> = (0..counts.len()).map(|value| counts[..value].iter().sum()).collect();
                put(memory, Buffer::Buckets, self.table.smaller(segment as u32, d as u32) as usize, &smaller);
            }
            assert_eq!(copies[0].is_some(), self.plan.digits.len() % 2 == 1);
            self.write(memory, copies, range.start, &range.clone().collect::<Vec<_>>());
            tiles += self.tiles(&range);
        }
        put(memory, status.expect("it clears one"), 0, &vec![0; tiles * RADIX as usize]);
    }

    /// Checks a pass: it sorts each long segment by one more digit, stably unless equal keys are identical. Other keys do not move.
    fn check_pass(&self, expected: &mut Memory, memory: &Memory, slot: usize, command: &Command) {
        let Request { payload, spec, blocked, .. } = self.plan.request;
        let at = |binding: usize| command.bindings.get(binding).copied();
        let [status, next, from, to] = [5, 6, 7, 8].map(|binding| command.bindings[binding]);
        let (key_words, value_words) = (self.plan.request.key_words() as usize, payload.words() as usize);
        let pass = slot - (2 - self.plan.digits.len() % 2);
        let digit_of = |key: &[u32]| {
            self.digit(key.iter().rev().fold(0, |wide, &word| wide << 32 | u128::from(word)), &self.plan.digits[pass])
        };
        let is_free = pass == 0 && payload == Payload::None && spec.width() == W::BITS;
        let published = memory[&status].values::<u32>();
        let mut tiles = 0;
        for (range, first_tile) in self.long(memory) {
            let source = self.words(expected, from, &range, key_words);
            let digits: Vec<usize> = source.chunks_exact(key_words).map(digit_of).collect();
            let mut order: Vec<usize> = (0..range.len()).collect();
            order.sort_by_key(|&i| digits[i]);
            let gathered =
                |words: &[u32], each: usize| order.iter().flat_map(|&i| words[each * i..][..each].to_vec()).collect::<Vec<_>>();
            let mut sorted = gathered(&source, key_words);
            if is_free {
                let found = self.words(memory, to, &range, key_words);
                assert!(found.chunks_exact(key_words).map(digit_of).is_sorted(), "digits of {range:?} after {command}");
                let [mut left, mut right] = [&sorted, &found].map(|words| words.chunks_exact(key_words).collect::<Vec<_>>());
                left.sort_unstable();
                right.sort_unstable();
                assert!(left == right, "keys of {range:?} after {command}");
                sorted = found;
            }
            put(expected, to, self.first(to) + range.start * key_words, &sorted);
            if let (Some(from), Some(to)) = (at(9), at(10)) {
                let values = gathered(&self.words(expected, from, &range, value_words), value_words);
                put(expected, to, self.first(to) + range.start * value_words, &values);
            }
            // A tile has published its inclusive counts, its own counts, or nothing if it is blocked.
            let mut sums = [0; RADIX as usize];
            for (tile, digits) in (first_tile..).zip(digits.chunks(self.plan.tile as usize)) {
                let mut counts = [0; RADIX as usize];
                digits.iter().for_each(|&digit| counts[digit] += 1);
                for digit in 0..RADIX as usize {
                    sums[digit] += counts[digit];
                    let found = published[tile * RADIX as usize + digit];
                    let is_blocked = blocked.contains(tile as u32) && [0, AGGREGATE | counts[digit]].contains(&found);
                    assert!(found == INCLUSIVE | sums[digit] || is_blocked, "{found:#x} of tile {tile} after {command}");
                    put(expected, status, tile * RADIX as usize + digit, &[found]);
                }
            }
            tiles += self.tiles(&range);
        }
        put(expected, next, 0, &vec![0; tiles * RADIX as usize]);
        // Each workgroup takes one ticket for which there is no tile.
        let ticket = self.table.first_batch as usize + abi::BATCH_TICKETS as usize + slot;
        put(expected, Buffer::Buckets, ticket, &[tiles as u32 + (command.groups.for_keys(0) as u32).min(self.most_groups)]);
        let recounts = memory[&Buffer::State].values::<u32>()[abi::STATE_RECOUNTS as usize];
        put(expected, Buffer::State, abi::STATE_RECOUNTS as usize, &[recounts]);
    }

    /// Returns the words of some elements of a buffer.
    fn words(&self, memory: &Memory, buffer: Buffer, range: &Range<usize>, each: usize) -> Vec<u32> {
        memory[&buffer].values()[self.first(buffer) + each * range.start..][..each * range.len()].to_vec()
    }
}

/// The configuration of a sort of segments.
#[derive(Clone, Copy, Debug)]
struct How {
    source: Source,
    algorithm: Option<Algorithm>,
    /// The most keys of a segment that one workgroup sorts.
    small: Option<u32>,
    blocked: Blocked,
}

/// Returns the usual configuration: kernels rank with ballots.
fn ballots(source: Source) -> How {
    How { source, algorithm: None, small: Some(1400), blocked: Blocked::NONE }
}

/// Returns the configuration in which kernels rank with counters.
fn counters(source: Source) -> How {
    How { algorithm: Some(Algorithm::ReduceThenScan), ..ballots(source) }
}

/// A plan, and the caller's buffers.
struct Launch<W> {
    plan: SortPlan,
    backend: MslBackend,
    keys: Vec<W>,
    count: u64,
    memory: Memory,
}

impl<W: Word> Launch<W> {
    /// The seed also determines the offsets of the elements, and whether the number of segments lies on the device.
    fn new(how: How, payload: Payload, spec: Spec, bounds: &[[u32; 2]], config: Config) -> Self {
        let seed = config.seed;
        let place = |choice: u64| Place { first: [0, 3, 8][(seed + choice) as usize % 3] };
        let (keys_at, values_at, begins, ends) = (place(0), place(1), place(1), place(2));
        // Kernels limit a count on the device to the plan's maximum.
        let (spare, more) = if seed % 4 == 3 { (0, 1000) } else { (3, 0) };
        let max = bounds.len() as u32 + spare;
        let request = Request::keys(W::BITS, spec, KEYS as u64).in_segments(Segmented { max, begins, ends });
        let request = Request { payload, algorithm: how.algorithm, blocked: how.blocked, small_bucket: how.small, ..request };
        let plan = SortPlan::new(Request { keys: keys_at, values: values_at, ..request }, &FACTS).unwrap();
        let keys: Vec<W> = (0..KEYS).map(key).collect();
        let mut values: Vec<u32> = (0..KEYS as u32).flat_map(|i| (0..payload.words()).map(move |word| i + word)).collect();
        if payload == Payload::Indices {
            values.fill(u32::MAX);
        }
        let placed =
            |place: Place, words: &[u32]| Bytes::of(&[&vec![MARGIN; place.first as usize], words, &[MARGIN; 2]].concat());
        // Kernels do not read segments past the count.
        let bound = |which: usize| bounds.iter().map(|bound| bound[which]).chain([[0, 900][which], 0, 5]).collect::<Vec<_>>();
        let mut memory = Memory::from([
            (Buffer::Keys, placed(keys_at, bytemuck::cast_slice(&keys))),
            (Buffer::Values, placed(values_at, &values)),
            (Buffer::Begins, placed(begins, &bound(0))),
            (Buffer::Ends, placed(ends, &bound(1))),
        ]);
        let count = bounds.len() as u64;
        if seed % 2 == 1 {
            memory.insert(Buffer::Count, Bytes::of(&[count as u32 + more]));
        }
        Self { plan, backend: MslBackend::open_with(config).unwrap(), keys, count, memory }
    }
}

/// Sorts, and checks all buffers after each command. Returns the number of recounts.
fn check<W: Word>(how: How, payload: Payload, spec: Spec, pattern: Pattern, seed: u64) -> u32 {
    let bounds = bounds(pattern, seed);
    // Each workgroup handles one segment or tile, or several.
    let most_groups = [u32::MAX, 2, 1][seed as usize % 3];
    let config = Config { seed, most_groups, ..Config::of(how.source) };
    let Launch { plan, backend, keys, count, mut memory } = Launch::<W>::new(how, payload, spec, &bounds, config);
    let mut model = Model::new(&plan, &keys, &bounds, most_groups);
    let given = memory.clone();
    backend.launch_each(&plan, count, &mut memory, |command, memory| model.check(command, memory)).unwrap();

    let mut order: Vec<usize> = (0..KEYS).collect();
    model.classes.iter().flatten().for_each(|range| order[range.clone()].sort_by_key(|&i| spec.rank(keys[i])));
    let mut expected = given.clone();
    if payload == Payload::Indices {
        model.write(&mut expected, [None, Some(Buffer::Values)], 0, &order);
    } else {
        let sorted: Vec<W> = order.iter().map(|&i| keys[i]).collect();
        put(&mut expected, Buffer::Keys, plan.request.keys.first as usize, bytemuck::cast_slice(&sorted));
        model.write(&mut expected, [None, (payload != Payload::None).then_some(Buffer::Values)], 0, &order);
    }
    assert!(
        given.keys().filter(|&&buffer| buffer != Buffer::Count).all(|buffer| memory[buffer] == expected[buffer]),
        "{pattern:?}"
    );
    memory[&Buffer::State].values::<u32>()[abi::STATE_RECOUNTS as usize]
}

const PATTERNS: [Pattern; 9] = [
    Pattern::Classes,
    Pattern::Tiny,
    Pattern::Huge,
    Pattern::Long,
    Pattern::Empty,
    Pattern::Nothing,
    Pattern::Cut,
    Pattern::Classes,
    Pattern::Long,
];

fn check_all<W: Word>(how: How, payload: Payload, spec: Spec) {
    // Keys of 32 bits begin with another pattern, so that all patterns occur.
    let first = usize::from(W::BITS == 32) % step(2);
    for (seed, pattern) in PATTERNS.into_iter().enumerate().skip(first).step_by(step(2)) {
        check::<W>(how, payload, spec, pattern, seed as u64);
    }
}

/// Returns a spec of all bits, in the order of floats.
fn floats<W: Word>() -> Spec {
    Spec::new::<W>(Masks::float(W::BITS), 0, W::BITS).unwrap()
}

fn window<W: Word>(begin: u32, end: u32) -> Spec {
    Spec::new::<W>(Masks::signed(W::BITS).reversed(W::BITS), begin, end).unwrap()
}

each_source! {
    keys_are_sorted_as_by_the_model
    keys_with_values_are_sorted_as_by_the_model
    indices_are_sorted_as_by_the_model
    reduce_then_scan_sorts_as_the_model
    blocked_tiles_are_recounted
    the_class_of_small_segments_may_be_empty_or_largest
    segments_that_overlap_change_nothing_around_the_keys
    an_overflow_of_the_number_of_tiles_is_handled
}

#[test]
fn every_kernel_that_is_modeled_here_is_launched() {
    let bounds = bounds(Pattern::Classes, 0);
    let plan =
        Launch::<u32>::new(ballots(Source::NATIVE), Payload::None, floats::<u32>(), &bounds, Config::of(Source::NATIVE)).plan;
    let launched: Vec<Kernel> = plan.long_commands().iter().map(|command| command.variant.kernel()).collect();
    let modeled = Kernel::ALL.into_iter().filter(|kernel| kernel.entry().model == manifest::Model::Runner);
    let missing: Vec<Kernel> = modeled.filter(|kernel| !launched.contains(kernel)).collect();
    assert_eq!(missing, []);
}

fn keys_are_sorted_as_by_the_model(source: Source) {
    check_all::<u32>(ballots(source), Payload::None, floats::<u32>());
    check_all::<u64>(ballots(source), Payload::None, floats::<u64>());
    check_all::<u8>(ballots(source), Payload::None, floats::<u8>());
}

fn keys_with_values_are_sorted_as_by_the_model(source: Source) {
    check_all::<u32>(ballots(source), Payload::Words(1), window::<u32>(8, 32));
    check_all::<u64>(ballots(source), Payload::Words(3), floats::<u64>());
    check_all::<u128>(ballots(source), Payload::Words(1), window::<u128>(60, 128));
}

fn indices_are_sorted_as_by_the_model(source: Source) {
    check_all::<u32>(ballots(source), Payload::Indices, floats::<u32>());
    check_all::<u16>(ballots(source), Payload::Indices, window::<u16>(2, 7));
}

fn reduce_then_scan_sorts_as_the_model(source: Source) {
    check_all::<u32>(counters(source), Payload::Words(1), floats::<u32>());
    check_all::<u16>(counters(source), Payload::None, floats::<u16>());
}

/// The look-back over long segments recounts blocked tiles too.
fn blocked_tiles_are_recounted(source: Source) {
    for (seed, blocked) in (0..).zip([Blocked::one_of(2), Blocked::run(0, 1), Blocked::run(1, u32::MAX)]) {
        let recounts = |pattern| {
            let values = check::<u32>(How { blocked, ..ballots(source) }, Payload::Words(1), window::<u32>(8, 32), pattern, seed);
            values + check::<u64>(How { blocked, ..ballots(source) }, Payload::None, window::<u64>(5, 44), pattern, seed)
        };
        assert!(recounts(Pattern::Huge) > 0 && recounts(Pattern::Long) > 0, "{blocked:?}");
    }
}

/// All segments that the network does not sort are long, or one workgroup sorts as many keys as fit.
fn the_class_of_small_segments_may_be_empty_or_largest(source: Source) {
    for (seed, pattern) in (3..).zip([Pattern::Classes, Pattern::Long, Pattern::Cut]) {
        check::<u32>(How { small: Some(0), ..ballots(source) }, Payload::None, Spec::unsigned::<u32>(), pattern, seed);
        check::<u64>(How { small: None, ..ballots(source) }, Payload::None, window::<u64>(5, 44), pattern, seed);
    }
}

/// Returns segments that overlap: a few long ones; many with one tile each; segments of all lengths; more segments of some lengths than fit
/// their lists.
fn overlapping(seed: u64) -> Vec<[u32; 2]> {
    let at = |i: u64| mixed(seed << 32 | i) as u32;
    let long = [[0, 5000], [2000, 5200], [1900, 3500], [2500, 2900], [2600, 2610]];
    let some = (0..if seed.is_multiple_of(2) { 20 } else { 300 }).map(|i| {
        let begin = at(3 * i) % (KEYS as u32 + 50);
        // Lengths of all classes, and negative ones; or the longest of the network, and of the segments that fit a workgroup.
        let any = (at(3 * i + 1) % (2 << (at(3 * i + 2) % 14))).wrapping_sub(10);
        [
            begin,
            begin.wrapping_add([any, 600 + any % 400, 1100 + any % 300][if seed.is_multiple_of(2) { 0 } else { i as usize % 3 }]),
        ]
    });
    match seed % 3 {
        // The segments are at both ends of the keys.
        0 if seed.is_multiple_of(2) => {
            long.into_iter().flat_map(|[begin, end]| [[begin, end], [begin, end].map(|at| at + KEYS as u32 - 5000)]).collect()
        }
        // There are more long segments than can exist without overlaps, but each has one tile, so that the tiles fit the table.
        0 => (0..12).map(|i| [1000 * i, 1000 * i + 1450]).collect(),
        1 => some.collect(),
        _ => long.into_iter().chain(some).collect(),
    }
}

/// Sorts segments that overlap. Their keys may then be arbitrary, but words around the keys must not be accessed, and each kernel must end.
fn check_overlapping<W: Word>(how: How, payload: Payload, spec: Spec) {
    for seed in (0..6).step_by(step(2)) {
        let config = Config { seed, races: true, ..Config::of(how.source) };
        let bounds = overlapping(seed);
        let Launch { plan, backend, keys, count, mut memory } = Launch::<W>::new(how, payload, spec, &bounds, config);
        let given = memory.clone();
        backend.launch_each(&plan, count, &mut memory, |_, _| {}).unwrap();
        let around = |memory: &Memory, buffer: Buffer, first: u32| {
            let words = memory[&buffer].values::<u32>();
            [&words[..first as usize], &words[words.len() - 2..]].concat()
        };
        let Request { keys: keys_at, values: values_at, .. } = plan.request;
        for (buffer, first) in [(Buffer::Keys, keys_at.first), (Buffer::Values, values_at.first)] {
            assert!(around(&memory, buffer, first) == around(&given, buffer, first), "{buffer:?}, seed {seed}");
        }
        assert!([Buffer::Begins, Buffer::Ends].iter().all(|buffer| memory[buffer] == given[buffer]));
        let kept =
            memory[&Buffer::Keys].bytes()[4 * keys_at.first as usize..][..size_of_val(&keys[..])] == *bytemuck::cast_slice(&keys);
        // All segments are long, and too many: no kernel sorts them.
        let are_left = seed == 3;
        assert_eq!(kept, payload == Payload::Indices || are_left, "seed {seed}");
    }
}

fn segments_that_overlap_change_nothing_around_the_keys(source: Source) {
    check_overlapping::<u32>(ballots(source), Payload::Words(1), window::<u32>(8, 32));
    check_overlapping::<u32>(ballots(source), Payload::Indices, floats::<u32>());
    check_overlapping::<u64>(ballots(source), Payload::None, window::<u64>(5, 44));
    check_overlapping::<u32>(counters(source), Payload::Words(1), floats::<u32>());
}

/// If the number of tiles overflows a word, no long segment is cut into tiles.
fn an_overflow_of_the_number_of_tiles_is_handled(source: Source) {
    let bounds = bounds(Pattern::Long, 0);
    let config = Config::of(source);
    let Launch { plan, memory, .. } =
        Launch::<u32>::new(ballots(source), Payload::Words(1), window::<u32>(8, 32), &bounds, Config { seed: 0, ..config });
    let tiles_of = |counted_before: u32| {
        let mut state = vec![0_u32; 64];
        state[(abi::STATE_HISTOGRAM + SegmentLists::CLASSES) as usize] = counted_before;
        let sort = Bytes::of(&[abi::Sort::of(&plan)]);
        let scratch = plan.scratch.iter().map(|&(role, bytes)| (role, Bytes::garbage(bytes as usize, 1)));
        let mut memory: Memory = memory.clone().into_iter().chain(scratch).collect();
        memory.extend([(Buffer::Sort, sort), (Buffer::State, Bytes::of(&state)), (Buffer::Count, Bytes::of(&[0_u32]))]);
        for kernel in [Kernel::Segments, Kernel::LongSegments] {
            let command = plan.long_commands().iter().find(|command| command.variant.kernel() == kernel).unwrap();
            let text = (source.text)(&command.variant);
            let compiled = msl::Kernel::compile(&text.text, kernel.name(), source.options).unwrap();
            let mut numbers = command.numbers.iter().map(|&number| Bytes::of(&[abi::value(number, Some(bounds.len() as u32))]));
            let mut bound: Vec<Bytes> = vec![];
            for buffer in &command.bindings {
                bound.push(if *buffer == Buffer::Number { numbers.next().unwrap() } else { memory[buffer].clone() });
            }
            // The next binding of naga's kernels has the sizes of buffers, which no kernel reads.
            if text.takes_sizes {
                bound.push(Bytes::garbage(128, 0));
            }
            compiled.run(&mut bound.iter_mut().collect::<Vec<_>>(), (1, 1), command.variant.group, Schedule::seeded(1)).unwrap();
            memory.extend(command.bindings.iter().copied().zip(bound));
        }
        let end = plan.bucket_table().unwrap().first_batch + BATCH_WORDS;
        memory[&Buffer::Buckets].values::<u32>()[end as usize]
    };
    let tiles = tiles_of(0);
    assert!(tiles > 2);
    assert_eq!([u32::MAX, 2_u32.wrapping_sub(tiles), 1 << 30].map(tiles_of), [0; 3]);
}
