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
        took(Step::Split(keys.len()));
        let threads = self.threads.at_most(scan_ns(size_of_val(keys)));
        let split = |keys: &mut [W]| W::split(self.set, keys, pivot, self.enter);
        if threads.is_one() {
            return split(keys);
        }
        let share = keys.len().div_ceil(threads.count());
        let mut counts = vec![0; keys.len().div_ceil(share)];
        let chunks = keys.chunks_mut(share).zip(&mut counts).collect();
        threads.for_each(chunks, || (), |(), (chunk, count): (&mut [W], &mut usize)| *count = split(chunk));
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
    threads.for_each(pairs, || (), |(), (left, right): (&mut [W], &mut [W])| left.swap_with_slice(right));
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let len = keys.len();
        for masks in [Masks::UNSIGNED, Masks::float(32), Masks::signed(32).reversed(32)] {
            let spec = Spec::new::<u32>(masks, 0, 32).expect("a spec of all bits");
            let mut sorted: Vec<u32> = keys.iter().map(|&key| masks.apply(key)).collect();
            sorted.sort_unstable();
            let nth = [0, 1, len / 2, len.saturating_sub(1)].map(|nth| nth..nth + 1);
            let some = [0..len / 10, len / 3..len / 2, len / 2..len, 0..len, len / 2..len / 2, len..len + 9];
            for positions in nth.into_iter().chain(some) {
                for set in Set::all() {
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

    fn spread(i: u32) -> u32 {
        i.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b) >> 7
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
        let threads = Threads::worth(Work::Scan(u64::MAX), || 3);
        for len in [300_000, 312_345] {
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
}
