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
