//! One sort: the algorithm that suits its length and its data.
//!
//! ```text
//! some hundred or thousand     networks                          simd/, tickets.rs
//! in order, or in reverse      nothing, or a reversal            presorted.rs
//! few bits, stably             passes                            narrow.rs
//! few values, keys alone       counting                          counting.rs
//! keys alone                   quicksort                         quicksort.rs
//! fits in a cache              a partition, then networks        cached.rs
//! larger                       a partition, then each bucket     msd.rs
//! ```

use crate::columns::Keys;
use crate::few::{Network, SortFew};
use crate::scratch::Scratch;
use crate::simd::Set;
use crate::threads::Threads;
use crate::tuning::{COUNT_16, COUNT_FEW, MERGED_KEYS, network_keys};
use crate::window::Window;
use crate::{counting, msd, narrow, presorted};
use polysort_core::{Spec, Word};

/// Sorts keys alone.
pub(crate) fn sort_keys<W: Word>(keys: &mut [W], spec: Spec, threads: Threads) {
    sort_keys_by(Set::widest(), keys, spec, threads);
}

/// [`sort_keys`], by a set of instructions.
pub(crate) fn sort_keys_by<W: Word>(set: Set, keys: &mut [W], spec: Spec, threads: Threads) {
    let (window, whole, len) = (Window::of(spec), spec.width() == W::BITS, keys.len());
    if len <= 1 {
        return;
    }
    let network = Network { set, whole };
    let mut columns = Keys { keys, masks: spec.masks };
    if len <= Keys::<W>::few(network) {
        return columns.sort_few(network, window);
    }
    let Some(mut columns) = presorted::settle(columns, window, network, len > MERGED_KEYS, threads) else { return };
    if whole && len <= network_keys(set, W::BITS) {
        return columns.sort_few(network, window);
    }
    // All bytes are counted, and few values are no less work.
    if whole && W::BITS > 8 && len >= COUNT_FEW && counting::sort_few(columns.keys, spec.masks, threads) {
        return;
    }
    if whole && (W::BITS == 8 || W::BITS == 16 && len >= COUNT_16 * threads.count()) {
        return counting::sort(columns.keys, spec.masks, threads);
    }
    sort_unordered(columns, window, network, threads);
}

/// Sorts `columns`, stably by `window`; `whole` as in [`Network`].
pub(crate) fn sort<C: SortFew>(columns: C, window: Window, whole: bool, threads: Threads) {
    sort_by(Network { set: Set::widest(), whole }, columns, window, threads);
}

/// [`sort`], by a set of instructions.
pub(crate) fn sort_by<C: SortFew>(network: Network, mut columns: C, window: Window, threads: Threads) {
    if columns.len() <= 1 {
        return;
    }
    if columns.len() <= C::most_short_tickets(network, window) && columns.has_short_tickets(window) {
        return columns.sort_few(network, window);
    }
    if columns.len() <= C::few(network) {
        if narrow::suits::<C>(network, window, columns.len()) {
            return narrow::sort_few(&mut columns, window);
        }
        return columns.sort_few(network, window);
    }
    if let Some(columns) = presorted::settle(columns, window, network, true, threads) {
        sort_unordered(columns, window, network, threads);
    }
}

/// Sorts `columns`, of which there is nothing more to be known.
pub(crate) fn sort_unordered<C: SortFew>(mut columns: C, window: Window, network: Network, threads: Threads) {
    let len = columns.len();
    if threads.is_one() && C::suits_quicksort(network, len) {
        return columns.quicksort(network, None);
    }
    let mut scratch = Scratch::of::<C::Record>(len);
    msd::sort(network, columns, scratch.records(len), window, threads, true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Indices;
    use crate::testing::{pairs, spread_wide as spread};
    use crate::trace::{Step, steps_of};
    use crate::tuning::{ROWS_OF_BYTES, ROWS_OF_PAIRED_BYTES, few_keys, few_tickets, quicksort_keys, short_tickets, tuning};
    use polysort_core::Masks;

    fn of<W: Word>(len: usize, key: impl Fn(usize) -> u64) -> Vec<W> {
        (0..len).map(|i| W::truncate(u128::from(key(i)) * 0x1_0000_0000_0000_0001)).collect()
    }

    /// The steps of a sort of keys alone, whose result is checked.
    fn keys_steps<W: Word>(keys: Vec<W>, spec: Spec) -> Vec<Step> {
        let (mut sorted, mut expected) = (keys.clone(), keys);
        expected.sort_by_key(|&key| spec.rank(key));
        let steps = steps_of(|| sort_keys(&mut sorted, spec, Threads::ONE));
        assert!(sorted.iter().zip(&expected).all(|(&a, &b)| a == b));
        steps
    }

    /// The steps of a sort of pairs and of an argsort, which are the same.
    fn pairs_steps<W: Word>(keys: Vec<W>, spec: Spec) -> Vec<Step> {
        let [of_pairs, of_indices] = stable_steps(keys, spec);
        assert_eq!(of_indices, of_pairs, "an argsort takes the steps of a sort of pairs");
        of_pairs
    }

    /// The steps of a sort of pairs and of an argsort. Both results are checked.
    fn stable_steps<W: Word>(keys: Vec<W>, spec: Spec) -> [Vec<Step>; 2] {
        let (mut sorted, mut values) = (keys.clone(), Vec::from_iter(0..keys.len() as u32));
        let mut order = values.clone();
        order.sort_by_key(|&at| spec.rank(keys[at as usize]));
        let columns = pairs(&mut sorted, &mut values, spec.masks);
        let of_pairs = steps_of(|| sort(columns, Window::of(spec), false, Threads::ONE));
        assert!(values == order && sorted.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]));
        let mut indices = Vec::from_iter(0..keys.len() as u32);
        let of_indices = steps_of(|| {
            sort(Indices::new(&keys, 0, &mut indices, spec.masks), Window::of(spec), false, Threads::ONE);
        });
        assert!(indices == order);
        [of_pairs, of_indices]
    }

    fn is_network(step: &Step) -> bool {
        matches!(step, Step::Network(_))
    }

    #[test]
    fn no_records_or_one_take_no_step() {
        for len in [0, 1] {
            assert_eq!(keys_steps::<u32>(of(len, spread), Spec::unsigned::<u32>()), []);
            assert_eq!(pairs_steps::<u32>(of(len, spread), Spec::unsigned::<u32>()), []);
        }
    }

    #[test]
    fn a_network_sorts_few_keys() {
        fn check<W: Word>() {
            let few = few_keys(Set::widest(), W::BITS);
            let most = few.max(network_keys(Set::widest(), W::BITS));
            for len in [2, few / 2, few, most] {
                assert_eq!(
                    keys_steps::<W>(of(len, spread), Spec::unsigned::<W>()),
                    [Step::Network(len)],
                    "{len} of {} bits",
                    W::BITS
                );
            }
            let steps = keys_steps::<W>(of(most + 1, spread), Spec::unsigned::<W>());
            assert!(!steps.contains(&Step::Network(most + 1)) && !steps.is_empty());
            // More keys in order are not touched.
            assert_eq!(keys_steps::<W>(of(few + 1, |at| at as u64 >> 8), Spec::unsigned::<W>()), []);
        }
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }

    /// Keys of 128 bits, and those that are sorted by some of their bits, which a sort must keep in order.
    #[test]
    fn tickets_sort_few_records() {
        let few = few_tickets(Set::widest());
        let by_some = Spec::new::<u32>(Masks::UNSIGNED, 0, 31).expect("31 bits");
        for len in [20, few] {
            let tickets = [Step::Tickets { len, bits: 64 }];
            assert_eq!(keys_steps::<u32>(of(len, spread), by_some), tickets);
            assert_eq!(keys_steps::<u128>(of(len, spread), Spec::unsigned::<u128>()), tickets);
            assert_eq!(pairs_steps::<u32>(of(len, spread), Spec::unsigned::<u32>()), tickets);
            assert_eq!(pairs_steps::<u64>(of(len, spread), Spec::unsigned::<u64>()), tickets);
        }
        // Rank and position fit in 32 bits, if need be without the bits in which no two ranks differ.
        let narrow = Spec::new::<u32>(Masks::UNSIGNED, 3, 23).expect("20 bits");
        assert_eq!(pairs_steps::<u32>(of(few, spread), narrow), [Step::Tickets { len: few, bits: 32 }]);
        assert_eq!(
            pairs_steps::<u32>(of(few, |i| spread(i) & 0xfff), Spec::unsigned::<u32>()),
            [Step::Tickets { len: few, bits: 32 }]
        );
        // If ranks of 128 bits agree in the bits that fit in a ticket, tickets of the other bits follow.
        let steps = pairs_steps::<u128>(of(few, |i| if i % 2 == 0 { 1 } else { spread(i) >> 63 }), Spec::unsigned::<u128>());
        assert!(steps.len() > 1 && steps.iter().all(|step| matches!(step, Step::Tickets { bits: 64, .. })), "{steps:?}");
    }

    #[test]
    fn passes_sort_by_few_bits() {
        let few = few_tickets(Set::widest());
        // Clearing 256 counters pays from 64 records on, and twice as many from 256. The window is a part of the key, so pairs have no short tickets.
        for (len, passes, bits) in
            [(63, 0, 8), (64, 1, 8), (64, 0, 9), (255, 0, 16), (256, 2, 16), (5000, 1, 7), (5000, 2, 16), (5000, 0, 17)]
        {
            let spec = Spec::new::<u32>(Masks::UNSIGNED, 4, 4 + bits).expect("bits of a key");
            let [of_pairs, of_indices] = stable_steps::<u32>(of(len, spread), spec);
            let is_narrow = of_pairs == [Step::Narrow { len, passes }];
            assert_eq!(is_narrow, passes > 0, "{len} pairs by {bits} bits took {of_pairs:?}");
            if len <= few && !is_narrow {
                assert!(matches!(of_pairs[..], [Step::Tickets { .. }]));
            }
            let short = short_tickets(Set::widest(), bits, ROWS_OF_BYTES);
            let expected = if len > short { of_pairs } else { vec![Step::Tickets { len, bits: 32 }] };
            assert_eq!(of_indices, expected);
        }
    }

    #[test]
    fn short_tickets_sort_indices_and_pairs_of_narrow_keys() {
        let most = |bits, rows| short_tickets(Set::widest(), bits, rows);
        // Registers of 128 bits have none.
        for len in [2, 64, 65, 128, 129, 256, 257, 512, 513, 1024] {
            let (tickets, pass) = (Step::Tickets { len, bits: 32 }, Step::Narrow { len, passes: 1 });
            let [of_pairs, of_indices] = stable_steps::<u8>(of(len, spread), Spec::unsigned::<u8>());
            assert_eq!(of_pairs == [tickets], len <= most(8, ROWS_OF_PAIRED_BYTES) || len < 64, "{len}: {of_pairs:?}");
            assert_eq!(of_indices == [tickets], len <= most(8, ROWS_OF_BYTES) || len < 64, "{len}: {of_indices:?}");
            // For more bytes, a pass is faster.
            assert!([of_pairs, of_indices].iter().all(|steps| steps == &[tickets] || steps == &[pass]));
            if len <= most(16, 0) {
                assert_eq!(pairs_steps::<u16>(of(len, spread), Spec::unsigned::<u16>()), [tickets]);
                let part = Spec::new::<u64>(Masks::UNSIGNED, 30, 40).expect("10 bits");
                assert_eq!(stable_steps::<u64>(of(len, spread), part)[1], [tickets]);
            }
        }
        assert_eq!(pairs_steps::<u8>(of(1500, spread), Spec::unsigned::<u8>()), [Step::Narrow { len: 1500, passes: 1 }]);
        assert_eq!(pairs_steps::<u16>(of(1500, spread), Spec::unsigned::<u16>()), [Step::Narrow { len: 1500, passes: 2 }]);
    }

    #[test]
    fn records_in_order_are_left_and_in_the_opposite_order_reversed() {
        for len in [few_keys(Set::widest(), 32) + 1, 100_000] {
            let spec = Spec::unsigned::<u32>();
            assert_eq!(keys_steps::<u32>(of(len, |i| i as u64 / 2), spec), []);
            assert_eq!(keys_steps::<u32>(of(len, |i| (len - i) as u64 / 2), spec), [Step::Reversed { ties: false }]);
            assert_eq!(pairs_steps::<u32>(of(len, |i| i as u64 / 2), spec), []);
            let look = Step::Ties { len, threads: 1 };
            assert_eq!(pairs_steps::<u32>(of(len, |i| (len - i) as u64 / 2), spec), [look, Step::Reversed { ties: true }]);
            assert_eq!(pairs_steps::<u32>(of(len, |i| (len - i) as u64), spec), [look, Step::Reversed { ties: false }]);
        }
    }

    /// Two runs of pairs are merged; two of keys alone only if they are longer than what quicksort sorts faster.
    #[test]
    fn two_runs_are_merged() {
        let two = |len: usize| move |i: usize| if i < len / 2 { 2 * i as u64 } else { 2 * (i - len / 2) as u64 + 1 };
        let spec = Spec::unsigned::<u32>();
        for (len, is_merged) in [(MERGED_KEYS, false), (MERGED_KEYS + 1, true)] {
            assert_eq!(keys_steps::<u32>(of(len, two(len)), spec) == [Step::Merged(len)], is_merged);
        }
        assert_eq!(pairs_steps::<u32>(of(3000, two(3000)), spec), [Step::Merged(3000)]);
    }

    #[test]
    fn few_values_and_narrow_keys_are_counted() {
        let len = COUNT_FEW;
        assert_eq!(keys_steps::<u32>(of(len, |i| spread(i) % 100), Spec::unsigned::<u32>()), [Step::Dictionary(len)]);
        assert_eq!(keys_steps::<u16>(of(len, |i| spread(i) % 100), Spec::unsigned::<u16>()), [Step::Dictionary(len)]);
        let shorter = keys_steps::<u32>(of(len - 1, |i| spread(i) % 100), Spec::unsigned::<u32>());
        assert!(!shorter.contains(&Step::Dictionary(len - 1)));
        let by_some = Spec::new::<u32>(Masks::UNSIGNED, 0, 31).expect("31 bits");
        assert!(!keys_steps::<u32>(of(len, |i| spread(i) % 100), by_some).contains(&Step::Dictionary(len)));
        // Bytes at any length, keys of 16 bits if they are many.
        assert_eq!(keys_steps::<u8>(of(1000, spread), Spec::unsigned::<u8>()), [Step::Counted(1000)]);
        assert_eq!(keys_steps::<u8>(of(len, |i| spread(i) % 100), Spec::unsigned::<u8>()), [Step::Counted(len)]);
        assert_eq!(keys_steps::<u16>(of(COUNT_16, spread), Spec::unsigned::<u16>()), [Step::Counted(COUNT_16)]);
        let shorter = keys_steps::<u16>(of(COUNT_16 - 1, spread), Spec::unsigned::<u16>());
        assert!(!shorter.contains(&Step::Counted(COUNT_16 - 1)));
        // For several threads, more.
        let two = Threads::several(2);
        let mut keys: Vec<u16> = of(COUNT_16, spread);
        assert!(!steps_of(|| sort_keys(&mut keys, Spec::unsigned::<u16>(), two)).contains(&Step::Counted(COUNT_16)));
        let mut keys: Vec<u16> = of(2 * COUNT_16, spread);
        assert!(steps_of(|| sort_keys(&mut keys, Spec::unsigned::<u16>(), two)).contains(&Step::Counted(2 * COUNT_16)));
    }

    /// Words of 32 and 64 bits up to the length at which quicksort is faster, if there are registers that split them. With several threads, a partition comes first.
    #[test]
    fn quicksort_sorts_keys_where_it_is_faster() {
        fn check<W: Word>() {
            let (few, most) = (few_keys(Set::widest(), W::BITS), quicksort_keys(Set::widest(), W::BITS));
            // On some machines, it sorts more keys than a test should.
            let len = most.min(1 << 18);
            if len > few {
                let steps = keys_steps::<W>(of(len, spread), Spec::unsigned::<W>());
                assert_eq!(steps[0], Step::Split(len));
                assert!(steps.iter().all(|step| matches!(step, Step::Split(_) | Step::Network(_))), "{steps:?}");
                let two = Threads::several(2);
                let mut keys: Vec<W> = of(len, spread);
                let on_two = steps_of(|| sort_keys(&mut keys, Spec::unsigned::<W>(), two));
                assert!(matches!(on_two[..], [Step::Partition { .. }, ..]), "{on_two:?}");
            }
            if len == most {
                let longer = most.max(few) + 1;
                assert_ne!(keys_steps::<W>(of(longer, spread), Spec::unsigned::<W>())[0], Step::Split(longer));
            }
        }
        check::<u32>();
        check::<u64>();
    }

    /// Even keys that fit in the cache are moved once, then networks sort each bucket.
    #[test]
    fn a_partition_and_networks_sort_what_fits_in_the_cache() {
        // Quicksort takes no keys of 16 bits, and no tickets sort them.
        let len = tuning().cached_bytes / 2;
        assert!(len > few_keys(Set::widest(), 16));
        let len = len.min(COUNT_16 - 1);
        let steps = keys_steps::<u16>(of(len, spread), Spec::unsigned::<u16>());
        assert!(matches!(steps[0], Step::Cached { len: own, .. } if own == len), "{:?}", steps[0]);
        assert!(steps[1..].iter().all(is_network));
    }
}
