//! The stable sort of some hundred to some ten thousand records: passes, least significant digit first.
//!
//! The passes sort by the top bits of the window. Two passes take a few bits more than the logarithm of the length, so that nearly all records
//! of even keys differ in them; uneven keys get a third pass. Records that are equal in the top bits are neighbors afterwards, and an
//! insertion sort orders each such run by the bits below.
//!
//! ```text
//! window  |<--- top: two passes --->|<--- below: runs of equal tops --->|
//!         | high digit | low digit  |                                   |
//! ```

use crate::classify::Bits;
use crate::digit::varying;
use crate::record::Record;
use crate::scatter::{count, place, to_starts};
use crate::source::AnySource;
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::window::Window;
use num_traits::Zero;

/// Bits of a digit of even keys, at most.
const DIGIT_BITS: u32 = 10;

/// Bits of a digit of uneven keys, at most.
const UNEVEN_DIGIT_BITS: u32 = 11;

/// Bits beyond the logarithm of the length that two passes sort by: one record in `2^SLACK_BITS` of even keys is left to insertions.
const SLACK_BITS: u32 = 5;

/// The longest slice that two digits suffice for.
pub(crate) const MAX: usize = 1 << (2 * DIGIT_BITS - SLACK_BITS);

/// Bits that a digit may lose before its keys count as uneven.
const LOST_BITS: u32 = 2;

/// Bits that more bits in the passes make up for, at most. Keys that lose more are nearly all equal in the digit, or have few values: a
/// partition by the bits below, or by values, is faster.
const MOST_LOST_BITS: u32 = 3;

/// A run of equal records is sorted by insertion up to this length.
const INSERTION: usize = 24;

/// Sorts the records of `source`, at most [`MAX`], stably by `window` into `sorted`, by way of `room`; both are as long. Returns false, and
/// leaves both as they were, if so few bits differ that one pass is enough, or if nearly all keys share their top bits.
pub(crate) fn sort_into<R: Record>(source: &AnySource<R>, window: Window, room: &mut [R], sorted: &mut [R]) -> bool {
    let window = window.narrowed(varying(source, Threads::ONE));
    if window.width() <= DIGIT_BITS {
        return false;
    }
    let len_bits = source.len().next_power_of_two().ilog2();
    let mut top = window.top((len_bits + SLACK_BITS).min(2 * DIGIT_BITS));
    let high = top.top(top.width() / 2);
    let digits = [Bits::of(top.below(high)), Bits::of(high)];
    let mut counters = [[0; 1 << DIGIT_BITS]; 2];
    source.read_keys(0..source.len(), &mut |keys| {
        for (counters, digit) in counters.iter_mut().zip(digits) {
            count(keys, digit, counters);
        }
    });
    let [lows, highs] = &mut counters;
    let lost_bits = if top == window { 0 } else { lost_bits(&highs[..digits[1].count()], source.len()) };
    if lost_bits > 0 {
        if lost_bits > MOST_LOST_BITS {
            return false;
        }
        top = window.top(top.width() + lost_bits);
        sort_by(source, top, room, sorted);
    } else {
        to_starts(&mut lows[..digits[0].count()]);
        to_starts(&mut highs[..digits[1].count()]);
        source.read(0..source.len(), &mut |records| place(records, digits[0], lows, room));
        place(room, digits[1], highs, sorted);
    }
    took(Step::Passes { len: source.len(), bits: top.width() });
    sort_ties(sorted, top.ones(), window.below(top));
    true
}

/// Sorts the records of `source` stably by `window` into `sorted`, by way of `room`, with as many passes as it takes.
fn sort_by<R: Record>(source: &AnySource<R>, window: Window, room: &mut [R], sorted: &mut [R]) {
    let passes = window.width().div_ceil(UNEVEN_DIGIT_BITS);
    let bound = |pass: u32| window.low + window.width() * pass / passes;
    let digit = |pass: u32| Bits::of(Window { low: bound(pass), high: bound(pass + 1) });
    // The last pass ends in `sorted`.
    let (mut from, mut to) = if passes % 2 == 1 { (room, sorted) } else { (sorted, room) };
    pass(source, digit(0), to);
    for at in 1..passes {
        (from, to) = (to, from);
        pass(&&*from, digit(at), to);
    }
}

/// Moves each record of `source` behind those of a smaller digit and those of the same digit before it.
fn pass<R: Record>(source: &AnySource<R>, digit: Bits, to: &mut [R]) {
    let mut counters = [0; 1 << UNEVEN_DIGIT_BITS];
    source.read_keys(0..source.len(), &mut |keys| count(keys, digit, &mut counters));
    to_starts(&mut counters[..digit.count()]);
    source.read(0..source.len(), &mut |records| place(records, digit, &mut counters, to));
}

/// Uneven keys make a digit tell fewer bits than even keys do: `log2(len)` of them, or all bits of the digit. Returns how many bits
/// are missing beyond [`LOST_BITS`]. What the digit tells is its Rényi entropy of order 2.
fn lost_bits(counts: &[u32], len: usize) -> u32 {
    let pairs: u64 = counts.iter().map(|&count| u64::from(count) * u64::from(count)).sum();
    let told = (len as u64 * len as u64 / pairs).ilog2();
    counts.len().min(len).ilog2().saturating_sub(told + LOST_BITS)
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
        } else if !(varying(&&*run, Threads::ONE) & ones).is_zero() {
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
    use crate::testing::spread_wide as spread;
    use crate::trace::steps_of;

    /// Keys with many ties in their top bits, short runs and long ones, and windows of any part of the key.
    #[test]
    fn stable_by_any_window() {
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
                    assert!(sort_into(&&records[..], window, &mut room, &mut sorted));
                    let is_same = sorted.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value });
                    assert!(is_same, "{len} records, {repeats} of each key, {window:?}");
                }
            }
        }
    }

    /// Keys of few different tops, so that the passes go on below them.
    #[test]
    fn uneven_keys_take_more_passes() {
        for shift in [18, 30, 44, 60] {
            let key = |i: u32| u64::from(i % 20) << shift | u64::from(i.wrapping_mul(0x9e37_79b9) >> 15);
            let records: Vec<Pair<u64, u32>> = (0..4096).map(|i| Pair { key: key(i), value: i }).collect();
            let mut expected = records.clone();
            expected.sort_by_key(|record| record.key());
            let (mut room, mut sorted) = (records.clone(), records.clone());
            assert!(sort_into(&&records[..], Window { low: 0, high: 64 }, &mut room, &mut sorted));
            assert!(sorted.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value }), "keys of {shift} bits");
        }
    }

    /// Bits of the passes that sort keys by all their bits; `None` if the keys are left to others, and what passes would write as it was.
    fn bits_of_passes(keys: impl Iterator<Item = u64>) -> Option<u32> {
        let keys: Vec<u64> = keys.collect();
        let (mut room, mut sorted) = (vec![1; keys.len()], vec![1; keys.len()]);
        let mut expected = keys.clone();
        expected.sort_unstable();
        let mut is_sorted = false;
        let steps = steps_of(|| is_sorted = sort_into(&&keys[..], Window { low: 0, high: 64 }, &mut room, &mut sorted));
        assert!(sorted == if is_sorted { expected } else { vec![1; keys.len()] } && (is_sorted || room == sorted));
        match steps[..] {
            [Step::Passes { len, bits }] if is_sorted && len == keys.len() => Some(bits),
            [] if !is_sorted => None,
            _ => panic!("{steps:?}"),
        }
    }

    #[test]
    fn passes_sort_by_five_bits_more_than_the_logarithm_of_the_length() {
        let bits = |len: usize| bits_of_passes((0..len as u64).map(spread));
        assert_eq!(bits(300), Some(9 + 5));
        assert_eq!(bits(512), Some(9 + 5));
        assert_eq!(bits(513), Some(10 + 5));
        // The longest slice that two digits suffice for.
        assert_eq!(bits(MAX), Some(2 * DIGIT_BITS));
        assert_eq!(MAX.ilog2() + SLACK_BITS, 2 * DIGIT_BITS);
    }

    #[test]
    fn bits_of_one_digit_are_left_to_others() {
        let bits = |width: u32| bits_of_passes((0..2048).map(|i| spread(i) >> (64 - width) << 9));
        assert_eq!(bits(10), None);
        assert_eq!(bits(11), Some(11));
    }

    #[test]
    fn uneven_keys_are_sorted_by_as_many_more_bits_as_their_tops_lose() {
        // Of 4096 keys, passes take 17 bits, the high digit 8 of them. So many values of that digit are equally frequent.
        let bits = |tops: u64| bits_of_passes((0..4096).map(|i| (i % tops) << (64 - tops.ilog2()) | spread(i) >> 8));
        assert_eq!(bits(256), Some(17));
        assert_eq!(bits(64), Some(17));
        assert_eq!(bits(32), Some(18));
        assert_eq!(bits(16), Some(19));
        assert_eq!(bits(8), Some(20));
        // More is lost than more bits make up for.
        assert_eq!(bits(4), None);
        // Passes by all bits lose nothing.
        assert_eq!(bits_of_passes((0..4096).map(|i| (i % 2) << 16 | spread(i) >> 56)), Some(17));
    }

    #[test]
    fn a_digit_loses_the_bits_that_its_counts_do_not_tell() {
        let counts = |values: usize, each: u32| [vec![each; values], vec![0; 1024 - values]].concat();
        let cases = [(1024, 4, 0), (256, 16, 0), (128, 32, 1), (32, 128, 3), (1, 4096, 8)];
        for (values, each, expected) in cases {
            assert_eq!(lost_bits(&counts(values, each), 4096), expected, "{values} values");
        }
        // So few records tell no more than the logarithm of their number.
        assert_eq!(lost_bits(&counts(64, 1), 64), 0);
        assert_eq!(lost_bits(&counts(1, 64), 64), 4);
        // Half of the records have one value: as few pairs of records differ as with four.
        assert_eq!(lost_bits(&[[2048; 1].as_slice(), &[2; 1023]].concat(), 4094), 10 - 1 - 2);
    }

    #[test]
    fn the_first_tie_is_found_wherever_it_is() {
        let is_tie = |a: &u32, b: &u32| a == b;
        for len in [0_u32, 1, 2, 31, 32, 33, 34, 64, 65, 66, 100] {
            let records: Vec<u32> = (0..len).collect();
            assert_eq!(first_tie(&records, &is_tie), None, "{len} records");
            for tie in 1..records.len() {
                let mut records = records.clone();
                records[tie] = records[tie - 1];
                assert_eq!(first_tie(&records, &is_tie), Some(tie - 1), "{len} records");
                // An even number of ties in the same block.
                if let Some(last) = records.get_mut(tie + 1) {
                    *last = tie as u32 - 1;
                    assert_eq!(first_tie(&records, &is_tie), Some(tie - 1), "{len} records");
                }
            }
        }
    }

    #[test]
    fn insertions_are_stable_and_see_some_bits() {
        for len in [0, 1, 2, 3, 10, 24] {
            for modulus in [1, 2, 5, 100] {
                let records: Vec<Pair<u64, u32>> =
                    (0..len).map(|i| Pair { key: (spread(i) % modulus) << 4 | i & 0xf, value: i as u32 }).collect();
                let (mut sorted, mut expected) = (records.clone(), records);
                insertion_sort(&mut sorted, !0xf);
                expected.sort_by_key(|record| record.key() & !0xf);
                assert!(sorted.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value }), "{len} records");
            }
        }
    }

    /// Runs of all lengths around those of insertions, with keys below in descending order, in ascending, and equal.
    #[test]
    fn each_run_of_ties_is_sorted_by_the_bits_below() {
        let below = Window { low: 4, high: 12 };
        for order in 0..3 {
            let lens = [1, 2, 1, 1, INSERTION, INSERTION + 1, 1, 40, 3, 40];
            let key = |top: u64, i: u64| top << 12 | [100 - i, i, 7][order] << 4 | i & 0xf;
            let keys = lens.iter().zip(0..).flat_map(|(&len, top)| (0..len as u64).map(move |i| key(top, i)));
            let records: Vec<Pair<u64, u32>> = keys.zip(0..).map(|(key, value)| Pair { key, value }).collect();
            let (mut sorted, mut expected) = (records.clone(), records);
            sort_ties(&mut sorted, Window { low: 12, high: 64 }.ones(), below);
            expected.sort_by_key(|record| record.key() >> 4);
            assert!(sorted.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value }), "order {order}");
        }
    }

    #[test]
    fn one_digit_is_left_to_others() {
        let records: Vec<Pair<u64, u32>> = (0..4096).map(|i| Pair { key: u64::from(i % 1000) << 7, value: i }).collect();
        assert!(!sort_into(&&records[..], Window { low: 0, high: 64 }, &mut records.clone(), &mut records.clone()));
    }
}
