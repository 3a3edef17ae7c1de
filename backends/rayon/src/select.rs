//! Partial sorts of keys alone: the keys at some positions go where a sort would put them.
//!
//! ```text
//! sample      some keys, sorted by a network
//! split       at the key that is likely a little beside the positions, on the side of most keys      simd/split.rs
//! both        the part with the positions is split again, until most of its keys are asked for
//! sort        what is left                                                                           sort.rs
//! ```
//!
//! What makes it fast: the first split parts the keys beside the positions, not at the middle, so the third one already has few keys.
//! (Floyd, Rivest: "Expected time bounds for selection", 1975.)
//!
//! Several threads split chunks, and then swap the keys that are on the wrong side of the middle.
//!
//! If splits have read all keys [`MOST_READS`] times, the keys that are left are sorted.

use crate::sample;
use crate::simd::{Map, Set, SplitWord};
use crate::sort::sort_keys;
use crate::threads::{Threads, Work};
use crate::trace::{Step, took};
use crate::tuning::{SELECT_KEYS, TASK, scan_ns, sort_ns};
use bytemuck::cast_slice_mut as cast;
use core::ops::Range;
use polysort_core::{Spec, Word};

/// The most keys of a sample. Their rank among all keys is known to about 1.5 %.
const SAMPLES: usize = 1024;

/// The fewest keys for each sample.
const SAMPLED: usize = 16;

/// Splits may read all keys so many times; two are usual.
const MOST_READS: usize = 8;

/// About how long one thread takes for a partial sort of `len` keys, in nanoseconds.
pub(crate) fn nanoseconds<W: Word>(len: usize) -> u64 {
    if W::BITS < 32 { sort_ns::<W>(len) } else { 2 * scan_ns(len * size_of::<W>()) }
}

/// Puts the keys at `positions` where a stable sort by `spec` would put them, those that are equal in the window of `spec` too. Positions behind the
/// last key are left out.
pub(crate) fn partial_sort<W: Word>(keys: &mut [W], positions: Range<usize>, spec: Spec, threads: Threads) {
    if positions.start >= positions.end.min(keys.len()) {
        return;
    }
    // A sort of narrow keys reads them no more often than a split does, and a split is not stable.
    if W::BITS < 32 || spec.width() < W::BITS {
        return sort_keys(keys, spec, threads.that_pay(Work::Sort(sort_ns::<W>(keys.len()))));
    }
    match W::BITS {
        32 => Selection::<u32>::new(spec, threads).run(cast(keys), positions),
        64 => Selection::<u64>::new(spec, threads).run(cast(keys), positions),
        _ => partial_sort_wide(keys, positions, spec),
    }
}

/// The same for words that no registers split, and for positions of which there is one: std's selection is faster than a split of one word after the
/// other.
fn partial_sort_wide<W: Word>(keys: &mut [W], positions: Range<usize>, spec: Spec) {
    let ordered = |key: &W| spec.masks.apply(*key);
    took(Step::Selected(keys.len()));
    let (start, end) = (positions.start, positions.end.min(keys.len()));
    let (_, _, behind) = keys.select_nth_unstable_by_key(start, ordered);
    let Some(last) = (end - start).checked_sub(2) else { return };
    let (between, ..) = behind.select_nth_unstable_by_key(last, ordered);
    between.sort_unstable_by_key(ordered);
}

#[derive(Clone, Copy)]
struct Selection<W> {
    set: Set,
    spec: Spec,
    enter: Map<W>,
    threads: Threads,
}

impl<W: SplitWord> Selection<W> {
    fn new(spec: Spec, threads: Threads) -> Self {
        Self { set: Set::widest(), spec, enter: Map::enter(spec.masks), threads }
    }

    fn run(self, keys: &mut [W], positions: Range<usize>) {
        let reads = keys.len().saturating_mul(MOST_READS);
        self.settle(keys, positions, reads);
    }

    /// Puts the keys at `positions` where they belong; splits read `reads` keys at most.
    fn settle(self, keys: &mut [W], positions: Range<usize>, mut reads: usize) {
        let (mut keys, mut positions) = (keys, positions);
        loop {
            let len = keys.len();
            positions.end = positions.end.min(len);
            if positions.is_empty() {
                return;
            }
            if len <= SELECT_KEYS || positions.len() >= len / 4 * 3 || reads < 2 * len {
                return sort_keys(keys, self.spec, self.threads.that_pay(Work::Sort(sort_ns::<W>(len))));
            }
            let equal = self.part(keys, &positions);
            reads -= 2 * len;
            let (rest, above) = keys.split_at_mut(equal.end);
            let below = &mut rest[..equal.start];
            let positions_above = positions.start.saturating_sub(equal.end)..positions.end.saturating_sub(equal.end);
            if positions_above.is_empty() {
                keys = below;
            } else {
                if positions.start < below.len() {
                    self.settle(below, positions, reads);
                }
                (keys, positions) = (above, positions_above);
            }
        }
    }

    /// Parts the keys: those before the range that is returned sort before those behind it, and those in it are equal and where they belong.
    fn part(self, keys: &mut [W], positions: &Range<usize>) -> Range<usize> {
        let mut samples = [W::zero(); SAMPLES];
        let count = (keys.len() / SAMPLED).clamp(1, SAMPLES);
        let samples = sample::sorted(self.set, self.enter, keys, &mut samples[..count]);
        if let Some(pivot) = pivot(samples, positions, keys.len()) {
            let middle = self.split(keys, pivot);
            return middle..middle;
        }
        // All samples are equal, so most keys are.
        let value = samples[0];
        let start = self.split(keys, value);
        let end = if value == W::max_value() { keys.len() } else { start + self.split(&mut keys[start..], value + W::one()) };
        start..end
    }

    /// Moves the keys whose ordered bits are below `pivot` in front of the others, and returns their number.
    fn split(self, keys: &mut [W], pivot: W) -> usize {
        took(Step::Parted(keys.len()));
        let threads = self.threads.at_most(scan_ns(size_of_val(keys)));
        let split = |keys: &mut [W]| W::split(self.set, keys, pivot, self.enter);
        if threads.is_one() {
            return split(keys);
        }
        let share = keys.len().div_ceil(threads.count());
        let mut counts = vec![0; keys.len().div_ceil(share)];
        let chunks = keys.chunks_mut(share).zip(&mut counts).collect();
        threads.for_each(chunks, &|| (), &|(), (chunk, count): (&mut [W], &mut usize)| *count = split(chunk));
        let middle = counts.iter().sum();
        // In front of the middle, the upper keys of each chunk are misplaced; behind it, the lower ones.
        let (front, back) = keys.split_at_mut(middle);
        let start = |chunk: usize| chunk * share;
        let upper = counts.iter().enumerate().map(|(chunk, count)| start(chunk) + count..start(chunk + 1).min(middle));
        let lower = counts.iter().enumerate().map(|(chunk, count)| start(chunk).max(middle)..start(chunk) + count);
        let lower = lower.map(|range| range.start - middle..range.end.saturating_sub(middle));
        swap(pieces(front, upper), pieces(back, lower), threads);
        middle
    }
}

/// A value of sorted `samples` that likely has `positions` on one side and most other keys on the other, and that some keys are below; `None` if all
/// samples are equal.
fn pivot<W: Word>(samples: &[W], positions: &Range<usize>, len: usize) -> Option<W> {
    let (count, first) = (samples.len(), samples[0]);
    // 1.5 standard deviations of a sample's rank in the middle, where it is least certain.
    let margin = count.isqrt() * 3 / 4;
    let rank = |position: usize| (position as u128 * count as u128 / len as u128) as usize;
    let at = if len - positions.end >= positions.start {
        (rank(positions.end) + margin).min(count - 1)
    } else {
        rank(positions.start).saturating_sub(margin)
    };
    if samples[at] > first { Some(samples[at]) } else { samples.iter().find(|&&sample| sample > first).copied() }
}

/// The parts of a slice at these ranges, which are in order; those that start behind their end are left out.
fn pieces<W>(slice: &mut [W], ranges: impl Iterator<Item = Range<usize>>) -> Vec<&mut [W]> {
    let (mut rest, mut at, mut pieces) = (slice, 0, vec![]);
    for range in ranges.filter(|range| !range.is_empty()) {
        let (_, behind) = rest.split_at_mut(range.start - at);
        let (piece, behind) = behind.split_at_mut(range.len());
        pieces.push(piece);
        (rest, at) = (behind, range.end);
    }
    pieces
}

/// Swaps the keys of `left` with as many of `right`.
fn swap<W: Word>(left: Vec<&mut [W]>, right: Vec<&mut [W]>, threads: Threads) {
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let (mut pairs, mut own, mut other) = (vec![], <&mut [W]>::default(), <&mut [W]>::default());
    loop {
        if own.is_empty() {
            let Some(next) = left.next() else { break };
            own = next;
        }
        if other.is_empty() {
            let Some(next) = right.next() else { break };
            other = next;
        }
        let len = own.len().min(other.len()).min(TASK);
        let ((now, later), (now_other, later_other)) = (own.split_at_mut(len), other.split_at_mut(len));
        pairs.push((now, now_other));
        (own, other) = (later, later_other);
    }
    threads.for_each(pairs, &|| (), &|(), (left, right): (&mut [W], &mut [W])| left.swap_with_slice(right));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::spread;
    use crate::trace::steps_of;
    use polysort_core::Masks;

    /// Whether keys at `positions` are as in `sorted`, those before and behind sort before and behind them, and none is lost.
    fn is_right(keys: &[u32], sorted: &[u32], positions: Range<usize>, masks: Masks) -> bool {
        let positions = positions.start.min(keys.len())..positions.end.min(keys.len());
        let ordered: Vec<u32> = keys.iter().map(|&key| masks.apply(key)).collect();
        let (before, rest) = ordered.split_at(positions.start);
        let (there, behind) = rest.split_at(positions.len());
        let is_parted = there.is_empty()
            || before.iter().all(|key| *key <= there[0]) && behind.iter().all(|key| *key >= there[there.len() - 1]);
        let mut all = ordered.clone();
        all.sort_unstable();
        all == sorted && is_parted && there == &sorted[positions]
    }

    fn check(what: &str, keys: &[u32], threads: Threads) {
        // Each set splits on its own; how threads join their parts does not depend on it.
        let sets = if threads.is_one() { Set::all() } else { vec![Set::widest()] };
        let len = keys.len();
        for masks in [Masks::UNSIGNED, Masks::float(32), Masks::signed(32).reversed(32)] {
            let spec = Spec::new::<u32>(masks, 0, 32).expect("a spec of all bits");
            let mut sorted: Vec<u32> = keys.iter().map(|&key| masks.apply(key)).collect();
            sorted.sort_unstable();
            let nth = [0, 1, len / 2, len.saturating_sub(1)].map(|nth| nth..nth + 1);
            let some = [0..len / 10, len / 3..len / 2, len / 2..len, 0..len, len / 2..len / 2, len..len + 9];
            for positions in nth.into_iter().chain(some) {
                for &set in &sets {
                    let mut own = keys.to_vec();
                    Selection { set, ..Selection::new(spec, threads) }.run(&mut own, positions.clone());
                    assert!(
                        is_right(&own, &sorted, positions.clone(), masks),
                        "{what}, {len} keys, {positions:?}, {}",
                        set.name()
                    );
                }
            }
        }
    }

    #[test]
    fn keys_of_one_value_and_of_few() {
        for len in (0..4000).step_by(331).chain([1 << 15]) {
            let of = |key: fn(u32) -> u32| Vec::from_iter((0..len).map(|i| key(spread(i))));
            check("any", &of(|key| key), Threads::ONE);
            check("one", &of(|_| u32::MAX), Threads::ONE);
            check("two", &of(|key| key & 0x8000_0000), Threads::ONE);
            check("few", &of(|key| key & 0x101), Threads::ONE);
            check("one but for few greater", &of(|key| if key % 1000 == 0 { key } else { 0 }), Threads::ONE);
            check("one but for few smaller", &of(|key| if key % 1000 == 0 { key } else { u32::MAX }), Threads::ONE);
            check("half of them equal", &of(|key| if key % 2 == 0 { key } else { 1 << 20 }), Threads::ONE);
        }
    }

    #[test]
    fn several_threads_split_one_slice() {
        let threads = Threads::several(3);
        for len in [200_000, 212_345] {
            check("any", &Vec::from_iter((0..len).map(spread)), threads);
            check("sorted", &Vec::from_iter(0..len), threads);
            check("reversed", &Vec::from_iter((0..len).rev()), threads);
            check("few", &Vec::from_iter((0..len).map(|i| spread(i) % 3)), threads);
        }
    }

    /// Samples that are far smaller than all other keys leave nearly all keys in one part; the rest is sorted after some splits.
    #[test]
    fn samples_that_mislead() {
        let len = 1 << 16;
        let mut keys: Vec<u32> = (0..len).map(|i| 0x8000_0000 | spread(i) >> 1).collect();
        for (place, at) in sample::places(keys.len(), SAMPLES).zip(0..) {
            keys[place] = at / 2;
        }
        check("misleading samples", &keys, Threads::ONE);
    }

    /// The steps of a partial sort, which is checked.
    fn steps<W: Word>(keys: &[W], positions: Range<usize>, spec: Spec) -> Vec<Step> {
        let (mut own, mut sorted) = (keys.to_vec(), keys.to_vec());
        sorted.sort_by_key(|&key| spec.rank(key));
        let steps = steps_of(|| partial_sort(&mut own, positions.clone(), spec, Threads::ONE));
        let positions = positions.start.min(keys.len())..positions.end.min(keys.len());
        assert_eq!(own[positions.clone()], sorted[positions.clone()], "{positions:?} of {} keys", keys.len());
        own.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(own, sorted);
        steps
    }

    /// How many keys each split read.
    fn splits(steps: &[Step]) -> Vec<usize> {
        steps.iter().filter_map(|step| if let Step::Parted(len) = step { Some(*len) } else { None }).collect()
    }

    fn keys<W: Word>(len: usize) -> Vec<W> {
        let key = |i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        Vec::from_iter((0..len as u128).map(|i| W::truncate(key(i) ^ key(i) >> 61)))
    }

    #[test]
    fn words_of_32_and_64_bits_are_split_unless_a_window_is_narrower() {
        let len = 5000;
        assert_eq!(splits(&steps(&keys::<u32>(len), 9..10, Spec::unsigned::<u32>()))[0], len);
        assert_eq!(splits(&steps(&keys::<u64>(len), 9..10, Spec::unsigned::<u64>()))[0], len);
        let sorts = |steps: Vec<Step>| splits(&steps).is_empty() && !steps.contains(&Step::Selected(len));
        for (begin, end) in [(0, 16), (1, 16)] {
            assert!(sorts(steps(&keys::<u16>(len), 9..10, Spec::new::<u16>(Masks::UNSIGNED, begin, end).unwrap())));
        }
        for (begin, end) in [(1, 32), (0, 31)] {
            assert!(sorts(steps(&keys::<u32>(len), 9..10, Spec::new::<u32>(Masks::UNSIGNED, begin, end).unwrap())));
        }
    }

    #[test]
    fn wide_words_are_selected_by_std() {
        let keys = keys::<u128>(1000);
        for positions in [0..1, 0..2, 0..3, 500..501, 500..502, 500..600, 998..1000, 990..2000, 999..1000] {
            assert_eq!(steps(&keys, positions, Spec::unsigned::<u128>()), [Step::Selected(1000)]);
        }
    }

    #[test]
    fn no_positions_take_no_steps() {
        for positions in [5..5, 1000..1001, 1001..1003, 2000..3000] {
            assert_eq!(steps(&keys::<u32>(1000), positions.clone(), Spec::unsigned::<u32>()), []);
            assert_eq!(steps(&keys::<u128>(1000), positions, Spec::unsigned::<u128>()), []);
        }
    }

    #[test]
    fn the_third_split_already_has_few_keys() {
        for len in [1 << 14, 100_000] {
            for position in [0, len / 3, len / 2 - 1, len / 2, len / 2 + 1, len / 3 * 2, len - 1] {
                let steps = steps(&keys::<u64>(len), position..position + 1, Spec::unsigned::<u64>());
                let splits = splits(&steps);
                assert_eq!(splits[0], len);
                assert!(splits[1] < len / 3 * 2, "{splits:?} for {position} of {len}");
                assert!(splits.get(2).is_none_or(|&third| third < len / 8), "{splits:?} for {position} of {len}");
            }
        }
    }

    /// Settles `positions` of `keys` with so many reads, and returns how many keys each split read.
    fn settle_splits(keys: &[u32], positions: Range<usize>, reads: usize) -> Vec<usize> {
        let selection = Selection::<u32>::new(Spec::unsigned::<u32>(), Threads::ONE);
        let (mut own, mut sorted) = (keys.to_vec(), keys.to_vec());
        sorted.sort_unstable();
        let steps = steps_of(|| selection.settle(&mut own, positions.clone(), reads));
        assert_eq!(own[positions.clone()], sorted[positions]);
        splits(&steps)
    }

    fn is_split(len: usize, positions: Range<usize>, reads: usize) -> bool {
        !settle_splits(&keys(len), positions, reads).is_empty()
    }

    #[test]
    fn few_keys_and_most_positions_are_sorted() {
        assert!(!is_split(SELECT_KEYS, 0..1, usize::MAX) && is_split(SELECT_KEYS + 1, 0..1, usize::MAX));
        for start in [0, 100] {
            assert!(is_split(1000, start..start + 749, usize::MAX) && !is_split(1000, start..start + 750, usize::MAX));
            assert!(is_split(1003, start..start + 749, usize::MAX) && !is_split(1003, start..start + 750, usize::MAX));
        }
        assert!(!is_split(1000, 0..1000, usize::MAX) && !is_split(1000, 900..900, 0));
    }

    #[test]
    fn splits_read_no_more_keys_than_they_may() {
        let len = 10_000;
        assert!(!is_split(len, 5000..5001, 2 * len - 1));
        assert!(is_split(len, 5000..5001, 2 * len));
        // Each split is counted as two, because keys that are mostly equal are split twice.
        let all = settle_splits(&keys::<u32>(len), 5000..5001, usize::MAX);
        for count in 1..all.len() {
            let reads = 2 * all[..count].iter().sum::<usize>();
            assert_eq!(settle_splits(&keys::<u32>(len), 5000..5001, reads), all[..count]);
            assert_eq!(settle_splits(&keys::<u32>(len), 5000..5001, reads - 1), all[..count - 1]);
        }
        // Parts on both sides of a split get what is left.
        let splits = settle_splits(&keys::<u32>(len), 100..7000, 2 * len);
        assert_eq!(splits, [len]);
    }

    #[test]
    fn a_pivot_is_a_little_beside_the_positions_on_the_side_of_most_keys() {
        // A hundred keys for each of the 1024 samples, and a margin of 24 samples.
        let (samples, len) = (Vec::from_iter((0..1024_u32).map(|i| 10 * i)), 102_400);
        let cases = [
            (0..1, 24),
            (99..100, 25),
            (0..50_000, 524),
            (51_199..51_200, 536),
            // As many keys on both sides.
            (51_199..51_201, 536),
            (51_199..51_202, 487),
            (51_200..51_201, 488),
            (102_399..102_400, 999),
            (0..102_000, 1023),
            // The first sample has none below it.
            (100..102_400, 1),
            (2400..102_400, 1),
            (2500..102_400, 1),
            (2600..102_400, 2),
        ];
        for (positions, sample) in cases {
            assert_eq!(pivot(&samples, &positions, len), Some(10 * sample), "{positions:?}");
        }
    }

    #[test]
    fn some_keys_are_below_a_pivot() {
        assert_eq!(pivot(&[3_u32; 16], &(0..1), 256), None);
        assert_eq!(pivot(&[3_u32, 3, 3, 3, 3, 3, 3, 7], &(0..1), 128), Some(7));
        assert_eq!(pivot(&[3_u32, 3, 3, 3, 3, 3, 5, 7], &(0..1), 128), Some(5));
        assert_eq!(pivot(&[3_u32, 4, 5, 6], &(63..64), 64), Some(5));
    }

    #[test]
    fn pieces_are_at_the_ranges_that_are_not_empty() {
        let mut slice = Vec::from_iter(0..10_u32);
        let ranges = [(0, 0), (1, 3), (3, 4), (6, 5), (6, 6), (7, 10)];
        assert_eq!(pieces(&mut slice, ranges.into_iter().map(|(start, end)| start..end)), [&[1, 2][..], &[3], &[7, 8, 9]]);
        assert!(pieces(&mut slice, [2..2, 5..5].into_iter()).is_empty());
    }

    #[test]
    fn pieces_of_different_lengths_are_swapped_in_order() {
        let (mut left, mut right) = ([1, 2, 3, 4, 5, 6_u32], [11, 12, 13, 14, 15, 16_u32]);
        swap(pieces(&mut left, [0..1, 2..6].into_iter()), pieces(&mut right, [0..3, 3..4, 5..6].into_iter()), Threads::ONE);
        assert_eq!((left, right), ([11, 2, 12, 13, 14, 16], [1, 3, 4, 5, 15, 6]));
    }

    #[test]
    fn a_partial_sort_takes_as_long_as_two_scans_or_of_narrow_keys_as_a_sort() {
        for len in [1000, 10_000] {
            assert_eq!(nanoseconds::<u8>(len), sort_ns::<u8>(len));
            assert_eq!(nanoseconds::<u16>(len), sort_ns::<u16>(len));
            assert_eq!(nanoseconds::<u32>(len), 2 * scan_ns(4 * len));
            assert_eq!(nanoseconds::<u64>(len), 2 * scan_ns(8 * len));
        }
    }

    #[test]
    fn keys_that_are_mostly_equal_are_parted_from_smaller_and_greater_ones() {
        let selection = Selection::<u32>::new(Spec::unsigned::<u32>(), Threads::ONE);
        for value in [0, 1, 500, u32::MAX - 1, u32::MAX] {
            // Where no sample is taken.
            let sampled = Vec::from_iter(sample::places(20_000, SAMPLES));
            let mut others = (0..20_000).filter(|place| !sampled.contains(place)).step_by(1000);
            let mut keys = vec![value; 20_000];
            for other in [value.saturating_sub(1), value.saturating_add(1), 0, u32::MAX, value / 2] {
                keys[others.next().expect("a place")] = other;
            }
            let below = keys.iter().filter(|&&key| key < value).count();
            let above = keys.iter().filter(|&&key| key > value).count();
            assert_eq!(selection.part(&mut keys, &(0..1)), below..20_000 - above);
            assert!(keys[..below].iter().all(|&key| key < value) && keys[20_000 - above..].iter().all(|&key| key > value));
        }
    }

    #[test]
    fn a_split_by_three_threads_moves_all_lower_keys_to_the_front() {
        let selection = Selection::<u32>::new(Spec::unsigned::<u32>(), Threads::several(3));
        for len in [190_000, 190_001, 190_002] {
            for order in [spread, |i| i, |i| 190_002 - i, |i| i % 7, |i| i ^ 1 << 16] {
                let keys = Vec::from_iter((0..len).map(order));
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                for pivot in [1, 5, len / 3, len / 2, len - 1].map(|at| sorted[at as usize]) {
                    let mut own = keys.clone();
                    let middle = selection.split(&mut own, pivot);
                    assert_eq!(middle, sorted.partition_point(|&key| key < pivot));
                    assert!(own[..middle].iter().all(|&key| key < pivot) && own[middle..].iter().all(|&key| key >= pivot));
                    own.sort_unstable();
                    assert!(own == sorted, "{len} keys at {pivot}");
                }
            }
        }
    }
}
