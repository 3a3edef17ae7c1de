//! The sort of what fits in a core's cache: one partition into buckets of some dozen records, each of which is then sorted by networks.
//!
//! ```text
//! choose a digit       from a sample                                  digit.rs
//! count, scatter       into scratch, stably                           scatter.rs
//! for each bucket      a network, written where it belongs            few.rs, simd/
//! ```
//!
//! Stable sorts of up to 2^15 records take two passes instead ([`passes`]), if the top bits of their keys tell them apart. So do those by few bits ([`narrow`]), and those
//! whose keys lie on both sides of a power of two: with AVX-512 up to 2^11 records.
//!
//! What makes it fast: a pass costs about as much as two levels of a quicksort and does the work of six to eleven; networks cost little
//! for few keys, and nothing depends on what the keys are like. A bucket that came out large is sorted in the same way, from where it is.

use crate::classify::Classify;
use crate::digit::{Class, Digit, DigitBits, Tops};
use crate::few::{Network, SortFew};
use crate::lowered::Lowered;
use crate::narrow;
use crate::passes;
use crate::record::Record;
use crate::scatter::{Counters, MAX_DIGITS, count, place, to_starts};
use crate::scratch::Scratch;
use crate::source::{AnySource, Key, Source};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{
    BUCKETS_OF_FEW, BUCKETS_OF_FEW_TICKETS, FAR_PASS_BITS, PASS_BITS, SPLIT_PASS_BITS, most_differences, tuning,
};
use crate::window::Window;

/// Sorts `columns`, stably by `window`, with as much scratch. `even` as in [`Digit::choose`].
pub(crate) fn sort<C: SortFew>(network: Network, mut columns: C, scratch: &mut [C::Record], window: Window, even: bool) {
    if columns.len() <= C::few(network) {
        return columns.sort_few(network, window);
    }
    if narrow::suits::<C>(network, window, columns.len()) {
        return narrow::sort(&mut columns, scratch, window);
    }
    if even
        && suits_passes::<C>(network, columns.len())
        && let Some(mut sorted) = sorted_by_passes(most_differences(network.set), &columns, window, scratch)
    {
        return columns.write(sorted.records(scratch.len()));
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
    if even
        && suits_passes::<C>(network, records.len())
        && let Some(mut sorted) = sorted_by_passes(most_differences(network.set), &&*records, window, scratch)
    {
        return columns.write(sorted.records(scratch.len()));
    }
    let (bits, mut ends) = (pass_bits::<C>(network, records.len()), [0; MAX_DIGITS]);
    match partition(&*records, scratch, window, bits, even, &mut ends) {
        Some(digit) => finish(network, columns, scratch, records, &digit, &ends),
        None => columns.write(records),
    }
}

/// Whether so many records are sorted here: they and their scratch fit in the caches of a core, or one pass leaves a stable sort so few records
/// in a bucket that tickets sort them, or narrow passes sort them. These read in order, and ask for the lines that they write.
pub(crate) fn suits<C: SortFew>(network: Network, window: Window, len: usize) -> bool {
    let (bytes, tuning) = (len * size_of::<C::Record>(), tuning());
    let is_one_pass = C::has_tickets(network) && 2 * len <= C::few(network) << FAR_PASS_BITS;
    bytes <= tuning.cached_bytes
        || is_one_pass && bytes <= tuning.cached_stable_bytes
        || narrow::is_one_pass::<C>(network, window, len)
        || narrow::suits::<C>(network, window, len) && bytes < tuning.narrow_bytes
}

/// Whether passes may be faster than a partition and tickets for so many records; the keys decide ([`sorted_by_passes`]).
fn suits_passes<C: SortFew>(network: Network, len: usize) -> bool {
    C::has_tickets(network) && len <= passes::MAX
}

/// Sorts the records of `source` by passes, with `room` as scratch. Returns `None` if a partition suits the keys better: if neither their top bits nor those of their
/// differences from the least key tell them apart, or if differences do and there are more than `most_differences` records.
fn sorted_by_passes<R: Record>(
    most_differences: usize,
    source: &AnySource<R>,
    window: Window,
    room: &mut [R],
) -> Option<Scratch> {
    let by_differences = match Tops::of(source, window) {
        Tops::Even => false,
        Tops::TwoSides if source.len() <= most_differences => true,
        Tops::TwoSides | Tops::Lopsided => return None,
    };
    let mut scratch = Scratch::of::<R>(room.len());
    let sorted = scratch.records(room.len());
    let is_sorted = if by_differences {
        let lowered = Lowered::of(source, window.ones());
        let is_sorted = passes::sort_into(&lowered, window, room, sorted);
        if is_sorted {
            lowered.raise(sorted);
        }
        is_sorted
    } else {
        passes::sort_into(source, window, room, sorted)
    };
    is_sorted.then_some(scratch)
}

/// Bits of a digit that leaves as few records of `len` in a bucket as networks sort best; of uneven records, as many as counters cost little
/// beside the records.
fn pass_bits<C: SortFew>(network: Network, len: usize) -> DigitBits {
    let share = if C::has_tickets(network) { BUCKETS_OF_FEW_TICKETS } else { BUCKETS_OF_FEW };
    let bucket = (C::few(network) / share).max(1);
    let most = if C::suits_quicksort(network, 2 * C::few(network)) {
        // A bucket that is a little too large for a network costs little more if it is split once.
        SPLIT_PASS_BITS
    } else if C::has_tickets(network) && 2 * len > C::few(network) << PASS_BITS {
        FAR_PASS_BITS
    } else {
        PASS_BITS
    };
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
    let digit = Digit::choose(&source, window, bits, even, Threads::ONE)?;
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
    source.read_keys(0..source.len(), &mut |keys| count(keys, class, counters));
    to_starts(&mut counters[..digits]);
    source.read(0..source.len(), &mut |records| place(records, class, counters, target));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Keys, Pairs};
    use crate::record::Pair;
    use crate::simd::Set;
    use crate::testing::{numbered, pairs, spread};
    use crate::trace::steps_of;
    use bytemuck::Pod;
    use polysort_core::Masks;

    const WORDS: Network = Network { set: Set::Portable, whole: true };
    const STABLE: Network = Network { set: Set::Portable, whole: false };
    const WHOLE: Window = Window { low: 0, high: 32 };

    type Pairs32 = Pairs<'static, u32, [u8; 4]>;

    fn keys(len: usize, key: impl Fn(usize) -> u32) -> Vec<u32> {
        (0..len).map(key).collect()
    }

    /// The steps of a sort of keys alone, which are the same from records.
    fn steps_of_keys(network: Network, keys: &[u32], even: bool) -> Vec<Step> {
        let (mut own, mut scratch, mut expected) = (keys.to_vec(), vec![0; keys.len()], keys.to_vec());
        expected.sort_unstable();
        let columns = Keys { keys: &mut own, masks: Masks::UNSIGNED };
        let steps = steps_of(|| sort(network, columns, &mut scratch, WHOLE, even));
        assert!(own == expected);
        let (mut own, mut records) = (vec![0; keys.len()], keys.to_vec());
        let columns = Keys { keys: &mut own, masks: Masks::UNSIGNED };
        let steps_of_records = steps_of(|| sort_into(network, &mut records, columns, &mut scratch, WHOLE, even));
        assert!(own == expected);
        if keys.len() > Keys::<u32>::few(network) {
            assert_eq!(steps, steps_of_records);
        }
        steps
    }

    /// The steps of a stable sort of pairs, which are the same from records.
    fn steps_of_pairs(keys: &[u32], window: Window, even: bool) -> Vec<Step> {
        let mut order = Vec::from_iter(0..keys.len() as u32);
        order.sort_by_key(|&at| keys[at as usize] & window.ones::<u32>());
        let (mut own, mut values) = (keys.to_vec(), Vec::from_iter(0..keys.len() as u32));
        let mut records = numbered(keys);
        let mut scratch = records.clone();
        let columns = pairs(&mut own, &mut values, Masks::UNSIGNED);
        let steps = steps_of(|| sort(STABLE, columns, &mut scratch, window, even));
        assert!(values == order);
        values.fill(0);
        let columns = pairs(&mut own, &mut values, Masks::UNSIGNED);
        let steps_of_records = steps_of(|| sort_into(STABLE, &mut records, columns, &mut scratch, window, even));
        assert!(values == order && own.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]));
        if keys.len() > Pairs32::few(STABLE) {
            assert_eq!(steps, steps_of_records);
        }
        steps
    }

    /// Length and digits of each partition.
    fn partitions(steps: &[Step]) -> Vec<(usize, usize)> {
        let cached = |step: &Step| if let Step::Cached { len, digits } = *step { Some((len, digits)) } else { None };
        steps.iter().filter_map(cached).collect()
    }

    #[test]
    fn even_keys_take_one_partition_and_a_network_for_each_bucket() {
        let steps = steps_of_keys(WORDS, &keys(4096, spread), true);
        // Buckets of an eighth of what a network sorts.
        assert_eq!(partitions(&steps), [(4096, 4096 * 8 / Keys::<u32>::few(WORDS))]);
        let network = |step: &Step| if let Step::Network(len) = *step { len } else { 0 };
        assert_eq!(steps[1..].iter().map(network).sum::<usize>(), 4096);
        assert_eq!(steps.len() - 1, 4096 * 8 / Keys::<u32>::few(WORDS));
    }

    #[test]
    fn a_few_keys_take_one_network() {
        for set in Set::all() {
            let network = Network { set, ..WORDS };
            let few = Keys::<u32>::few(network);
            assert_eq!(steps_of_keys(network, &keys(few, spread), true), [Step::Network(few)]);
            assert_eq!(partitions(&steps_of_keys(network, &keys(few + 1, spread), true))[0].0, few + 1);
        }
    }

    #[test]
    fn a_bucket_that_is_of_one_digit_or_of_one_key_is_only_written() {
        let steps = steps_of_keys(WORDS, &keys(4096, |i| spread(i) >> 24 << 3), true);
        assert_eq!(steps, [Step::Cached { len: 4096, digits: 256 }]);
        // Many digits, most of which a key has alone.
        let steps = steps_of_keys(WORDS, &keys(300, spread), false);
        assert_eq!(partitions(&steps), [(300, 256)]);
        assert!(steps[1..].iter().all(|step| matches!(step, Step::Network(2..))), "{steps:?}");
        assert!(steps_of_keys(WORDS, &[9; 4096], true).is_empty());
    }

    #[test]
    fn a_crowded_bucket_is_partitioned_and_trusted_to_be_even_if_it_has_half_of_the_keys_at_most() {
        let small =
            |share: usize| keys(4096, |i| if i % 4 < share { spread(i / 4 * 4 + i % 4) >> 12 } else { spread(i) | 1 << 31 });
        // As many digits as uneven keys get, and as even ones get.
        assert_eq!(partitions(&steps_of_keys(WORDS, &small(3), false)), [(4096, 1024), (3072, 1024)]);
        assert_eq!(partitions(&steps_of_keys(WORDS, &small(2), false)), [(4096, 1024), (2048, 64)]);
        assert_eq!(partitions(&steps_of_keys(WORDS, &small(1), false)), [(4096, 1024), (1024, 32)]);
    }

    #[test]
    fn a_crowded_bucket_is_sorted_by_quicksort_where_that_is_faster() {
        for set in Set::all() {
            let network = Network { set, ..WORDS };
            let len = 3 * Keys::<u32>::few(network);
            let steps =
                steps_of_keys(network, &keys(len, |i| if i % 3 == 0 { spread(i) | 1 << 31 } else { spread(i) >> 12 }), false);
            let is_split = steps.iter().any(|step| matches!(step, Step::Split(_)));
            assert_eq!(is_split, Keys::<u32>::suits_quicksort(network, len / 3 * 2));
            assert_eq!(partitions(&steps).len(), if is_split { 1 } else { 2 });
        }
    }

    #[test]
    fn even_pairs_take_passes_up_to_a_length() {
        for len in [4096, passes::MAX] {
            let steps = steps_of_pairs(&keys(len, spread), WHOLE, true);
            assert!(matches!(steps[..], [Step::Passes { .. }]), "{steps:?}");
        }
        assert_eq!(partitions(&steps_of_pairs(&keys(passes::MAX + 1, spread), WHOLE, true)), [(passes::MAX + 1, 1024)]);
        assert_eq!(partitions(&steps_of_pairs(&keys(4096, spread), WHOLE, false)), [(4096, 1024)]);
    }

    #[test]
    fn lopsided_pairs_take_a_partition() {
        // Small numbers but for a few.
        let steps = steps_of_pairs(&keys(4096, |i| if i % 50 == 1 { spread(i) } else { spread(i) >> 14 }), WHOLE, true);
        assert_eq!(partitions(&steps)[0].0, 4096);
        assert!(!steps.iter().any(|step| matches!(step, Step::Passes { .. })), "{steps:?}");
        // One partition by values is the whole sort.
        let steps = steps_of_pairs(&keys(4096, |i| spread(i) % 5 * 0x1234_5678), WHOLE, true);
        assert_eq!(steps, [Step::Cached { len: 4096, digits: 11 }]);
    }

    /// An integer around `middle`, a power of two. All bits of such integers differ, and 20 of their differences from the least one.
    fn around(middle: u32, i: usize) -> u32 {
        middle - 300_000 + (spread(i) >> 12) / 2
    }

    #[test]
    fn pairs_on_both_sides_of_a_power_of_two_take_passes_by_their_differences() {
        let steps = |window| steps_of_pairs(&keys(1024, |i| around(1 << 31, i)), window, true);
        assert_eq!(steps(WHOLE), [Step::Passes { len: 1024, bits: 15 }]);
        // Some of the bits: the differences have 18 of them.
        assert_eq!(steps(Window { low: 2, high: 32 }), [Step::Passes { len: 1024, bits: 15 }]);
        // Other bits above them.
        let shifted = keys(1024, |i| around(1 << 27, i) << 2 | spread(i) << 30 | spread(i + 7) & 3);
        assert_eq!(steps_of_pairs(&shifted, Window { low: 2, high: 30 }, true)[0], Step::Passes { len: 1024, bits: 15 });
        // Two values at either side, which are neighbors.
        let two = keys(1024, |i| if i % 50 == 1 { spread(i) } else { (1 << 31) - 2 + spread(i) % 4 });
        assert!(!steps_of_pairs(&two, WHOLE, true).iter().any(|step| matches!(step, Step::Passes { .. })));
    }

    #[test]
    fn pairs_on_both_sides_of_a_power_of_two_take_passes_up_to_a_limit() {
        for (len, limit, takes_passes) in [(2048, 2048, true), (2049, 2048, false), (2049, usize::MAX, true)] {
            let records = Vec::from_iter((0..len).map(|i| Pair { key: around(1 << 31, i), value: i as u32 }));
            let sorted = sorted_by_passes(limit, &&records[..], WHOLE, &mut records.clone());
            assert_eq!(sorted.is_some(), takes_passes, "{len} of at most {limit}");
        }
        // Even pairs have no such limit.
        let records = Vec::from_iter((0..4096).map(|i| Pair { key: spread(i), value: i as u32 }));
        assert!(sorted_by_passes(2048, &&records[..], WHOLE, &mut records.clone()).is_some());
    }

    #[test]
    fn pairs_with_few_bits_take_narrow_passes() {
        let steps = |high| steps_of_pairs(&keys(4096, spread), Window { low: 0, high }, true);
        assert_eq!(steps(8), [Step::Narrow { len: 4096, passes: 1 }]);
        assert_eq!(steps(16), [Step::Narrow { len: 4096, passes: 2 }]);
    }

    #[test]
    fn keys_and_their_scratch_fit_in_the_cache() {
        let most = tuning().cached_bytes / size_of::<u32>();
        assert!(suits::<Keys<'_, u32>>(WORDS, WHOLE, most) && !suits::<Keys<'_, u32>>(WORDS, WHOLE, most + 1));
    }

    /// Records of several sizes: what a cache holds of each is more than one pass leaves to tickets, or less.
    #[test]
    fn stable_sorts_are_as_long_as_one_pass_leaves_few_records_in_a_bucket() {
        fn check<V: Pod + Send + Sync>() {
            let window = Window { low: 0, high: 64 };
            let size = size_of::<Pair<u64, V>>();
            let suits = |len: usize| suits::<Pairs<'static, u64, V>>(STABLE, window, len);
            // Half of the tickets that a network sorts, in each of 2048 buckets.
            let one_pass = 64 << 11;
            let most = (tuning().cached_stable_bytes / size).min(one_pass).max(tuning().cached_bytes / size);
            assert!(suits(most) && !suits(most + 1), "{most} records of {size} bytes");
        }
        check::<u32>();
        check::<u64>();
        check::<[u64; 7]>();
        check::<[u64; 31]>();
        check::<[u64; 127]>();
    }

    #[test]
    fn stable_sorts_by_one_narrow_pass_are_of_any_length_and_by_two_of_what_fits_in_the_last_cache() {
        let suits = |high, len| suits::<Pairs32>(STABLE, Window { low: 0, high }, len);
        let over = tuning().narrow_bytes.div_ceil(size_of::<Pair<u32, u32>>());
        assert!(suits(8, 1 << 30) && !suits(9, 1 << 30));
        assert!(suits(16, over - 1) && !suits(16, over) && !suits(17, over - 1));
    }

    #[test]
    fn buckets_are_a_share_of_what_a_network_sorts() {
        let bits = |bits: DigitBits| (bits.few, bits.many);
        // Of pairs a quarter, 32, and of keys an eighth, 32 and 16.
        assert_eq!(bits(pass_bits::<Pairs32>(STABLE, 2048)), (6, 10));
        assert_eq!(bits(pass_bits::<Pairs32>(STABLE, 2049)), (7, 10));
        assert_eq!(bits(pass_bits::<Keys<'_, u32>>(WORDS, 2048)), (6, 10));
        assert_eq!(bits(pass_bits::<Keys<'_, u64>>(WORDS, 2048)), (7, 10));
        // Of uneven records two.
        assert_eq!(bits(pass_bits::<Pairs32>(STABLE, 256)), (3, 7));
        // Not more than counters of the L1, but where buckets would have more records than a network sorts.
        let most = Pairs32::few(STABLE) << (PASS_BITS - 1);
        assert_eq!(bits(pass_bits::<Pairs32>(STABLE, most)), (PASS_BITS, PASS_BITS));
        assert_eq!(bits(pass_bits::<Pairs32>(STABLE, most + 1)), (FAR_PASS_BITS, FAR_PASS_BITS));
        assert_eq!(bits(pass_bits::<Keys<'_, u32>>(WORDS, 1 << 24)), (PASS_BITS, PASS_BITS));
        for set in Set::all().into_iter().filter(|set| set.has_splits()) {
            let bits = bits(pass_bits::<Keys<'_, u32>>(Network { set, ..WORDS }, 1 << 24));
            assert_eq!(bits, (SPLIT_PASS_BITS, SPLIT_PASS_BITS));
        }
    }

    #[test]
    fn the_longest_bucket_counts_if_it_is_too_long_for_a_network() {
        // Of 3, 0, 7, 8 and 2 records.
        let ends = [3, 3, 10, 18, 20];
        assert_eq!([0, 2, 6, 7, 8, 20].map(|few| longest_over(few, &ends)), [8, 8, 8, 8, 0, 0]);
        assert_eq!([3, 4].map(|few| longest_over(few, &[4, 5])), [4, 0]);
    }

    #[test]
    fn a_partition_is_stable_and_gives_the_ends_of_its_digits() {
        let records: Vec<Pair<u32, u32>> = (0..1000).map(|i| Pair { key: (i * 7 % 4) << 3, value: i }).collect();
        let (mut target, mut ends) = (records.clone(), [0; MAX_DIGITS]);
        let bits = DigitBits { few: 1, many: 2 };
        let digit = partition(&records[..], &mut target, WHOLE, bits, true, &mut ends).expect("four keys");
        assert_eq!((digit.count(), &ends[..4]), (4, &[250, 500, 750, 1000][..]));
        let mut expected = records;
        expected.sort_by_key(|record| record.key());
        assert!(target.iter().zip(&expected).all(|(a, b)| { a.value } == { b.value }));
    }
}
