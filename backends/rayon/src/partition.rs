//! How a partition by the most significant bits is laid out, decided before anything moves.
//!
//! One read counts a digit of many bits. Buckets are then chosen to be of even size, not of even width: a range of digits that share
//! their top bits is one bucket if its records are few enough, else it is halved. So records crowd no bucket where keys are
//! crowded, as floats are in a few exponents, and each bucket still knows which bits are left to sort by.
//!
//! ```text
//! digit    000 001 010 011 100 101 110 111
//! records    1   0   9   9   2   0   1   1        at most 10 a bucket
//! buckets  |---0--| |1| |2| |------3------|       left to sort: two bits more, none, none, …
//! ```
//!
//! What makes it fast: the digit is guessed from a sample, so that one read both counts it and finds the bits that vary.

use crate::columns::{Key, Source};
use crate::record::Record;
use crate::scatter::max_buckets;
use crate::tuning::{BUCKETS_A_THREAD, CACHE_BYTES, COUNTED_BITS, SAMPLES};
use crate::window::Window;
use core::ops::Range;
use num_traits::Zero;
use rayon::prelude::*;

/// Which bucket each record goes to, and where the buckets lie.
pub(crate) struct Partition {
    digit: Window,
    /// The bucket of each digit.
    table: [u16; 1 << COUNTED_BITS],
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) stretches: Vec<Stretch>,
}

/// Records that agree in all bits above `window`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) len: usize,
    /// The bits they are still to be sorted by.
    pub(crate) window: Window,
}

/// One core's share of the source.
pub(crate) struct Stretch {
    pub(crate) range: Range<usize>,
    /// Where its first record of each bucket goes.
    pub(crate) starts: Vec<usize>,
}

impl Partition {
    /// Lays out a partition of `source` by the topmost bits of `window` that vary; `None` if none does.
    pub(crate) fn of<S: Source + ?Sized>(source: &S, window: Window, threads: usize) -> Option<Self> {
        let stretches = stretches(source.len(), threads);
        let guess = window.narrowed(sample(source));
        let guess = if guess.is_empty() { window } else { guess };
        let (mut census, varying) = Census::of(source, guess.top(COUNTED_BITS), &stretches);
        let window = window.narrowed(varying);
        if window.is_empty() {
            return None;
        }
        // Bits above the digit vary that the sample did not show: it is counted again where it should be.
        if window.high != census.digit.high {
            census = Census::of(source, window.top(COUNTED_BITS), &stretches).0;
        }
        // A quarter more, as halves of uniform keys are never quite even.
        let cached = CACHE_BYTES / 2 / size_of::<S::Record>();
        let target = cached.min(source.len() / (threads * BUCKETS_A_THREAD)).max(1) * 5 / 4;
        Some(census.partition(window, target, max_buckets::<S::Record>(), stretches))
    }

    /// The bucket of a key.
    #[inline(always)]
    pub(crate) fn bucket<R: Record>(&self, record: R) -> usize {
        // The mask changes nothing, but shows that the index is in bounds.
        self.table[self.digit.digit(record.key()) & (self.table.len() - 1)] as usize
    }
}

/// The stretches of a source: one for each core, and several of a long one, so that a slow core does not hold up the others.
fn stretches(len: usize, threads: usize) -> Vec<Range<usize>> {
    let count = if threads == 1 { 1 } else { threads * (len >> 20).clamp(1, 4) };
    // Counters are u32.
    let count = count.max(len >> 31);
    (0..count)
        .map(|i| (len as u128 * i as u128 / count as u128) as usize..(len as u128 * (i + 1) as u128 / count as u128) as usize)
        .collect()
}

/// The bits in which some of the keys differ.
fn sample<S: Source + ?Sized>(source: &S) -> Key<S> {
    let first = source.first().key();
    let step = (source.len() / SAMPLES).max(1);
    let mut varying = Key::<S>::zero();
    for at in (0..source.len()).step_by(step) {
        source.read(at..at + 1, |records| varying = varying | (records[0].key() ^ first));
    }
    varying
}

/// How often each digit comes in each stretch.
struct Census {
    digit: Window,
    counts: Vec<Vec<u32>>,
}

impl Census {
    /// Counts `digit` in each of `stretches`, and finds the bits in which any two keys differ.
    fn of<S: Source + ?Sized>(source: &S, digit: Window, stretches: &[Range<usize>]) -> (Self, Key<S>) {
        let first = source.first().key();
        let count = |range: &Range<usize>| counted(source, range.clone(), digit, first);
        let (counts, varying): (Vec<_>, Vec<_>) = match stretches {
            [all] => [count(all)].into_iter().unzip(),
            several => several.par_iter().map(count).unzip(),
        };
        (Self { digit, counts }, varying.into_iter().fold(Key::<S>::zero(), |all, some| all | some))
    }

    /// Chooses buckets of at most `target` records, or of more if there would be more than `most` buckets.
    fn partition(self, window: Window, target: usize, most: usize, stretches: Vec<Range<usize>>) -> Partition {
        let mut sums = vec![0; self.digit.digits() + 1];
        for digit in 0..self.digit.digits() {
            sums[digit + 1] = sums[digit] + self.counts.iter().map(|counts| counts[digit] as usize).sum::<usize>();
        }
        let mut target = target;
        let ranges = loop {
            let mut ranges = vec![];
            halve(&sums, 0..self.digit.digits(), target, &mut ranges);
            if ranges.len() <= most {
                break ranges;
            }
            target *= 2;
        };
        let mut table = [0; 1 << COUNTED_BITS];
        let mut buckets = vec![];
        let mut starts: Vec<Vec<usize>> = vec![vec![]; stretches.len()];
        for range in ranges {
            table[range.clone()].fill(buckets.len() as u16);
            let mut place = sums[range.start];
            for (starts, counts) in starts.iter_mut().zip(&self.counts) {
                starts.push(place);
                place += counts[range.clone()].iter().map(|&count| count as usize).sum::<usize>();
            }
            let left = Window { low: window.low, high: self.digit.low + range.len().ilog2() };
            buckets.push(Bucket { len: sums[range.end] - sums[range.start], window: left });
        }
        let stretches = stretches.into_iter().zip(starts).map(|(range, starts)| Stretch { range, starts }).collect();
        Partition { digit: self.digit, table, buckets, stretches }
    }
}

/// Halves `range` until no part but a single digit has more than `target` records. `sums[d]` records have a digit below `d`.
fn halve(sums: &[usize], range: Range<usize>, target: usize, parts: &mut Vec<Range<usize>>) {
    if range.len() == 1 || sums[range.end] - sums[range.start] <= target {
        return parts.push(range);
    }
    let middle = range.start + range.len() / 2;
    halve(sums, range.start..middle, target, parts);
    halve(sums, middle..range.end, target, parts);
}

/// How often each digit comes, and the bits in which any key differs from `first`.
fn counted<S: Source + ?Sized>(source: &S, range: Range<usize>, digit: Window, first: Key<S>) -> (Vec<u32>, Key<S>) {
    // Two sets of counters in turn: neighbours with the same digit do not wait for each other's counter.
    let (mut even, mut odd) = ([0; 1 << COUNTED_BITS], [0; 1 << COUNTED_BITS]);
    let mut varying = Key::<S>::zero();
    source.read(range, |records| varying = varying | count(records, digit, first, &mut even, &mut odd));
    (even.iter().zip(odd).map(|(even, odd)| even + odd).collect(), varying)
}

/// Counts in turn, and gives the bits that differ. (A function, so that its counters are known not to overlap.)
fn count<R: Record>(records: &[R], digit: Window, first: R::Key, even: &mut Counters, odd: &mut Counters) -> R::Key {
    // The mask changes nothing, but shows that the index is in bounds.
    let index = |record: &R| digit.digit(record.key()) & ((1 << COUNTED_BITS) - 1);
    let mut pairs = records.chunks_exact(2);
    for pair in &mut pairs {
        even[index(&pair[0])] += 1;
        odd[index(&pair[1])] += 1;
    }
    for record in pairs.remainder() {
        even[index(record)] += 1;
    }
    records.iter().fold(Zero::zero(), |varying, record| varying | (record.key() ^ first))
}

type Counters = [u32; 1 << COUNTED_BITS];

#[cfg(test)]
mod tests {
    use super::*;

    /// The picture in the module's docs.
    #[test]
    fn buckets_are_of_even_size() {
        let counts = vec![vec![1, 0, 5, 9, 2, 0, 0, 1], vec![0, 0, 4, 0, 0, 0, 1, 0]];
        let census = Census { digit: Window { low: 10, high: 13 }, counts };
        let partition = census.partition(Window { low: 2, high: 13 }, 10, 8, vec![0..18, 18..23]);
        let window = |high| Window { low: 2, high };
        let expected = [(1, 11), (9, 10), (9, 10), (4, 12)].map(|(len, high)| Bucket { len, window: window(high) });
        assert_eq!(partition.buckets, expected);
        assert_eq!(partition.table[..8], [0, 0, 1, 2, 3, 3, 3, 3]);
        assert_eq!(partition.stretches[0].starts, [0, 1, 10, 19]);
        assert_eq!(partition.stretches[1].starts, [1, 6, 19, 22]);
    }

    #[test]
    fn buckets_grow_when_they_are_too_many() {
        let census = Census { digit: Window { low: 0, high: 3 }, counts: vec![vec![5; 8]] };
        let partition = census.partition(Window { low: 0, high: 3 }, 1, 4, std::iter::once(0..40).collect());
        assert_eq!(partition.buckets.len(), 4);
    }
}
