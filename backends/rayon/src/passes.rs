//! The stable sort of some hundred to some ten thousand records: two passes, least significant digit first.
//!
//! The passes sort by the top bits of the window: a few bits more than the logarithm of the length, so that nearly all records differ in
//! them. Records that are equal in the top bits are neighbors afterwards, and an insertion sort orders each such run by the bits below.
//!
//! ```text
//! window  |<--- top: two passes --->|<--- below: runs of equal tops --->|
//!         | high digit | low digit  |                                   |
//! ```
//!
//! Measured against a partition and networks over tickets: 0.65 × the time at 2^10 pairs of `u32`, 0.85 × at 2^12, the same at 2^14.

use crate::columns::Source;
use crate::digit::{Bits, varying};
use crate::record::Record;
use crate::scatter::{count, place};
use crate::threads::Threads;
use crate::window::Window;
use num_traits::Zero;

/// Bits of a digit, at most.
const DIGIT_BITS: u32 = 10;

/// Bits beyond the logarithm of the length that the passes sort by: one record in `2^SLACK_BITS` of even keys is left to insertions.
const SLACK_BITS: u32 = 5;

/// The longest slice that two digits suffice for.
pub(crate) const MAX: usize = 1 << (2 * DIGIT_BITS - SLACK_BITS);

/// A digit may have this many times the pairs of equal records that even keys have.
const UNEVEN: u64 = 4;

/// A run of equal records is sorted by insertion up to this length.
const INSERTION: usize = 24;

/// Sorts the records of `source`, at most [`MAX`], stably by `window` into `sorted`, by way of `room`; both are as long. Returns false, and
/// leaves arbitrary records in both, if the keys are too few or too uneven for two passes.
pub(crate) fn sort_into<S: Source + ?Sized>(
    source: &S,
    window: Window,
    room: &mut [S::Record],
    sorted: &mut [S::Record],
) -> bool {
    let window = window.narrowed(varying(source, Threads::ONE));
    let len_bits = source.len().next_power_of_two().ilog2();
    let top = window.top((len_bits + SLACK_BITS).min(2 * DIGIT_BITS));
    if top.width() <= DIGIT_BITS {
        return false;
    }
    let high = top.top(top.width() / 2);
    let (low, high) = (Bits::of(top.below(high)), Bits::of(high));
    let mut lows = [0; 1 << DIGIT_BITS];
    let mut highs = [0; 1 << DIGIT_BITS];
    source.read_keys(0..source.len(), |keys| {
        count(keys, low, &mut lows);
        count(keys, high, &mut highs);
    });
    if is_uneven(&highs[..high.count()], source.len()) {
        return false;
    }
    to_starts(&mut lows[..low.count()]);
    to_starts(&mut highs[..high.count()]);
    source.read(0..source.len(), |records| place(records, low, &mut lows, room));
    place(room, high, &mut highs, sorted);
    sort_ties::<S::Record>(sorted, top.ones(), window.below(top));
    true
}

/// Whether records crowd few of the digits that `counts` counts.
fn is_uneven(counts: &[u32], len: usize) -> bool {
    let pairs: u64 = counts.iter().map(|&count| u64::from(count) * u64::from(count)).sum();
    let len = len as u64;
    pairs > len + UNEVEN * len * len / counts.len() as u64
}

/// Turns counts into their exclusive sums.
fn to_starts(counters: &mut [u32]) {
    let mut sum = 0;
    for counter in counters {
        sum += std::mem::replace(counter, sum);
    }
}

/// Sorts each run of records that are equal in the bits of `top` by the bits `below`.
fn sort_ties<R: Record>(records: &mut [R], top: R::Key, below: Window) {
    if below.is_empty() {
        return;
    }
    let ones = below.ones::<R::Key>();
    let is_tie = |a: &R, b: &R| ((a.key() ^ b.key()) & top).is_zero();
    let mut at = 0;
    while let Some(tie) = first_tie(&records[at..], &is_tie) {
        let start = at + tie;
        let len = 1 + records[start..].windows(2).take_while(|pair| is_tie(&pair[0], &pair[1])).count();
        let run = &mut records[start..start + len];
        if len <= INSERTION {
            insertion_sort(run, ones);
        } else {
            run.sort_by_key(|record| record.key() & ones);
        }
        at = start + len;
    }
}

/// The index of the first record that is a tie with its successor.
fn first_tie<R: Record>(records: &[R], is_tie: &impl Fn(&R, &R) -> bool) -> Option<usize> {
    const BLOCK: usize = 32;
    let mut at = 0;
    // Whole blocks first, without a branch for each record.
    while let Some(block) = records.get(at..=at + BLOCK) {
        if block.iter().zip(&block[1..]).fold(false, |any, (a, b)| any | is_tie(a, b)) {
            break;
        }
        at += BLOCK;
    }
    records[at..].windows(2).position(|pair| is_tie(&pair[0], &pair[1])).map(|tie| at + tie)
}

/// Sorts a few records stably by the bits in `ones`.
fn insertion_sort<R: Record>(records: &mut [R], ones: R::Key) {
    for end in 1..records.len() {
        let record = records[end];
        let mut hole = end;
        while hole > 0 && records[hole - 1].key() & ones > record.key() & ones {
            records[hole] = records[hole - 1];
            hole -= 1;
        }
        records[hole] = record;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Pair;

    /// Keys with many ties in their top bits, short runs and long ones, and windows of any part of the key.
    #[test]
    fn stable_by_any_window() {
        let spread = |i: u32| u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut sorts = 0;
        for len in [300_usize, 1000, 4096, MAX] {
            for repeats in [1, 2, 30] {
                for window in [Window { low: 0, high: 64 }, Window { low: 20, high: 60 }, Window { low: 0, high: 13 }] {
                    // Records with the same top bits differ below them, in an order that is not the input's.
                    let key = |i: u32| spread(i % (len as u32 / repeats)) & !0xff | spread(i) & 0xff;
                    let records: Vec<Pair<u64, u32>> = (0..len as u32).map(|i| Pair { key: key(i), value: i }).collect();
                    let mut expected = records.clone();
                    let ones = window.ones::<u64>();
                    expected.sort_by_key(|record| record.key() & ones);
                    let (mut room, mut sorted) = (records.clone(), records.clone());
                    if sort_into(&records[..], window, &mut room, &mut sorted) {
                        sorts += 1;
                        let is_same = sorted.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value });
                        assert!(is_same, "{len} records, {repeats} of each key, {window:?}");
                    }
                }
            }
        }
        assert!(sorts >= 24, "only {sorts} of 36 were sorted");
    }

    #[test]
    fn keys_that_two_passes_do_not_tell_apart_are_refused() {
        let mut records: Vec<Pair<u64, u32>> =
            (0..4096).map(|i| Pair { key: u64::from(i % 3) << 60 | u64::from(i), value: i }).collect();
        let before = records.clone();
        assert!(!sort_into(&before[..], Window { low: 0, high: 64 }, &mut records, &mut before.clone()));
    }
}
