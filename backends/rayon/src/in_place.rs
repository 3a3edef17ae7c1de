//! The sort of keys alone that asks for a fixed amount of memory, whatever their number.
//!
//! ```text
//! in order, or in reverse    nothing, or a reversal     presorted.rs
//! 8 or 16 bits               counting                   counting.rs
//! wider                      quicksort                  quicksort.rs
//! ```

use crate::columns::Keys;
use crate::few::{Network, SortFew};
use crate::simd::Set;
use crate::threads::Threads;
use crate::window::Window;
use crate::{counting, presorted, quicksort};
use polysort_core::{Masks, Word};

/// Sorts raw keys by all their bits.
pub(crate) fn sort<W: Word>(keys: &mut [W], masks: Masks, threads: Threads) {
    let (window, network) = (Window { low: 0, high: W::BITS }, Network { set: Set::widest(), whole: true });
    let mut columns = Keys { keys, masks };
    if W::BITS <= 64 && columns.keys.len() <= Keys::<W>::few(network) {
        return columns.sort_few(network, window);
    }
    let Some(columns) = presorted::settle(columns, window, network, false, threads) else { return };
    match W::BITS {
        8 | 16 => counting::sort(columns.keys, masks, threads),
        _ => quicksort::sort(network.set, columns.keys, None, masks, threads),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Step, steps_of};

    fn steps<W: Word>(len: usize) -> Vec<Step> {
        let key = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i << 7;
        let mut keys = Vec::from_iter((0..len as u64).map(|i| W::truncate(u128::from(key(i)) << 64 | u128::from(key(i)))));
        let steps = steps_of(|| sort(&mut keys, Masks::UNSIGNED, Threads::ONE));
        assert!(keys.is_sorted());
        steps
    }

    #[test]
    fn few_keys_go_through_a_network_narrow_ones_are_counted_and_others_are_split() {
        let few = crate::tuning::few_keys(Set::widest(), 32);
        assert_eq!(steps::<u32>(few), [Step::Network(few)]);
        assert_eq!(steps::<u32>(few + 1)[0], Step::Split(few + 1));
        assert_eq!(steps::<u64>(10_000)[0], Step::Split(10_000));
        assert_eq!(steps::<u8>(10_000), [Step::Counted(10_000)]);
        assert_eq!(steps::<u16>(10_000), [Step::Counted(10_000)]);
        // A network of quicksort itself takes a few wide words.
        assert_eq!(steps::<u128>(10), [Step::Network(10)]);
        assert_eq!(steps::<u128>(10_000)[0], Step::Split(10_000));
    }
}
