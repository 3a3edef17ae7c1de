//! The sort of what fits in a core's cache: one partition into buckets of some dozen records, each of which is then sorted by networks.
//!
//! ```text
//! choose a digit       from a sample                                  digit.rs
//! count, scatter       into scratch, stably                           scatter.rs
//! for each bucket      a network, written where it belongs            few.rs, simd/
//! ```
//!
//! Stable sorts of fewer records take two passes instead ([`passes`]), and so do those by few bits ([`narrow`]).
//!
//! What makes it fast: a pass costs about as much as two levels of a quicksort and does the work of six to eleven; networks cost little
//! for few keys, and nothing depends on what the keys are like. A bucket that came out large is sorted in the same way, from where it is.

use crate::classify::Classify;
use crate::digit::{Class, Digit, DigitBits, is_lopsided};
use crate::few::{Network, SortFew};
use crate::narrow;
use crate::passes;
use crate::scatter::{Counters, MAX_DIGITS, count, place, to_starts};
use crate::scratch::Scratch;
use crate::source::{Key, Source};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{BUCKETS_OF_FEW, BUCKETS_OF_FEW_TICKETS, PASS_BITS, SPLIT_PASS_BITS, tuning};
use crate::window::Window;

/// Sorts `columns`, stably by `window`, with as much scratch. `even` as in [`Digit::choose`].
pub(crate) fn sort<C: SortFew>(network: Network, mut columns: C, scratch: &mut [C::Record], window: Window, even: bool) {
    if columns.len() <= C::few(network) {
        return columns.sort_few(network, window);
    }
    if narrow::suits::<C>(network, window, columns.len()) {
        return narrow::sort(&mut columns, scratch, window);
    }
    if even && suits_passes::<C>(network, columns.len()) && !is_lopsided(&columns, window) {
        let mut sorted = Scratch::of::<C::Record>(columns.len());
        let sorted = sorted.records(columns.len());
        if passes::sort_into(&columns, window, scratch, sorted) {
            return columns.write(sorted);
        }
    }
    let (bits, mut ends) = (pass_bits::<C>(network, columns.len()), [0; MAX_DIGITS]);
    if let Some(digit) = partition(&columns, scratch, window, bits, even, &mut ends) {
        let longest = longest_over(C::few(network), &ends[..digit.count()]);
        let mut room = Scratch::of::<C::Record>(longest);
        finish(network, columns, scratch, room.records(longest), &digit, &ends);
    }
}

/// As [`sort`], but of `records`, which are written to `columns`. What `records` and `scratch` hold afterwards is arbitrary.
pub(crate) fn sort_into<C: SortFew>(
    network: Network,
    records: &mut [C::Record],
    mut columns: C,
    scratch: &mut [C::Record],
    window: Window,
    even: bool,
) {
    if narrow::suits::<C>(network, window, records.len()) {
        return narrow::sort_into(records, &mut columns, scratch, window);
    }
    if even && suits_passes::<C>(network, records.len()) && !is_lopsided(&*records, window) {
        let mut sorted = Scratch::of::<C::Record>(records.len());
        let sorted = sorted.records(records.len());
        if passes::sort_into(&*records, window, scratch, sorted) {
            return columns.write(sorted);
        }
    }
    let (bits, mut ends) = (pass_bits::<C>(network, records.len()), [0; MAX_DIGITS]);
    match partition(&*records, scratch, window, bits, even, &mut ends) {
        Some(digit) => finish(network, columns, scratch, records, &digit, &ends),
        None => columns.write(records),
    }
}

/// Whether so many records are sorted here: they and their scratch fit in the caches of a core, or one pass leaves a stable sort so few records
/// in a bucket that tickets sort them, or narrow passes sort them. These read in order, and write to so few places that caches keep up.
pub(crate) fn suits<C: SortFew>(network: Network, window: Window, len: usize) -> bool {
    let (bytes, tuning) = (len * size_of::<C::Record>(), tuning());
    let is_one_pass = C::has_tickets(network) && 2 * len <= C::few(network) << PASS_BITS;
    bytes <= tuning.cached_bytes
        || is_one_pass && bytes <= tuning.cached_stable_bytes
        || narrow::is_one_pass::<C>(network, window, len)
}

/// Whether two passes are faster than a partition and tickets for so many records.
fn suits_passes<C: SortFew>(network: Network, len: usize) -> bool {
    C::has_tickets(network) && len <= passes::MAX
}

/// Bits of a digit that leaves as few records of `len` in a bucket as networks sort best; of uneven records, as many as counters cost little
/// beside the records.
fn pass_bits<C: SortFew>(network: Network, len: usize) -> DigitBits {
    let share = if C::has_tickets(network) { BUCKETS_OF_FEW_TICKETS } else { BUCKETS_OF_FEW };
    let bucket = (C::few(network) / share).max(1);
    // A bucket that is a little too large for a network costs little more if it is split once.
    let most = if C::suits_quicksort(network, 2 * C::few(network)) { SPLIT_PASS_BITS } else { PASS_BITS };
    let bits = |buckets: usize| buckets.next_power_of_two().ilog2().clamp(1, most);
    DigitBits { few: bits(len.div_ceil(bucket)), many: bits(len / 2) }
}

/// Moves the records of `source` to `target` by a digit, stably, and puts into `ends`, which are zero, where each digit's end; `None` if
/// all records are equal.
fn partition<S: Source + ?Sized>(
    source: &S,
    target: &mut [S::Record],
    window: Window,
    bits: DigitBits,
    even: bool,
    ends: &mut Counters,
) -> Option<Digit<Key<S>>> {
    let digit = Digit::choose(source, window, bits, even, Threads::ONE)?;
    took(Step::Cached { len: source.len(), digits: digit.count() });
    match digit.class() {
        Class::Bits(class) => partition_by(source, target, class, digit.count(), ends),
        Class::Clamped(class) => partition_by(source, target, class, digit.count(), ends),
        Class::Values(class) => partition_by(source, target, class, digit.count(), ends),
    }
    Some(digit)
}

fn partition_by<S: Source + ?Sized>(
    source: &S,
    target: &mut [S::Record],
    class: impl Classify<Key<S>>,
    digits: usize,
    counters: &mut Counters,
) {
    source.read_keys(0..source.len(), |keys| count(keys, class, counters));
    to_starts(&mut counters[..digits]);
    source.read(0..source.len(), |records| place(records, class, counters, target));
}

/// The length of the longest bucket of more than `few` records, or 0; `ends` are those of the buckets.
fn longest_over(few: usize, ends: &[u32]) -> usize {
    let starts = core::iter::once(&0).chain(ends);
    starts.zip(ends).map(|(start, end)| (end - start) as usize).filter(|&len| len > few).max().unwrap_or(0)
}

/// Sorts each bucket of a partition into its part of `columns`. Buckets that are too large for networks are partitioned into `room`, which
/// is as long as the longest of them.
fn finish<C: SortFew>(
    network: Network,
    columns: C,
    records: &mut [C::Record],
    room: &mut [C::Record],
    digit: &Digit<Key<C>>,
    ends: &Counters,
) {
    let (few, len) = (C::few(network), records.len());
    let (mut columns, mut records, mut start) = (columns, records, 0);
    // Buckets that are only to be written are written together.
    let mut settled = 0;
    for (at, &end) in ends[..digit.count()].iter().enumerate() {
        let left = digit.left(at);
        if end - start <= 1 || left.is_empty() {
            settled += (end - start) as usize;
            start = end;
            continue;
        }
        let (mut own_columns, other_columns) = columns.split_at(settled);
        let (own, others) = records.split_at_mut(settled);
        own_columns.write(own);
        let (mut own_columns, other_columns) = other_columns.split_at((end - start) as usize);
        let (own, others) = others.split_at_mut((end - start) as usize);
        (columns, records, start, settled) = (other_columns, others, end, 0);
        if own.len() <= few {
            own_columns.finish(network, own, left);
        } else if C::suits_quicksort(network, own.len()) {
            own_columns.quicksort(network, Some(own));
        } else {
            let room = &mut room[..own.len()];
            sort_into(network, own, own_columns, room, left, own.len() <= len / 2);
        }
    }
    columns.write(records);
}
