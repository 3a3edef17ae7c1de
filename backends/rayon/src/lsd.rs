//! LSD radix sort of what fits in a core's cache.
//!
//! The top bits of the window are sorted by passes, least significant digit first; with a few more bits than the logarithm of
//! the length nearly all records are told apart. What is still equal lies side by side then, and each such run is sorted by the bits
//! below.
//!
//! ```text
//! window  |<------ top: passes, LSD first ------>|<--- below: runs that are equal in top --->|
//!         |   digit 2   |   digit 1   | digit 0  |                                           |
//! ```
//!
//! What makes it fast: one read counts the digits of all passes; a digit that is equal in all records costs no pass; digits
//! have as many bits as the L1 takes counters.
#![allow(unsafe_code, reason = "the scatter writes to positions that the counters prove to be in bounds")]

use crate::record::Record;
use crate::scratch::Scratch;
use crate::small;
use crate::tuning::{INSERTION, PASS_BITS, SLACK_BITS, SMALL_SKEWED};
use crate::window::Window;
use num_traits::Zero;

/// Passes that one read counts.
const MAX_PASSES: usize = 4;

/// Sorts `records` in place, stably by `window`; `whole` as in [`small::sort`].
pub(crate) fn sort<R: Record>(records: &mut [R], window: Window, whole: bool) {
    if small::suits::<R>(records.len(), whole) {
        return small::sort(records, window, whole);
    }
    let Some(mut plan) = Plan::of(records, window) else { return };
    if plan.is_worse_than_comparing(records.len(), whole) {
        return small::sort(records, window, whole);
    }
    plan.finish(records);
    let mut scratch = Scratch::of::<R>(records.len());
    let spare = scratch.records(records.len());
    plan.scatter(0, records, spare);
    if plan.scatter_rest(spare, records) == Buffer::First {
        records.copy_from_slice(spare);
    }
    plan.settle(records, whole);
}

/// Sorts what is in `records` by `window` and hands the result to `write`. What `records` holds then is not said: they are read, but
/// as a rule not written, which saves their way back to main memory.
pub(crate) fn sort_into<R: Record>(records: &mut [R], window: Window, whole: bool, write: impl FnOnce(&[R])) {
    if small::suits::<R>(records.len(), whole) {
        small::sort(records, window, whole);
        return write(records);
    }
    let Some(mut plan) = Plan::of(records, window) else { return write(records) };
    if plan.is_worse_than_comparing(records.len(), whole) {
        small::sort(records, window, whole);
        return write(records);
    }
    plan.finish(records);
    let mut scratch = Scratch::of::<R>(2 * records.len());
    let (left, right) = scratch.two(records.len());
    plan.scatter(0, records, left);
    let sorted = match plan.scatter_rest(left, right) {
        Buffer::First => left,
        Buffer::Second => right,
    };
    plan.settle(sorted, whole);
    write(sorted);
}

/// Which of two buffers holds the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffer {
    First,
    Second,
}

/// The passes over some records, with their counters.
struct Plan {
    window: Window,
    /// The bits that the passes cover.
    top: Window,
    /// The most bits of a digit.
    digit_bits: u32,
    /// See [`Plan::bits_lost`].
    bits_lost: u32,
    /// The digits in which records differ, least significant first. There is at least one.
    digits: Vec<Window>,
    /// For each of them `1 << PASS_BITS` counters, of which its digits use the first: after [`Plan::of`] the number of records whose
    /// digit is smaller.
    counters: Scratch,
}

impl Plan {
    /// Chooses and counts the digits; `None` if all records are equal in the window.
    fn of<R: Record>(records: &[R], window: Window) -> Option<Self> {
        let window = window.narrowed(varying(records));
        if window.is_empty() {
            return None;
        }
        let len_bits = usize::BITS - records.len().leading_zeros();
        let digit_bits = PASS_BITS.min(len_bits.saturating_sub(1)).max(4);
        let enough = (len_bits + SLACK_BITS).min(window.width());
        let passes = enough.div_ceil(digit_bits).min(MAX_PASSES as u32);
        // As many bits as the passes can take, unless their counters would be many for the records.
        let bits = if len_bits >= digit_bits + 4 { passes * digit_bits } else { enough.min(passes * digit_bits) };
        let top = window.top(bits);
        let counters = Scratch::of::<u32>(MAX_PASSES << PASS_BITS);
        let mut plan = Self { window, top, digit_bits, bits_lost: 0, digits: vec![], counters };
        plan.count(records);
        plan.bits_lost = plan.bits_lost(records.len());
        Some(plan)
    }

    /// Whether so few keys, so unevenly spread, are sorted faster by comparisons.
    fn is_worse_than_comparing(&self, len: usize, whole: bool) -> bool {
        whole && self.bits_lost > 0 && len <= SMALL_SKEWED
    }

    /// Counts the digits of `top`.
    fn count<R: Record>(&mut self, records: &[R]) {
        let (top, count) = (self.top, self.top.width().div_ceil(self.digit_bits));
        let bound = |pass: u32| top.low + top.width() * pass / count;
        self.digits.clear();
        self.digits.extend((0..count).map(|pass| Window { low: bound(pass), high: bound(pass + 1) }));
        let counters = self.counters.records(MAX_PASSES << PASS_BITS);
        match *self.digits {
            [a] => count_digits(records, [a], counters),
            [a, b] => count_digits(records, [a, b], counters),
            [a, b, c] => count_digits(records, [a, b, c], counters),
            [a, b, c, d] => count_digits(records, [a, b, c, d], counters),
            _ => unreachable!("{count} passes of {} bits for {top:?}", self.digit_bits),
        }
    }

    /// By how many bits the topmost digit falls short of telling records apart as well as uniform ones (its Rényi entropy of order 2).
    fn bits_lost(&mut self, len: usize) -> u32 {
        let last = self.digits.len() - 1;
        let counts = &self.counters.records::<u32>(MAX_PASSES << PASS_BITS)[last << PASS_BITS..][..self.digits[last].digits()];
        let collisions: u64 = counts.iter().map(|&count| u64::from(count) * u64::from(count)).sum();
        let told = (len as u64 * len as u64 / collisions).ilog2();
        self.digits[last].width().min(len.ilog2()).saturating_sub(told + 2)
    }

    /// Widens the passes where it pays, drops digits that are equal in all records, and turns counts into starts.
    fn finish<R: Record>(&mut self, records: &[R]) {
        // Where the topmost digit tells less than its bits could, floats with few exponents for one, more bits make up for it.
        let widest = self.window.top(self.digit_bits * MAX_PASSES as u32);
        let wanted = widest.top(self.top.width() + self.bits_lost);
        if wanted != self.top {
            self.top = wanted;
            self.count(records);
        }
        let counters = self.counters.records::<u32>(MAX_PASSES << PASS_BITS);
        let mut kept = 0;
        for pass in 0..self.digits.len() {
            let (digit, begin) = (self.digits[pass], pass << PASS_BITS);
            if counters[begin + digit.digit(records[0].key())] == records.len() as u32 {
                continue;
            }
            let mut sum = 0;
            for at in 0..digit.digits() {
                let count = counters[begin + at];
                counters[(kept << PASS_BITS) + at] = sum;
                sum += count;
            }
            self.digits[kept] = digit;
            kept += 1;
        }
        self.digits.truncate(kept);
    }

    /// The passes after the first, from `first` to `second` and back and so on.
    fn scatter_rest<R: Record>(&mut self, first: &mut [R], second: &mut [R]) -> Buffer {
        let (mut from, mut to) = ((first, Buffer::First), (second, Buffer::Second));
        for pass in 1..self.digits.len() {
            self.scatter(pass, from.0, to.0);
            (from, to) = (to, from);
        }
        from.1
    }

    /// Moves each record of `from` behind those with a smaller digit and those with the same digit before it.
    ///
    /// `from` holds the records that were counted, in any order. Each pass runs once: it uses its counters up.
    fn scatter<R: Record>(&mut self, pass: usize, from: &[R], to: &mut [R]) {
        assert_eq!(from.len(), to.len());
        let digit = self.digits[pass];
        let next = &mut self.counters.records::<u32>(MAX_PASSES << PASS_BITS)[pass << PASS_BITS..][..digit.digits()];
        for record in from {
            let next = &mut next[digit.digit(record.key())];
            // SAFETY: `next` started as the exclusive sums of the digits' counts over a permutation of `from`: `Plan::of` counts the
            // records once, and `sort` and `sort_into` pass nothing but their permutations on, each pass once. So each `next` ends
            // where the next digit starts, the last at `from.len()`, and every position taken before is below that, which is `to.len()`.
            unsafe { *to.get_unchecked_mut(*next as usize) = *record };
            *next += 1;
        }
    }

    /// Sorts the runs that are equal in all bits of the passes by the bits below them.
    fn settle<R: Record>(&self, sorted: &mut [R], whole: bool) {
        let below = self.window.below(self.top);
        if below.is_empty() {
            return;
        }
        let ones = self.top.ones::<R::Key>();
        let tied = |a: &R, b: &R| ((a.key() ^ b.key()) & ones).is_zero();
        let mut at = 0;
        while let Some(tie) = first_tie(&sorted[at..], &tied) {
            let start = at + tie;
            let len = 1 + sorted[start..].windows(2).take_while(|pair| tied(&pair[0], &pair[1])).count();
            let run = &mut sorted[start..start + len];
            if len <= INSERTION {
                small::insertion_sort(run, below);
            } else {
                sort(run, below, whole);
            }
            at = start + len;
        }
    }
}

/// The position of the first record that is tied with its successor.
fn first_tie<R: Record>(records: &[R], tied: &impl Fn(&R, &R) -> bool) -> Option<usize> {
    const BLOCK: usize = 32;
    let mut at = 0;
    // Whole blocks first, without a branch a record.
    while let Some(block) = records.get(at..=at + BLOCK) {
        if block.iter().zip(&block[1..]).fold(false, |any, (a, b)| any | tied(a, b)) {
            break;
        }
        at += BLOCK;
    }
    records[at..].windows(2).position(|pair| tied(&pair[0], &pair[1])).map(|tie| at + tie)
}

/// The bits in which any two keys differ.
fn varying<R: Record>(records: &[R]) -> R::Key {
    let first = records.first().map_or(R::Key::zero(), |record| record.key());
    records.iter().fold(R::Key::zero(), |varying, record| varying | (record.key() ^ first))
}

/// How often each digit comes, for several digits in one read: digit `i` has the counters from `i << PASS_BITS`.
fn count_digits<R: Record, const PASSES: usize>(records: &[R], digits: [Window; PASSES], counters: &mut [u32]) {
    let mut counters = counters.chunks_mut(1 << PASS_BITS);
    let mut counters = digits.map(|digit| &mut counters.next().expect("counters for every pass")[..digit.digits()]);
    counters.iter_mut().for_each(|counters| counters.fill(0));
    for record in records {
        let key = record.key();
        for (counters, digit) in counters.iter_mut().zip(digits) {
            counters[digit.digit(key)] += 1;
        }
    }
}
