//! One sort: the algorithm that suits its length and its data.
//!
//! ```text
//! up to some hundred records   networks                          simd/, tickets.rs
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
use crate::tuning::{COUNT_16, COUNT_FEW, MERGED_KEYS};
use crate::window::Window;
use crate::{counting, msd, narrow, presorted};
use polysort_core::{Spec, Word};

/// Sorts keys alone.
pub(crate) fn sort_keys<W: Word>(keys: &mut [W], spec: Spec, threads: Threads) {
    let (window, whole, len) = (Window::of(spec), spec.width() == W::BITS, keys.len());
    if len <= 1 {
        return;
    }
    let network = Network { set: Set::widest(), whole };
    let mut columns = Keys { keys, masks: spec.masks };
    if len <= Keys::<W>::few(network) {
        return columns.sort_few(network, window);
    }
    let Some(columns) = presorted::settle(columns, window, network, len > MERGED_KEYS, threads) else { return };
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
pub(crate) fn sort<C: SortFew>(mut columns: C, window: Window, whole: bool, threads: Threads) {
    if columns.len() <= 1 {
        return;
    }
    let network = Network { set: Set::widest(), whole };
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
