//! Plain Rust models of all kernels of a sort: element by element, with keys of 128 bits.

use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{
    BATCH_WORDS, BucketTable, Buffer, COUNT_DIGIT_BITS, Command, Digit, Kernel, LAST_LEVEL, Number, Payload, RADIX, SortPlan,
    TILE_WORDS, VALUE_BLOCK, state_words,
};
use std::cmp::Ordering;
use std::collections::HashSet;

/// The first word of a selection by all workgroups in the state: the number of keys still to select, whether the threshold is complete, the
/// threshold, and the mask of its known bits.
const PICK: usize = abi::STATE_TICKETS as usize;

/// The first word of the counts of each value in the state of a counting sort.
const VALUES: usize = (abi::STATE_HISTOGRAM + VALUE_BLOCK) as usize;

/// Buckets of a partition.
const BUCKETS: usize = RADIX as usize;

/// Applies `command` to the buffers, for a launch of `groups` workgroups and `count` keys.
pub(crate) fn step(plan: &SortPlan, command: &Command, count: usize, groups: u64, on: &mut Contents) {
    let model = Model { plan, command, count, tile: command.variant.tile as usize };
    match command.variant.kernel {
        Kernel::Begin => {
            let state = model.state(on);
            state[..state_words(plan.radix_bits) as usize].fill(0);
            // Before a selection from segments, the number of keys is fixed, and the count is that of segments.
            let is_fixed = matches!(command.numbers[0], Number::Is(_));
            let fixed = || (0..3).map(|digit| model.number(digit) << (COUNT_DIGIT_BITS as usize * digit)).sum();
            let keys: usize = if is_fixed { fixed() } else { count };
            model.state(on)[abi::STATE_COUNT as usize] = keys as u32;
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
        kernel => unreachable!("the kernel {} has no model here", kernel.name()),
    }
}

/// Brings keys that a pass may write in any order into one order. If equal keys are identical, these are the keys of one digit in the first
/// pass, and of one digit of a bucket in the first pass over the bucket.
pub(crate) fn settle(plan: &SortPlan, command: &Command, count: usize, on: &mut Contents) {
    let model = Model { plan, command, count, tile: command.variant.tile as usize };
    let request = &plan.request;
    let last_free = match command.variant.kernel {
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
    tile: usize,
}

impl Model<'_> {
    fn histogram(&self, on: &mut Contents) {
        let keys: Vec<u128> = (0..self.count).map(|i| self.source_key(on, self.command.bindings[2], i)).collect();
        let state = self.state(on);
        for (d, digit) in self.plan.digits.iter().enumerate() {
            keys.iter().for_each(|&key| state[self.histogram_of(d) + self.digit_of(key, digit)] += 1);
        }
        if keys.windows(2).any(|pair| self.rank(pair[1]) < self.rank(pair[0])) {
            state[abi::STATE_DESCENTS as usize] = 1;
        }
        if self.command.variant.look_back {
            let tiles = self.count.div_ceil(self.tile);
            self.buffer(on, 3)[..tiles * self.radix()].fill(0);
        }
    }

    fn scan(&self, on: &mut Contents) {
        let state = self.state(on);
        for d in 0..self.plan.digits.len() {
            let counts: Vec<u32> = state[self.histogram_of(d)..][..self.radix()].to_vec();
            if counts.iter().filter(|&&count| count > 0).count() > 1 {
                state[abi::STATE_VARIES as usize] |= 1 << d;
            }
            for value in 0..self.radix() {
                state[self.histogram_of(d) + value] = counts[..value].iter().sum();
            }
        }
    }

    /// Models a pass. Each tile has published the inclusive counts up to its end, and the status words of the next pass are 0. Workgroups have
    /// taken a ticket for each tile, and each workgroup one more.
    fn onesweep(&self, on: &mut Contents, groups: u32) {
        self.state(on)[abi::STATE_TICKETS as usize + self.number(0)] += groups;
        let Some(d) = self.scheduled(on) else { return };
        let digits = self.digits(on, d);
        let tiles = digits.len().div_ceil(self.tile);
        self.state(on)[abi::STATE_TICKETS as usize + self.number(0)] += tiles as u32;
        self.buffer(on, 4)[..tiles * self.radix()].fill(0);
        let status = self.buffer(on, 3);
        let mut sums = vec![0_u32; self.radix()];
        for (t, tile) in digits.chunks(self.tile).enumerate() {
            tile.iter().for_each(|&digit| sums[digit] += 1);
            for (value, sum) in sums.iter().enumerate() {
                assert_eq!(status[t * self.radix() + value], 0, "the pass before, or the histogram, clears it");
                status[t * self.radix() + value] = 2 << 30 | sum;
            }
        }
        let mut places: Vec<u32> = self.state(on)[self.histogram_of(d)..][..self.radix()].to_vec();
        let places = digits.iter().map(|&digit| next_of(&mut places[digit])).collect::<Vec<_>>();
        self.scatter(on, &places);
    }

    /// Returns the offset of each bucket, and the number of keys.
    fn starts(&self, on: &Contents) -> Vec<usize> {
        let starts = &on[&Buffer::State][self.histogram_of(self.top_scheduled(on))..][..BUCKETS];
        starts.iter().map(|&start| start as usize).chain([self.count]).collect()
    }

    fn is_small(&self, bucket: &[usize]) -> bool {
        bucket[1] - bucket[0] <= self.plan.small_bucket as usize
    }

    /// Small buckets are sorted, in the buffer in which the sort ends.
    fn bucket_tile(&self, on: &mut Contents) {
        let passes = self.passes(on);
        if passes < 2 {
            return;
        }
        let mut moves = vec![];
        for bucket in self.starts(on).windows(2).filter(|bucket| self.is_small(bucket)) {
            let mut order: Vec<usize> = (bucket[0]..bucket[1]).collect();
            order.sort_by_cached_key(|&i| self.rank(self.key(on, Buffer::Scratch, i)));
            moves.extend(order.into_iter().zip(bucket[0]..));
        }
        // Keys and values move from the scratch to the buffer of the result, which may be the scratch.
        let end = if passes.is_multiple_of(2) { 1 } else { 0 };
        let bound = |binding: usize| self.command.bindings.get(binding).copied();
        let keys: Vec<u128> = moves.iter().map(|&(i, _)| self.key(on, Buffer::Scratch, i)).collect();
        keys.iter().zip(&moves).for_each(|(&key, &(_, place))| self.put_key(on, self.command.bindings[2 + end], place, key));
        if let (Some(from), Some(to)) = (bound(4), bound(4 + end)) {
            self.move_values(on, (from, to), &moves);
        }
    }

    /// The table has the tiles of each bucket, and the batches; its counts and tickets are 0.
    fn buckets(&self, on: &mut Contents) {
        if self.passes(on) < 2 {
            return;
        }
        let BucketTable { batches, first_batch, first_tile, .. } = self.table();
        let starts = self.starts(on);
        let (mut tiles, mut tiles_before) = (vec![], vec![]);
        for (bucket, range) in starts.windows(2).enumerate() {
            let first = tiles.len();
            tiles_before.push(first);
            let end = if self.is_small(range) { range[0] } else { range[1] };
            for key in (range[0]..end).step_by(self.tile) {
                tiles.push([key, self.tile.min(range[1] - key), first, bucket]);
            }
        }
        tiles_before.push(tiles.len());
        let table = self.buffer(on, 2);
        table[..first_tile as usize].fill(0);
        for (row, tile) in table[first_tile as usize..].chunks_mut(TILE_WORDS as usize).zip(&tiles) {
            row.copy_from_slice(&tile.map(|word| word as u32));
        }
        for batch in 0..=batches as usize {
            let bucket = starts.partition_point(|&start| start < batch * self.plan.batch as usize).min(BUCKETS);
            let row = &mut table[first_batch as usize + batch * BATCH_WORDS as usize..];
            (row[0], row[1]) = (tiles_before[bucket] as u32, starts[bucket] as u32);
        }
    }

    fn bucket_histogram(&self, on: &mut Contents) {
        if self.passes(on) < 2 {
            return;
        }
        let (tiles, _) = self.batch(on, self.number(0));
        for (t, &[first, keys, _, bucket]) in tiles.iter().enumerate() {
            let keys: Vec<u128> = (first..first + keys).map(|i| self.key(on, self.command.bindings[5], i)).collect();
            self.buffer(on, 4)[t * BUCKETS..][..BUCKETS].fill(0);
            // All digits but the highest are counted, whether they vary or not.
            let (_, lower) = self.plan.digits.split_last().expect("two passes have digits");
            for (d, digit) in (0..).zip(lower) {
                let at = self.table().smaller(bucket as u32, d) as usize;
                let smaller = &mut self.buffer(on, 3)[at..][..BUCKETS];
                keys.iter().for_each(|&key| smaller[self.digit_of(key, digit) + 1..].iter_mut().for_each(|sum| *sum += 1));
            }
        }
    }

    /// Models a pass over a batch. Each tile has published the inclusive counts of its bucket up to its end, and the status words of the next
    /// pass are 0. Workgroups have taken a ticket for each tile, and each workgroup one more.
    fn bucket_sweep(&self, on: &mut Contents, groups: u32) {
        let Some(d) = self.scheduled(on) else { return };
        let (slot, batch, table) = (self.number(0), self.number(1), self.table());
        let (tiles, start) = self.batch(on, batch);
        let row = table.first_batch as usize + batch * BATCH_WORDS as usize;
        self.buffer(on, 4)[row + abi::BATCH_TICKETS as usize + slot] += groups + tiles.len() as u32;
        self.buffer(on, 6)[..tiles.len() * BUCKETS].fill(0);
        // In the buffer in which the sort does not end, the batch is at the start, except for the result of the partition.
        let ends_here = (self.passes(on) - 1 - slot).is_multiple_of(2);
        let from_shift = if ends_here && slot > 1 { start } else { 0 };
        let to_shift = if ends_here { 0 } else { start };
        let first_tile = tiles.first().map_or(0, |_| on[&Buffer::Buckets][row] as usize);
        let (mut moves, mut places, mut sums) = (vec![], vec![], [0_u32; BUCKETS]);
        for (t, &[first, keys, first_of_bucket, bucket]) in tiles.iter().enumerate() {
            if t == first_of_bucket - first_tile {
                let smaller = &on[&Buffer::Buckets][table.smaller(bucket as u32, d as u32) as usize..][..BUCKETS];
                places = smaller.iter().map(|&smaller| smaller + (first - to_shift) as u32).collect();
                sums = [0; BUCKETS];
            }
            for i in first - from_shift..first - from_shift + keys {
                let digit = self.digit_of(self.key(on, self.ends().0, i), &self.plan.digits[d]);
                sums[digit] += 1;
                moves.push((i, next_of(&mut places[digit]) as usize));
            }
            let status = &mut self.buffer(on, 5)[t * BUCKETS..][..BUCKETS];
            assert!(status.iter().all(|&word| word == 0), "the pass before, or the histogram, clears it");
            status.iter_mut().zip(sums).for_each(|(word, sum)| *word = 2 << 30 | sum);
        }
        self.move_all(on, &moves);
    }

    fn table(&self) -> BucketTable {
        self.plan.bucket_table().expect("a sort by buckets has one")
    }

    /// Returns the tiles of a batch, and the index of its first key.
    fn batch(&self, on: &Contents, batch: usize) -> (Vec<[usize; 4]>, usize) {
        let (table, BucketTable { first_batch, first_tile, .. }) = (&on[&Buffer::Buckets], self.table());
        let row = first_batch as usize + batch * BATCH_WORDS as usize;
        let tiles = table[row]..table[row + BATCH_WORDS as usize];
        let tile = |t: u32| [0, 1, 2, 3].map(|word| table[(first_tile + t * TILE_WORDS) as usize + word] as usize);
        (tiles.map(tile).collect(), table[row + 1] as usize)
    }

    fn upsweep(&self, on: &mut Contents) {
        let Some(d) = self.scheduled(on) else { return };
        let digits = self.digits(on, d);
        let tiles = digits.len().div_ceil(self.tile);
        let status = self.buffer(on, 3);
        status[..tiles * self.radix()].fill(0);
        digits.iter().enumerate().for_each(|(i, &digit)| status[digit * tiles + i / self.tile] += 1);
    }

    fn spine(&self, on: &mut Contents) {
        let Some(d) = self.scheduled_in(on, 1) else { return };
        let tiles = self.count.div_ceil(self.tile);
        for value in 0..self.radix() {
            let mut start = on[&Buffer::State][self.histogram_of(d) + value];
            for found in &mut self.buffer(on, 2)[value * tiles..][..tiles] {
                (start, *found) = (start + *found, start);
            }
        }
    }

    fn downsweep(&self, on: &mut Contents) {
        let Some(d) = self.scheduled(on) else { return };
        let digits = self.digits(on, d);
        let tiles = digits.len().div_ceil(self.tile);
        let mut starts = on[&Buffer::Status].clone();
        let place = |(i, &digit): (usize, &usize)| next_of(&mut starts[digit * tiles + i / self.tile]);
        let places: Vec<u32> = digits.iter().enumerate().map(place).collect();
        self.scatter(on, &places);
    }

    fn single_tile(&self, on: &mut Contents) {
        let keys_from = self.command.bindings[5];
        let keys: Vec<u128> = (0..self.count).map(|i| self.source_key(on, keys_from, i)).collect();
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by_key(|&i| self.rank(keys[i]));
        let payload = self.plan.request.payload;
        if payload == Payload::Indices {
            let first = self.first(self.command.bindings[6]);
            let indices = self.buffer(on, 6);
            order.iter().enumerate().for_each(|(to, &i)| indices[first + to] = i as u32);
            return;
        }
        for (to, &i) in order.iter().enumerate() {
            if self.plan.request.is_packed() {
                self.put_packed(on, to, keys[i] as u32);
            } else {
                self.put_key(on, keys_from, to, keys[i]);
            }
        }
        if payload != Payload::None {
            let (words, first) = (payload.words() as usize, self.first(self.command.bindings[6]));
            let values = self.buffer(on, 6);
            let before = values.clone();
            for (to, &i) in order.iter().enumerate() {
                values[(first + to) * words..][..words].copy_from_slice(&before[(first + i) * words..][..words]);
            }
        }
    }

    fn copy(&self, on: &mut Contents) {
        let [when, width, from_first, to_first] = [0, 1, 2, 3].map(|i| self.number(i));
        let due = match when {
            0 => self.passes(on) % 2 == 1,
            1 => self.passes(on).is_multiple_of(2),
            _ => true,
        };
        if due {
            let count = self.state(on)[abi::STATE_COUNT as usize] as usize;
            let words = on[&self.command.bindings[5]][from_first..][..count * width].to_vec();
            self.buffer(on, 6)[to_first..][..words.len()].copy_from_slice(&words);
        }
    }

    fn count_values(&self, on: &mut Contents) {
        let keys: Vec<u128> = (0..self.count).map(|i| self.source_key(on, self.command.bindings[2], i)).collect();
        let state = self.state(on);
        keys.into_iter().for_each(|key| state[VALUES + self.value_of(key)] += 1);
    }

    fn scan_values(&self, on: &mut Contents) {
        let values = self.radix();
        let state = self.state(on);
        for (b, block) in (VALUES..VALUES + values).step_by(VALUE_BLOCK as usize).enumerate() {
            let mut before = 0;
            for found in &mut state[block..][..VALUE_BLOCK as usize] {
                (before, *found) = (before + *found, before);
            }
            state[abi::STATE_HISTOGRAM as usize + b] = before;
        }
    }

    fn fill(&self, on: &mut Contents) {
        let state = &on[&Buffer::State];
        let blocks = state[abi::STATE_HISTOGRAM as usize..].iter().take(self.radix() / VALUE_BLOCK as usize);
        let mut start = 0;
        let mut starts = vec![];
        for (block, keys) in state[VALUES..].chunks(VALUE_BLOCK as usize).zip(blocks) {
            starts.extend(block.iter().map(|before| start + before));
            start += keys;
        }
        // The raw bits of each value, in the order of the values.
        let mut raws = vec![0; self.radix()];
        let up = 32 - self.plan.request.key_bits;
        (0..self.radix() as u32).for_each(|raw| raws[self.value_of(u128::from(raw << up))] = raw << up);
        for i in 0..self.count {
            let value = starts.partition_point(|&start| start as usize <= i) - 1;
            self.put_packed(on, i, raws[value]);
        }
    }

    /// Returns the ordered bits of a key of 8 or 16 bits, which is in the top of a word.
    fn value_of(&self, key: u128) -> usize {
        let bits = self.plan.request.key_bits;
        self.digit_of(key, &Digit { word: 0, shift: 32 - bits, bits })
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
        let first = match self.command.variant.kernel {
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
        self.scheduled_in(on, if self.command.variant.kernel == Kernel::BucketSweep { 3 } else { 2 })
    }

    fn scheduled_in(&self, on: &Contents, state: usize) -> Option<usize> {
        assert_eq!(self.command.bindings[state], Buffer::State);
        let slot = self.number(0);
        let varies = on[&Buffer::State][abi::STATE_VARIES as usize];
        let nth = |n: usize| (0..32).filter(|bit| varies >> bit & 1 == 1).nth(n);
        let digit = match self.command.variant.kernel {
            Kernel::BucketSweep => nth(slot - 1),
            Kernel::Onesweep if self.command.variant.partitions => nth((varies.count_ones() as usize).saturating_sub(1)),
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

    /// Selects the indices of the first `k` keys of each segment.
    fn top_k(&self, on: &mut Contents) {
        let k = self.plan.request.top.expect("a selection").k as usize;
        let level = self.number(3);
        let (is_last, level) = (level >= LAST_LEVEL as usize, level % LAST_LEVEL as usize);
        let lists: Vec<Vec<u32>> = if self.command.variant.segmented {
            on[&Buffer::Bounds].chunks_exact(2).take(self.count).map(|bounds| (bounds[0]..bounds[1]).collect()).collect()
        } else {
            let mut positions: Vec<u32> = (0..self.count as u32).collect();
            for _ in 0..level {
                let left = positions.chunks(SELECT_SEGMENT as usize).map(|segment| segment.len().min(k)).sum();
                positions.truncate(left);
            }
            if self.command.variant.nested {
                positions = on[&self.command.bindings[8]][..positions.len()].to_vec();
            }
            if positions.is_empty() {
                vec![vec![]]
            } else {
                positions.chunks(SELECT_SEGMENT as usize).map(<[u32]>::to_vec).collect()
            }
        };
        let first = if is_last { self.first(self.command.bindings[7]) } else { 0 };
        for (g, candidates) in lists.into_iter().enumerate() {
            let mut list = candidates.clone();
            list.sort_by_cached_key(|&position| self.rank(self.source_key(on, self.command.bindings[6], position as usize)));
            list.truncate(k);
            if is_last {
                list.resize(k, abi::NOTHING);
            } else {
                // The candidates of the next level keep their order.
                let selected: HashSet<u32> = list.into_iter().collect();
                list = candidates.into_iter().filter(|position| selected.contains(position)).collect();
            }
            self.buffer(on, 7)[first + g * k..][..list.len()].copy_from_slice(&list);
        }
    }

    /// Returns the keys that a selection by all workgroups reads, and the comparison of each with the threshold.
    fn barred(&self, on: &Contents, binding: usize) -> Vec<(u128, Ordering)> {
        let words = |at: usize| (0..4).rev().fold(0, |wide, i| wide << 32 | u128::from(on[&Buffer::State][at + i]));
        let (bar, known) = (words(PICK + 2), words(PICK + 6));
        let key = |i| self.source_key(on, self.command.bindings[binding], i);
        (0..self.count).map(key).map(|key| (key, (self.ordered(key) & known).cmp(&bar))).collect()
    }

    /// Returns the digit of a level: level 0 has the most significant one.
    fn level(&self) -> usize {
        self.plan.digits.len() - 1 - self.number(0)
    }

    fn pick_count(&self, on: &mut Contents) {
        if on[&Buffer::State][PICK + 1] == 0 {
            let d = self.level();
            for (key, _) in self.barred(on, 3).into_iter().filter(|(_, order)| order.is_eq()) {
                self.state(on)[self.histogram_of(d) + self.digit_of(key, &self.plan.digits[d])] += 1;
            }
        }
    }

    fn pick_digit(&self, on: &mut Contents) {
        let k = self.plan.request.top.expect("a selection").k as usize;
        let there = k.min(self.count);
        let mut wanted = on[&Buffer::State][PICK];
        if self.number(0) == 0 {
            wanted = there as u32;
            self.buffer(on, 4)[0] = wanted;
            let first = self.first(Buffer::Values);
            self.buffer(on, 3)[first + there..first + k].fill(abi::NOTHING);
        } else if on[&Buffer::State][PICK + 1] != 0 {
            return;
        }
        if self.plan.digits.is_empty() {
            self.state(on)[PICK] = wanted;
        } else if wanted > 0 {
            let digit = self.plan.digits[self.level()];
            let histogram = self.histogram_of(self.level());
            let state = self.state(on);
            let mut value = 0;
            while state[histogram + value] < wanted {
                wanted -= state[histogram + value];
                value += 1;
            }
            (state[PICK], state[PICK + 1]) = (wanted, u32::from(wanted == state[histogram + value]));
            state[PICK + 2 + digit.word as usize] |= (value as u32) << digit.shift;
            state[PICK + 6 + digit.word as usize] |= ((1 << digit.bits) - 1) << digit.shift;
        }
    }

    fn pick_tally(&self, on: &mut Contents) {
        let keys = self.barred(on, 3);
        for (t, tile) in keys.chunks(32 * self.command.variant.group as usize).enumerate() {
            let counts = [Ordering::Less, Ordering::Equal].map(|order| tile.iter().filter(|key| key.1 == order).count() as u32);
            self.buffer(on, 2)[2 * t..][..2].copy_from_slice(&counts);
        }
    }

    fn pick_spine(&self, on: &mut Contents) {
        let tiles = self.count.div_ceil(32 * self.command.variant.group as usize);
        let mut sums = [0; 2];
        for (i, count) in self.buffer(on, 1)[..2 * tiles].iter_mut().enumerate() {
            (*count, sums[i % 2]) = (sums[i % 2], sums[i % 2] + *count);
        }
    }

    fn pick(&self, on: &mut Contents) {
        let mut left = on[&Buffer::State][PICK];
        let (first, mut place) = (self.first(Buffer::Values), 0);
        for (i, (key, order)) in self.barred(on, 3).into_iter().enumerate() {
            if order.is_lt() || order.is_eq() && left > 0 {
                left -= u32::from(order.is_eq());
                self.buffer(on, 4)[first + place] = i as u32;
                self.put_key(on, Buffer::Picked, place, key);
                place += 1;
            }
        }
    }

    fn segment_bounds(&self, on: &mut Contents) {
        let keys = self.state(on)[abi::STATE_COUNT as usize];
        let [begins, ends] =
            [(Buffer::Begins, 3), (Buffer::Ends, 4)].map(|(buffer, number)| on[&buffer][self.number(number)..].to_vec());
        let bounds = self.buffer(on, 10);
        for (i, (begin, end)) in begins.into_iter().zip(ends).take(self.count).enumerate() {
            let begin = begin.min(keys);
            bounds[2 * i..][..2].copy_from_slice(&[begin, end.min(keys).max(begin)]);
        }
    }

    fn begin_runs(&self, on: &mut Contents) {
        let count = self.count;
        let state = self.state(on);
        state[..abi::STATE_HISTOGRAM as usize].fill(0);
        state[abi::STATE_COUNT as usize] = count as u32;
        let tiles = count.div_ceil(self.tile);
        self.buffer(on, 8)[..2 * tiles].fill(0);
        if count == 0 {
            let (offsets, count) = (self.number(3), self.number(4));
            self.contents(on, Buffer::RunCount)[count] = 0;
            if self.command.variant.outputs.is_some_and(|outputs| outputs.offsets) {
                self.contents(on, Buffer::RunOffsets)[offsets] = 0;
            }
        }
    }

    /// Models the search for runs. Each tile has published the inclusive words up to its end. Workgroups have taken a ticket for each tile,
    /// and each workgroup has taken one more.
    fn runs(&self, on: &mut Contents, groups: u32) {
        let (count, outputs) = (self.count, self.command.variant.outputs.expect("a search for runs"));
        let keys: Vec<u128> = (0..count).map(|i| self.source_key(on, self.command.bindings[7], i)).collect();
        let begins: Vec<usize> = (0..count).filter(|&i| i == 0 || self.rank(keys[i - 1]) != self.rank(keys[i])).collect();
        let tiles = count.div_ceil(self.tile);
        let state = self.state(on);
        state[abi::STATE_TICKETS as usize] += tiles as u32 + groups;
        if count == 0 {
            return;
        }
        state[abi::STATE_RUNS as usize] = begins.len() as u32;
        for tile in 0..tiles {
            let before = begins.partition_point(|&begin| begin < (tile + 1) * self.tile);
            let words = [before, begins[before - 1] + 1].map(|word| 2 << 30 | word as u32);
            self.buffer(on, 6)[2 * tile..][..2].copy_from_slice(&words);
        }
        let [unique, offsets, lengths, counter] = [0, 1, 2, 3].map(|number| self.number(number));
        self.contents(on, Buffer::RunCount)[counter] = begins.len() as u32;
        let ends: Vec<u32> = begins.iter().copied().chain([count]).map(|end| end as u32).collect();
        if outputs.unique {
            let words = self.plan.request.key_words() as usize;
            for (run, &begin) in begins.iter().enumerate() {
                let to = &mut self.contents(on, Buffer::Unique)[(unique + run) * words..][..words];
                to.iter_mut().enumerate().for_each(|(word, to)| *to = (keys[begin] >> (32 * word)) as u32);
            }
        }
        if outputs.offsets {
            self.contents(on, Buffer::RunOffsets)[offsets..][..ends.len()].copy_from_slice(&ends);
        }
        if outputs.lengths {
            let all = &mut self.contents(on, Buffer::RunLengths)[lengths..];
            ends.windows(2).zip(all).for_each(|(ends, length)| *length = ends[1] - ends[0]);
        }
    }

    /// Models a gather, byte by byte.
    fn gather(&self, on: &mut Contents) {
        let [counted_at, width, from, indices, to] = [0, 1, 2, 3, 4].map(|number| self.number(number));
        let Command { bindings, variant, .. } = self.command;
        let bytes = if variant.packed { variant.key_bits as usize / 8 } else { 4 * width };
        let count = self.state(on)[counted_at] as usize;
        let source: Vec<u8> = bytemuck::pod_collect_to_vec(&on[&bindings[7]][from..]);
        let indices: Vec<u32> = on[&bindings[8]][indices..][..count].to_vec();
        let elements = abi::Sort::of(self.plan).k;
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut self.buffer(on, 9)[to..]);
        for (element, index) in target.chunks_exact_mut(bytes).zip(indices) {
            match index < elements {
                true => element.copy_from_slice(&source[index as usize * bytes..][..bytes]),
                false => element.fill(0),
            }
        }
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
