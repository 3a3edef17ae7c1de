//! What a sort of 2^24 `u32` moves between main memory and a cache of 24 MiB: the plan's commands, replayed on a model of the cache.
//!
//! The cache has lines of 128 bytes and gives up the one that was used longest ago. A line that is written is not fetched before; it is written
//! back, as a whole, when it is given up, or at the end. Tiles are worked on one after the other, where a device has many at once; what they
//! count for each other lies in the cache as well.

use polysort_core::Spec;
use polysort_shaders::plan::{Algorithm, Buffer, Class, Command, Facts, Kernel, Number, RADIX, Request, STATE_HEADER, SortPlan};
use std::collections::BTreeMap;

const KEYS: usize = 1 << 24;
const CACHE_BYTES: usize = 24 << 20;
const LINE_BYTES: usize = 128;

const FACTS: Facts = Facts { class: Class::Apple, ..Facts::new(Some((32, 32)), 32 << 10, 1024) };

/// Lines in the order of their last use: a ring through one that is none.
struct Cache {
    newer: Vec<u32>,
    older: Vec<u32>,
    is_dirty: Vec<bool>,
    held: usize,
    lines_read: u64,
    lines_written: u64,
}

impl Cache {
    const ABSENT: u32 = u32::MAX;

    fn new(bytes: u64) -> Self {
        let lines = bytes as usize / LINE_BYTES + 1;
        let mut cache = Self {
            newer: vec![Self::ABSENT; lines + 1],
            older: vec![Self::ABSENT; lines + 1],
            is_dirty: vec![false; lines + 1],
            held: 0,
            lines_read: 0,
            lines_written: 0,
        };
        let none = cache.none();
        (cache.newer[none], cache.older[none]) = (none as u32, none as u32);
        cache
    }

    fn none(&self) -> usize {
        self.newer.len() - 1
    }

    fn touch(&mut self, bytes: std::ops::Range<u64>, writes: bool) {
        for line in bytes.start as usize / LINE_BYTES..(bytes.end as usize).div_ceil(LINE_BYTES) {
            if self.newer[line] == Self::ABSENT {
                self.lines_read += u64::from(!writes);
                if self.held == CACHE_BYTES / LINE_BYTES {
                    self.give_up(self.newer[self.none()] as usize);
                }
                self.held += 1;
            } else {
                self.unlink(line);
            }
            // The newest comes before none, the oldest after it.
            let (none, newest) = (self.none(), self.older[self.none()] as usize);
            (self.older[line], self.newer[line]) = (newest as u32, none as u32);
            (self.newer[newest], self.older[none]) = (line as u32, line as u32);
            self.is_dirty[line] |= writes;
        }
    }

    fn unlink(&mut self, line: usize) {
        let (newer, older) = (self.newer[line], self.older[line]);
        self.older[newer as usize] = older;
        self.newer[older as usize] = newer;
    }

    fn give_up(&mut self, line: usize) {
        self.unlink(line);
        self.newer[line] = Self::ABSENT;
        self.lines_written += u64::from(std::mem::take(&mut self.is_dirty[line]));
        self.held -= 1;
    }

    fn flush(&mut self) {
        while self.held > 0 {
            self.give_up(self.newer[self.none()] as usize);
        }
    }
}

/// A part of the keys that is moved by itself: a bucket, or all of them.
#[derive(Clone, Copy)]
struct Chain {
    start: usize,
    end: usize,
}

/// A sort under way, by all digits: the four bytes of random keys differ.
struct Replay<'a> {
    plan: &'a SortPlan,
    cache: Cache,
    /// Where buffers begin, in bytes.
    begins: BTreeMap<Buffer, u64>,
    keys: BTreeMap<Buffer, Vec<u32>>,
    buckets: Vec<Chain>,
}

impl<'a> Replay<'a> {
    fn new(plan: &'a SortPlan, keys: Vec<u32>) -> Self {
        let (mut begins, mut at) = (BTreeMap::new(), 0);
        for (buffer, bytes) in plan.scratch.iter().copied().chain([(Buffer::Keys, 4 * keys.len() as u64)]) {
            begins.insert(buffer, at);
            at += bytes.next_multiple_of(LINE_BYTES as u64);
        }
        let scratch = vec![0; keys.len()];
        let keys = BTreeMap::from([(Buffer::Keys, keys), (Buffer::Scratch, scratch)]);
        Self { plan, cache: Cache::new(at), begins, keys, buckets: vec![] }
    }

    /// Touches some words of a buffer.
    fn touch(&mut self, buffer: Buffer, first: usize, words: usize, writes: bool) {
        let begin = self.begins[&buffer] + 4 * first as u64;
        self.cache.touch(begin..begin + 4 * words as u64, writes);
    }

    fn launch(&mut self, command: &Command) {
        let number = |index: usize| match command.numbers[index] {
            Number::Is(number) => number as usize,
            Number::CountDigit(_) | Number::SecondCountDigit(_) => unreachable!("it is not asked for"),
        };
        let (radix, tile, batch) = (RADIX as usize, self.plan.tile as usize, self.plan.batch as usize);
        match command.variant.kernel() {
            Kernel::Histogram => {
                self.touch(Buffer::Keys, 0, KEYS, false);
                self.touch(Buffer::Status, 0, KEYS.div_ceil(tile) * radix, true);
            }
            Kernel::Onesweep => {
                let slot = number(0);
                let digit = if self.plan.algorithm == Algorithm::MsdHybrid { 3 } else { slot };
                let all = [Chain { start: 0, end: KEYS }];
                let keys = [command.bindings[5], command.bindings[6]];
                self.pass(keys, [command.bindings[3], command.bindings[4]], 8 * digit as u32, &all, [0, 0]);
                let scratch = &self.keys[&Buffer::Scratch];
                let end = |bucket: usize| scratch.partition_point(|&key| key >> 24 < bucket as u32);
                if self.plan.algorithm == Algorithm::MsdHybrid {
                    self.buckets = (0..radix).map(|bucket| Chain { start: end(bucket), end: end(bucket + 1) }).collect();
                }
            }
            Kernel::Buckets => {
                let table = self.plan.bucket_table().unwrap();
                self.touch(Buffer::Buckets, 0, table.words as usize, true);
            }
            Kernel::BucketHistogram => {
                let mut tiles = 0;
                for chain in self.batch(number(0)) {
                    for start in (chain.start..chain.end).step_by(tile) {
                        self.touch(Buffer::Scratch, start, tile.min(chain.end - start), false);
                        self.touch(Buffer::StatusOdd, tiles * radix, radix, true);
                        let bucket = (self.keys[&Buffer::Scratch][start] >> 24) as usize;
                        self.touch(Buffer::Buckets, bucket * 3 * radix, 3 * radix, false);
                        self.touch(Buffer::Buckets, bucket * 3 * radix, 3 * radix, true);
                        tiles += 1;
                    }
                }
            }
            Kernel::BucketSweep => {
                let (slot, number) = (number(0), number(1));
                let chains = self.batch(number);
                let start = chains.first().map_or(0, |chain| chain.start);
                // Of four passes, number 2 writes where the sort does not end, and number 3 reads it.
                let shifts = [if slot == 3 { start } else { 0 }, if slot == 2 { start } else { 0 }];
                let keys = [command.bindings[7], command.bindings[8]];
                self.pass(keys, [command.bindings[5], command.bindings[6]], 8 * (slot as u32 - 1), &chains, shifts);
                assert!(chains.iter().all(|chain| chain.start / batch == number));
            }
            // Small, or with nothing to do.
            _ => {}
        }
    }

    fn batch(&self, number: usize) -> Vec<Chain> {
        let batch = self.plan.batch as usize;
        self.buckets.iter().copied().filter(|chain| chain.start / batch == number && chain.end > chain.start).collect()
    }

    /// Moves the keys of each chain by eight bits, tile by tile. The shifts are by how much keys are read, and written, before their place.
    fn pass(&mut self, [from, to]: [Buffer; 2], status: [Buffer; 2], shift: u32, chains: &[Chain], shifts: [usize; 2]) {
        let (radix, mut tile) = (RADIX as usize, 0);
        let source = self.keys.remove(&from).unwrap();
        let mut target = self.keys.remove(&to).unwrap();
        let digit = |key: u32| (key >> shift) as usize % RADIX as usize;
        for chain in chains {
            let keys = &source[chain.start - shifts[0]..chain.end - shifts[0]];
            let mut places = vec![0; radix + 1];
            keys.iter().for_each(|&key| places[digit(key) + 1] += 1);
            places[0] = chain.start - shifts[1];
            (0..radix).for_each(|value| places[value + 1] += places[value]);
            for (number, moved) in keys.chunks(self.plan.tile as usize).enumerate() {
                let first = chain.start - shifts[0] + number * self.plan.tile as usize;
                self.touch(from, first, moved.len(), false);
                self.touch(Buffer::State, STATE_HEADER as usize, radix, false);
                let looks = if number > 0 { 2 } else { 1 };
                self.touch(status[0], (tile + 1 - looks) * radix, looks * radix, false);
                self.touch(status[0], tile * radix, radix, true);
                self.touch(status[1], tile * radix, radix, true);
                let starts = places.clone();
                for &key in moved {
                    target[places[digit(key)]] = key;
                    places[digit(key)] += 1;
                }
                for value in 0..radix {
                    if places[value] > starts[value] {
                        self.touch(to, starts[value], places[value] - starts[value], true);
                    }
                }
                tile += 1;
            }
        }
        self.keys.extend([(from, source), (to, target)]);
    }
}

/// Bytes that are read, and written, for each key.
fn bytes_of_a_key(algorithm: Algorithm, batch: Option<u32>) -> [f64; 2] {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 32) as u32
    };
    let keys: Vec<u32> = (0..KEYS).map(|_| random()).collect();
    let request = Request { algorithm: Some(algorithm), batch, ..Request::keys(32, Spec::unsigned::<u32>(), KEYS as u64) };
    let plan = SortPlan::new(request, &FACTS).unwrap();
    let mut replay = Replay::new(&plan, keys);
    let mut per_kernel: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for command in plan.long_commands() {
        let before = [replay.cache.lines_read, replay.cache.lines_written];
        replay.launch(command);
        let lines = per_kernel.entry(command.variant.kernel().name()).or_default();
        *lines = [lines[0] + replay.cache.lines_read - before[0], lines[1] + replay.cache.lines_written - before[1]];
    }
    replay.cache.flush();
    let of_a_key = |lines: u64| lines as f64 * LINE_BYTES as f64 / KEYS as f64;
    let [read, written] = [replay.cache.lines_read, replay.cache.lines_written].map(of_a_key);
    println!("{algorithm:?}, {} keys a batch: {read:.1} read, {written:.1} written, {:.1} in all", plan.batch, read + written);
    for (kernel, lines) in per_kernel {
        if lines != [0, 0] {
            println!("    {kernel:<18}{:>6.2}{:>6.2}", of_a_key(lines[0]), of_a_key(lines[1]));
        }
    }
    assert!(replay.keys[&Buffer::Keys].is_sorted());
    [read, written]
}

/// Batches are read from main memory once, and written once, besides the histogram and the partition.
#[test]
fn batches_stay_in_the_cache() {
    let [read, written] = bytes_of_a_key(Algorithm::OneSweep, None);
    assert!(read >= 19.9 && written >= 15.9);
    let [read, written] = bytes_of_a_key(Algorithm::MsdHybrid, None);
    assert!(read < 12.5 && written < 9.5, "{read} bytes read for each key, {written} written");
}

#[test]
#[ignore = "it prints a table"]
fn batches_of_other_lengths() {
    for batch in [1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 24] {
        bytes_of_a_key(Algorithm::MsdHybrid, Some(batch));
    }
}
