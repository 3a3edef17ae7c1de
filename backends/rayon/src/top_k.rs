//! Selection: the first `k` of the sorted order without sorting the rest.
//!
//! ```text
//! each core: for each block of its stretch
//!     is any key below the bar?    keep those that are     (nearly never, after the first few: the test is vector code)
//!     the room for kept is full?   drop all but the best k, the last of which is the new bar
//!                                  if all comes in an order that passes: guess a bar for what comes next, from a sample
//! together: the best k of what the cores kept, sorted
//! ```
//!
//! 1. Keys are not mapped for the test: the raw words of all ranks up to a bar are one interval, if it may wrap around. So each key costs
//!    a subtraction and a comparison, whatever its masks.
//! 2. What passes is kept without a branch, in the order in which it comes, so equal keys need no comparison of indices.
//! 3. A guess is a bar only once `k` of the keys to come were counted below it. Then sorted input, from the wrong end, is read twice.

use crate::columns::Indices;
use crate::record::Pair;
use crate::segments::cut;
use crate::sort::sort;
use crate::threads::{Threads, Work};
use crate::trace::{Step, took};
use crate::tuning::{SELECT_AHEAD, SELECT_FRACTION, SELECT_LEAST, SELECT_ROOM, SELECT_SAMPLES, TASK, scan_ns, sort_ns};
use crate::window::Window;
use core::ops::Range;
use polysort_core::{Segments, Spec, Word};

/// Keys that are tested at once.
const BLOCK: usize = 64;

/// The same where one of those passes.
const PART: usize = 8;

/// The indices of the first `k` keys in the order of `spec`, equal ones by index. There are at most 2³² keys, and `k` is
/// from 1 to their number.
pub(crate) fn top_k<W: Word>(keys: &[W], k: usize, spec: Spec, threads: Threads) -> Vec<u32> {
    let threads = threads.at_most(scan_ns(size_of_val(keys)));
    let share = keys.len().div_ceil(threads.count());
    let chunk = |index: usize| (index * share).min(keys.len())..((index + 1) * share).min(keys.len());
    let best = threads.map(threads.count(), &|index| Best::of(keys, chunk(index), k, spec));
    // In the order of their chunks, so that the other's indices are the higher ones.
    let best = best.into_iter().reduce(Best::join).unwrap_or_else(|| Best::none(k, 0));
    best.sorted().into_iter().map(|(_, index)| index).collect()
}

/// The indices of the first `k` keys of each of `segments`, which have been checked, one segment after the other: what `found` has
/// room for. There are at most 2³² keys.
pub(crate) fn top_k_segments<W: Word>(
    keys: &[W],
    k: usize,
    segments: Segments<'_>,
    spec: Spec,
    found: &mut [u32],
    threads: Threads,
) {
    let tasks = Tasks { keys, k, segments, spec, threads };
    if threads.is_one() {
        tasks.run_all(0..segments.len(), found);
    } else {
        tasks.split(0..segments.len(), found);
    }
}

#[derive(Clone, Copy)]
struct Tasks<'a, W> {
    keys: &'a [W],
    k: usize,
    segments: Segments<'a>,
    spec: Spec,
    threads: Threads,
}

impl<W: Word> Tasks<'_, W> {
    /// Halves a range of segments until it is one task; a long segment is one by itself, and all threads take part.
    fn split(self, range: Range<usize>, found: &mut [u32]) {
        if range.len() <= 1 {
            return self.run_all(range, found);
        }
        let (begin, end) = (self.segments.range(range.start).start, self.segments.range(range.end - 1).end);
        if end - begin <= TASK {
            return self.run_all(range, found);
        }
        let cut = cut(self.segments, range.clone(), begin + (end - begin) / 2);
        let (left, right) = (range.start..cut, cut..range.end);
        let (first, second) = found.split_at_mut(left.clone().map(|segment| self.found_in(segment)).sum());
        self.threads.join(|| self.split(left, first), || self.split(right, second));
    }

    /// How many keys a segment gives.
    fn found_in(self, segment: usize) -> usize {
        self.segments.range(segment).len().min(self.k)
    }

    fn run_all(self, range: Range<usize>, found: &mut [u32]) {
        took(Step::Segments(range.len()));
        let mut rest = found;
        let mut order = vec![];
        for segment in range {
            let (place, others) = rest.split_at_mut(self.found_in(segment));
            self.run(self.segments.range(segment), place, &mut order);
            rest = others;
        }
    }

    /// Selects from one segment, or sorts it if that is most of it; `order` is scratch.
    fn run(self, range: Range<usize>, place: &mut [u32], order: &mut Vec<u32>) {
        if place.is_empty() {
            return;
        }
        let (keys, start) = (&self.keys[range.clone()], range.start as u32);
        if place.len() < keys.len() / SELECT_FRACTION {
            let selected = top_k(keys, place.len(), self.spec, self.threads);
            for (index, selected) in place.iter_mut().zip(selected) {
                *index = start + selected;
            }
            return;
        }
        order.clear();
        order.extend((0..keys.len() as u64).map(|index| (range.start as u64 + index) as u32));
        let columns = Indices::new(self.keys, range.start, order, self.spec.masks);
        sort(columns, Window::of(self.spec), false, self.threads.that_pay(Work::Sort(sort_ns::<Pair<W, u32>>(keys.len()))));
        place.copy_from_slice(&order[..place.len()]);
    }
}

/// The best of the keys seen so far, and some more.
pub(crate) struct Best<W> {
    k: usize,
    /// The ranks that may be among the best, in the order of their indices, and after `len` room for more.
    ranks: Vec<W>,
    indices: Vec<u32>,
    len: usize,
    /// What a rank must not exceed to be among the best; nothing, if none can be any more.
    bar: Option<W>,
}

impl<W: Word> Best<W> {
    /// Room for `k`, 1 or more, of `len` keys.
    pub(crate) fn none(k: usize, len: usize) -> Self {
        let room = k.saturating_add(k.max(SELECT_ROOM)).min(len) + BLOCK;
        Self { k, ranks: vec![W::zero(); room], indices: vec![0; room], len: 0, bar: Some(W::max_value()) }
    }

    fn of(keys: &[W], range: Range<usize>, k: usize, spec: Spec) -> Self {
        let mut best = Self::none(k, range.len());
        let (keys, start) = (&keys[range.clone()], range.start);
        let mut at = 0;
        // Each turn goes on with another bar.
        while let Some(bar) = best.bar.filter(|_| at < keys.len()) {
            let read = match interval(spec, bar) {
                Some((low, last)) => best.scan(&keys[at..], start + at, spec, |raw| raw.wrapping_sub(&low) <= last),
                None => best.scan(&keys[at..], start + at, spec, |raw| spec.rank(raw) <= bar),
            };
            at += read;
            if best.is_full() {
                best.prune();
                best.guess(&keys[at..], spec);
            }
        }
        best
    }

    /// Keeps the keys that pass, until the room is full, and tells how many it has read.
    #[inline(always)]
    fn scan(&mut self, keys: &[W], start: usize, spec: Spec, passes: impl Fn(W) -> bool + Copy) -> usize {
        let mut at = 0;
        for block in keys.chunks(BLOCK) {
            let any = match <&[W; BLOCK]>::try_from(block) {
                Ok(block) => block.iter().fold(false, |any, &raw| any | passes(raw)),
                Err(_) => true,
            };
            if any {
                for (part, keys) in block.chunks(PART).enumerate() {
                    if keys.iter().fold(false, |any, &raw| any | passes(raw)) {
                        for (index, &raw) in (start + at + part * PART..).zip(keys) {
                            self.put(spec.rank(raw), index, passes(raw));
                        }
                    }
                }
                if self.is_full() {
                    return at + block.len();
                }
            }
            at += block.len();
        }
        at
    }

    /// Looks at up to [`BLOCK`] more ranks, those from index `start` on. All earlier ones have lower indices.
    #[cfg(feature = "vector")]
    #[inline]
    pub(crate) fn offer(&mut self, start: usize, ranks: impl Iterator<Item = W> + Clone) {
        let Some(bar) = self.bar else { return };
        if !ranks.clone().fold(false, |any, rank| any | (rank <= bar)) {
            return;
        }
        for (index, rank) in (start..).zip(ranks) {
            self.put(rank, index, rank <= bar);
        }
        if self.is_full() {
            self.prune();
        }
    }

    /// Keeps a rank if it passes: without a branch, as nobody can tell which do.
    #[inline(always)]
    fn put(&mut self, rank: W, index: usize, passes: bool) {
        self.ranks[self.len] = rank;
        self.indices[self.len] = index as u32;
        self.len += usize::from(passes);
    }

    /// Whether another block might not find room.
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.len + BLOCK > self.ranks.len()
    }

    /// Drops all but the best `k`, and lowers the bar below the last of them: later keys lose ties.
    fn prune(&mut self) {
        if self.len <= self.k {
            return;
        }
        let mut sorted = self.ranks[..self.len].to_vec();
        let (better, &mut last, _) = sorted.select_nth_unstable(self.k - 1);
        let mut ties = self.k - better.iter().filter(|&&rank| rank < last).count();
        let mut kept = 0;
        for at in 0..self.len {
            let (rank, index) = (self.ranks[at], self.indices[at]);
            let tie = rank == last && ties > 0;
            ties -= usize::from(tie);
            self.ranks[kept] = rank;
            self.indices[kept] = index;
            kept += usize::from(rank < last || tie);
        }
        self.len = kept;
        self.lower(last);
    }

    /// From now on ranks must be below `end`.
    fn lower(&mut self, end: W) {
        self.bar = if end.is_zero() { None } else { self.bar.map(|bar| bar.min(end - W::one())) };
    }

    /// Lowers the bar by a guess from the keys to come, if enough of them are below it.
    fn guess(&mut self, coming: &[W], spec: Spec) {
        let ahead = &coming[..coming.len().min(SELECT_AHEAD)];
        let Some(bar) = self.bar else { return };
        // Half as many again as needed, and enough for chance not to matter.
        let part = (self.k.saturating_mul(SELECT_SAMPLES) / 2).saturating_mul(3).div_ceil(ahead.len().max(1)).max(SELECT_LEAST);
        if part >= SELECT_SAMPLES / 4 || ahead.len() < SELECT_SAMPLES {
            return;
        }
        let mut samples = [W::zero(); SELECT_SAMPLES];
        for (group, ranks) in samples.chunks_exact_mut(PART).enumerate() {
            // Neighbours, as each place is a wait for memory; and not evenly spaced: keys might be periodic.
            let place = ((group as u64 * 0x9e37_79b9 % (1 << 32) * (ahead.len() - PART) as u64) >> 32) as usize;
            ranks.iter_mut().zip(&ahead[place..]).for_each(|(rank, &raw)| *rank = spec.rank(raw));
        }
        let (_, &mut guess, _) = samples.select_nth_unstable(part);
        if guess > bar || guess.is_zero() {
            return;
        }
        let below = guess - W::one();
        let count = match interval(spec, below) {
            Some((low, last)) => count(ahead, |raw| raw.wrapping_sub(&low) <= last),
            None => count(ahead, |raw| spec.rank(raw) <= below),
        };
        if count >= self.k {
            self.lower(guess);
        }
    }

    /// The best of both; the other's indices are the higher ones.
    pub(crate) fn join(mut self, mut other: Self) -> Self {
        for best in [&mut self, &mut other] {
            best.ranks.truncate(best.len);
            best.indices.truncate(best.len);
        }
        self.ranks.append(&mut other.ranks);
        self.indices.append(&mut other.indices);
        self.len = self.ranks.len();
        self.prune();
        self
    }

    /// The best `k`, in order.
    pub(crate) fn sorted(mut self) -> Vec<(W, u32)> {
        self.prune();
        let mut pairs = Vec::from_iter(self.ranks.into_iter().zip(self.indices).take(self.len));
        pairs.sort_unstable();
        pairs
    }
}

fn count<W: Word>(keys: &[W], passes: impl Fn(W) -> bool) -> usize {
    // Few enough at a time for the narrowest counter, so that it is vector code.
    keys.chunks(255).map(|keys| usize::from(keys.iter().fold(0_u8, |count, &raw| count + u8::from(passes(raw))))).sum()
}

/// The raw words whose rank is `bar` at most, as `raw.wrapping_sub(low) <= last`, if they are an interval that may wrap around.
///
/// ```text
/// f32 ascending   raw      00000000 ..  7fffffff | 80000000 ..  ffffffff
///                 ordered  80000000 →   ffffffff | 7fffffff  ←  00000000
/// ```
/// The half of the raw words that is ordered first counts up or down by itself, and so does the other: both masks have the same top
/// bit. If that of the half where the bar lies counts up, the interval begins with the first half, else it ends with it.
fn interval<W: Word>(spec: Spec, bar: W) -> Option<(W, W)> {
    let (zero, half) = (W::zero(), W::one() << (W::BITS as usize - 1));
    if spec.end != W::BITS {
        return None;
    }
    let begin = spec.begin as usize;
    if spec.begin == W::BITS || bar >= W::max_value() >> begin {
        return Some((zero, W::max_value()));
    }
    // The last of the ordered words that share the rank.
    let last = (bar << begin) | ((W::one() << begin) - W::one());
    let masks = [spec.masks.clear, spec.masks.set].map(W::truncate);
    let first = masks[0] & half;
    // The raw half whose words are ordered first has this sign, the other the opposite one.
    let mask = masks[usize::from((first.is_zero()) == (last >= half))];
    match mask & !half {
        low if low.is_zero() => Some((first, last)),
        low if low == !half => Some(((first | !half).wrapping_sub(&last), last)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{spread, steps_of_threads};
    use polysort_core::Masks;

    /// Every bar of every window, by the masks that keys have and by some that they do not.
    #[test]
    fn intervals_hold_what_ranks_tell() {
        let kinds = [
            (Masks::UNSIGNED, true),
            (Masks::signed(8), true),
            (Masks::float(8), true),
            (Masks { clear: 3, set: 0 }, false),
            (Masks { clear: 0x80, set: 0x91 }, false),
        ];
        for (masks, of_keys) in kinds.into_iter().flat_map(|(masks, keys)| [(masks, keys), (masks.reversed(8), keys)]) {
            for (begin, end) in (0..=8).flat_map(|begin| (begin..=8).map(move |end| (begin, end))) {
                let spec = Spec::new::<u8>(masks, begin, end).unwrap();
                let mut intervals = 0;
                for bar in 0..=u8::MAX {
                    let Some((low, last)) = interval(spec, bar) else { continue };
                    intervals += 1;
                    for raw in 0..=u8::MAX {
                        assert_eq!(raw.wrapping_sub(low) <= last, spec.rank(raw) <= bar, "{spec:?}, {raw} up to {bar}");
                    }
                }
                assert!(intervals == 256 || end < 8 || !of_keys, "{spec:?} has no intervals");
            }
        }
    }

    /// Orders in which each key passes, guesses that hold too few keys, ties with the bar.
    #[test]
    fn orders_against_the_bar() {
        let len = 300_000_u32;
        let orders: [fn(u32) -> u32; 6] = [
            |i| u32::MAX - i,
            |i| (u32::MAX - i) / 1000,
            |i| if i % 1000 == 0 { 5 } else { u32::MAX - i },
            |i| if i % 3 == 0 { 1_000_000 - i } else { u32::MAX },
            |i| u32::from(i < 299_000),
            |i| (i ^ 0x3_ffff).wrapping_mul(1 << 14),
        ];
        for (order, key) in orders.into_iter().enumerate() {
            let keys = Vec::from_iter((0..len).map(key));
            let mut expected = Vec::from_iter(0..len);
            expected.sort_by_key(|&index| keys[index as usize]);
            for k in [1, 7, 100, 1000, 20_000] {
                let best = Best::of(&keys, 0..keys.len(), k, Spec::unsigned::<u32>()).sorted();
                assert!(best.iter().map(|&(_, index)| index).eq(expected[..k].iter().copied()), "the first {k} of order {order}");
            }
        }
    }

    const U32: fn() -> Spec = Spec::unsigned::<u32>;

    /// The indices of the first `k` of `keys` at `range`, by a sort.
    fn sorted_indices(keys: &[u32], range: Range<usize>, k: usize, spec: Spec) -> Vec<u32> {
        let mut order = Vec::from_iter(range.start as u32..range.end as u32);
        order.sort_by_key(|&index| spec.rank(keys[index as usize]));
        order.truncate(k);
        order
    }

    #[test]
    fn shares_of_threads_are_selected_from_as_one_slice() {
        for len in [190_000, 190_001, 190_002] {
            let keys = Vec::from_iter((0..len as u32).map(|i| spread(i) % 100_000));
            for k in [1, 3000] {
                let expected = sorted_indices(&keys, 0..len, k, U32());
                for threads in [Threads::ONE, Threads::several(3)] {
                    assert_eq!(top_k(&keys, k, U32(), threads), expected, "{k} of {len}, {threads:?}");
                }
            }
            // The best at the ends of the shares.
            let mut keys = vec![9_u32; len];
            let share = len.div_ceil(3);
            let ends = [0, share - 1, share, 2 * share - 1, 2 * share, len - 1];
            ends.into_iter().for_each(|end| keys[end] = 5);
            assert!(
                top_k(&keys, 6, U32(), Threads::several(3)).into_iter().eq(ends.map(|end| end as u32)),
                "the ends of {len} keys"
            );
        }
    }

    /// The first `k` of each of some segments, checked, and the steps that several threads take.
    fn segment_steps(lengths: &[usize], k: usize) -> Vec<Step> {
        let offsets = Vec::from_iter([3].into_iter().chain(lengths.iter().scan(3, |end, len| {
            *end += len;
            Some(*end)
        })));
        let segments = Segments::from(&offsets);
        let keys = Vec::from_iter((0..offsets[lengths.len()] as u32).map(|i| spread(i) % 1000));
        let expected = Vec::from_iter(segments.ranges().flat_map(|range| sorted_indices(&keys, range, k, U32())));
        let mut found = vec![0; expected.len()];
        let steps = steps_of_threads(|threads| top_k_segments(&keys, k, segments, U32(), &mut found, threads));
        assert_eq!(found, expected, "{k} of {lengths:?}");
        steps
    }

    #[test]
    fn threads_take_segments_in_tasks_of_about_equal_length() {
        assert_eq!(segment_steps(&[TASK / 4; 4], 20), [Step::Segments(4)]);
        assert_eq!(segment_steps(&[TASK / 4, TASK / 4, TASK / 4, TASK / 4 + 1], 20), [Step::Segments(2); 2]);
        assert_eq!(segment_steps(&[3 * TASK], 20), [Step::Segments(1)]);
        assert_eq!(segment_steps(&[TASK / 8; 32], 20), [Step::Segments(8); 4]);
        assert_eq!(segment_steps(&[3 * TASK, 1000, 1000, 1000], 20), [1, 3].map(Step::Segments));
        assert_eq!(segment_steps(&[1000, 1000, 1000, 3 * TASK], 20), [3, 1].map(Step::Segments));
        assert_eq!(segment_steps(&[500, 0, 3 * TASK, 500, 0], 20), [2, 1, 2].map(Step::Segments));
    }

    #[test]
    fn a_selection_of_most_of_a_segment_sorts_it() {
        let sorts = |len, k| segment_steps(&[len], k).iter().any(|step| !matches!(step, Step::Segments(_)));
        for len in [200, 207] {
            let least = 200 / SELECT_FRACTION;
            assert!(!sorts(len, least - 1) && sorts(len, least) && sorts(len, len) && sorts(len, 1000));
        }
        assert!(!sorts(200, 0));
    }

    #[test]
    fn a_segment_gives_k_keys_or_all() {
        let offsets = [0, 4, 4, 9, 19];
        let tasks = Tasks { keys: &[0_u32; 19], k: 5, segments: (&offsets).into(), spec: U32(), threads: Threads::ONE };
        assert_eq!([0, 1, 2, 3].map(|segment| tasks.found_in(segment)), [4, 0, 5, 5]);
    }

    /// Kept `ranks`, whose indices count up from 0, of a selection of the best `k`, and its bar.
    fn kept(k: usize, ranks: &[u32], bar: Option<u32>) -> Best<u32> {
        let mut best = Best::none(k, ranks.len());
        best.ranks[..ranks.len()].copy_from_slice(ranks);
        best.indices.iter_mut().zip(0..).for_each(|(index, at)| *index = at);
        Best { len: ranks.len(), bar, ..best }
    }

    fn entries(best: &Best<u32>) -> Vec<(u32, u32)> {
        best.ranks[..best.len].iter().copied().zip(best.indices.iter().copied()).collect()
    }

    #[test]
    fn a_prune_keeps_the_best_and_of_equal_ones_the_first() {
        let ties = [5, 3, 3, 1, 3];
        let cases = [
            (2, &ties[..], &[1, 3][..], Some(2)),
            (3, &ties, &[1, 2, 3], Some(2)),
            (4, &ties, &[1, 2, 3, 4], Some(2)),
            (1, &[7, 7, 7], &[0], Some(6)),
            (2, &[1, 0, 0, 0], &[1, 2], None),
            // None is dropped, so later ones may be as bad.
            (5, &ties, &[0, 1, 2, 3, 4], Some(9)),
            (6, &ties, &[0, 1, 2, 3, 4], Some(9)),
        ];
        for (k, ranks, indices, bar) in cases {
            let mut best = kept(k, ranks, Some(9));
            best.prune();
            assert!(
                entries(&best).into_iter().eq(indices.iter().map(|&index| (ranks[index as usize], index))),
                "{k} of {ranks:?}"
            );
            assert_eq!(best.bar, bar, "{k} of {ranks:?}");
        }
    }

    #[test]
    fn a_bar_is_never_raised() {
        for (bar, end, expected) in
            [(Some(9), 10, Some(9)), (Some(9), 9, Some(8)), (Some(9), 20, Some(9)), (Some(9), 0, None), (None, 5, None)]
        {
            let mut best = Best { bar, ..Best::<u32>::none(1, 1) };
            best.lower(end);
            assert_eq!(best.bar, expected, "{bar:?} by {end}");
        }
    }

    #[test]
    fn room_is_left_for_a_block_whatever_passes() {
        for (k, len) in [(1, 0), (1, 5), (10, 100), (1, 1 << 20), (5000, 1 << 20), (usize::MAX, 1000)] {
            let mut best = Best::<u32>::none(k, len);
            // What the room of a few keys keeps without a prune: all of them, or the best and as many again.
            assert!(best.ranks.len() >= len.min(k.saturating_mul(2)) + BLOCK);
            assert_eq!(best.ranks.len(), best.indices.len());
            best.len = best.ranks.len() - BLOCK;
            assert!(!best.is_full());
            best.len += 1;
            assert!(best.is_full());
        }
    }

    #[test]
    fn a_scan_stops_behind_the_block_that_fills_the_room() {
        let keys = Vec::from_iter(0..10_000_u32);
        let mut best = Best::<u32>::none(1, keys.len());
        let least = best.ranks.len() - BLOCK + 1;
        let read = best.scan(&keys, 500, U32(), |_| true);
        assert_eq!((read, best.len), (least.next_multiple_of(BLOCK), read));
        assert!(entries(&best).into_iter().eq((0..read as u32).map(|i| (i, i + 500))));
        // Of the keys of a block or its parts, none, one, two, or three pass.
        let passing = [0, 7, 64, 65, 130, 140, 199, 256, 257, 258, 320, 383, 448, 9_999];
        let mut best = Best::<u32>::none(1, keys.len());
        assert_eq!(best.scan(&keys, 500, U32(), |raw| passing.contains(&raw)), keys.len());
        assert!(entries(&best).into_iter().eq(passing.map(|i| (i, i + 500))));
    }

    #[test]
    fn a_selection_from_part_of_the_keys_gives_their_indices_among_all() {
        for order in [spread, |i| u32::MAX - i, |i| i % 7] {
            let keys = Vec::from_iter((0..50_000).map(order));
            // Ranks in a window are no interval of raw keys.
            for spec in [U32(), Spec::new::<u32>(Masks::UNSIGNED, 1, 28).unwrap()] {
                for range in [0..50_000, 1000..50_000, 777..40_001, 49_990..50_000] {
                    let best = Best::of(&keys, range.clone(), 9, spec).sorted();
                    assert!(best.into_iter().map(|(_, index)| index).eq(sorted_indices(&keys, range, 9, spec)));
                }
            }
        }
    }

    /// The bar after a guess from `coming` keys, with room for the best `k`.
    fn guessed(k: usize, coming: &[u32], bar: Option<u32>) -> Option<u32> {
        let [one, other] = [U32(), Spec::new::<u32>(Masks::UNSIGNED, 0, 31).unwrap()].map(|spec| {
            let mut best = Best { bar, ..Best::<u32>::none(k, coming.len()) };
            best.guess(coming, spec);
            best.bar
        });
        // Where the top bit is not set, it makes no difference.
        assert!(one == other || coming.iter().any(|&key| key >> 31 == 1));
        one
    }

    #[test]
    fn a_guess_passes_the_best_and_few_more() {
        let orders: [fn(u32) -> u32; 4] = [spread, |i| u32::MAX - (i << 8), |i| i << 8, |i| (1 << 31) - 1 - (i << 8)];
        for order in orders {
            let coming = Vec::from_iter((0..3 * SELECT_AHEAD as u32).map(order));
            for k in [1000, 5000, SELECT_AHEAD / 6 - 100] {
                let bar = guessed(k, &coming, Some(u32::MAX)).expect("a bar");
                let passing = coming[..SELECT_AHEAD].iter().filter(|&&rank| rank <= bar).count();
                assert!((k..3 * k).contains(&passing), "{passing} for {k}");
            }
        }
    }

    #[test]
    fn no_guess_is_made_for_a_large_share_of_the_keys_or_from_few() {
        let coming = Vec::from_iter((0..SELECT_AHEAD as u32).map(spread));
        // A quarter of the samples is one and a half times a sixth of the keys.
        assert_eq!(guessed(SELECT_AHEAD / 6 + 100, &coming, Some(u32::MAX)), Some(u32::MAX));
        assert_eq!(guessed(usize::MAX, &coming, Some(u32::MAX)), Some(u32::MAX));
        assert_eq!(guessed(1, &coming[..SELECT_SAMPLES - 1], Some(u32::MAX)), Some(u32::MAX));
        assert!(guessed(1, &coming[..SELECT_SAMPLES], Some(u32::MAX)) < Some(u32::MAX / 16));
        assert_eq!(guessed(1, &[], Some(7)), Some(7));
    }

    #[test]
    fn a_guess_is_a_bar_only_if_k_keys_are_below_it_and_below_the_last_bar() {
        // A twelfth of the keys is 5, fewer than the guess is made for, the others are 10: so the guess is 10.
        let coming = Vec::from_iter((0..SELECT_AHEAD as u32).map(|i| if spread(i).is_multiple_of(12) { 5 } else { 10 }));
        let below = coming.iter().filter(|&&rank| rank == 5).count();
        assert_eq!(guessed(below, &coming, Some(50)), Some(9));
        assert_eq!(guessed(below, &coming, Some(10)), Some(9));
        assert_eq!(guessed(below, &coming, Some(9)), Some(9));
        assert_eq!(guessed(below, &coming, Some(7)), Some(7));
        assert_eq!(guessed(below + 1, &coming, Some(50)), Some(50));
        assert_eq!(guessed(below, &coming, None), None);
        assert_eq!(guessed(1, &[0; 5000], Some(50)), Some(50));
    }

    #[test]
    fn counts_are_right_past_the_narrowest_counter() {
        for len in [0, 1, 254, 255, 256, 257, 510, 511, 1000] {
            let keys = Vec::from_iter(0..len as u32);
            assert_eq!(count(&keys, |_| true), len);
            assert_eq!(count(&keys, |raw| raw % 3 == 0), len.div_ceil(3));
            assert_eq!(count(&keys, |_| false), 0);
        }
    }

    #[test]
    fn the_best_of_two_are_joined_with_ties_to_the_first() {
        let (first, mut second) = (kept(3, &[4, 9, 2], Some(9)), kept(3, &[4, 1, 4, 9], Some(9)));
        second.indices.iter_mut().for_each(|index| *index += 10);
        assert_eq!(first.join(second).sorted(), [(1, 11), (2, 2), (4, 0)]);
    }

    #[cfg(feature = "vector")]
    #[test]
    fn offered_ranks_are_kept_if_they_pass() {
        let mut best = Best::<u32> { bar: Some(5), ..Best::none(2, 1000) };
        best.offer(10, [6, 7].into_iter());
        assert_eq!(entries(&best), []);
        best.offer(20, [5, 6, 4].into_iter());
        best.offer(30, [1, 1].into_iter());
        assert_eq!(entries(&best), [(5, 20), (4, 22), (1, 30), (1, 31)]);
        best.bar = None;
        best.offer(40, [0].into_iter());
        assert_eq!(best.len, 4);
        // A prune makes room for the next block.
        let mut best = Best::<u32>::none(2, 10_000);
        for start in (0..10_000).step_by(BLOCK) {
            best.offer(start, (0..BLOCK as u32).map(|i| 20_000 - start as u32 - i));
            assert!(!best.is_full());
        }
        assert!(best.bar < Some(20_000));
    }
}
