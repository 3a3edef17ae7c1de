//! One sort: the way that suits its length and its data.
//!
//! ```text
//! a few hundred records      comparisons                      small.rs
//! in order, or in reverse    nothing, or a reversal           presorted.rs
//! few values, keys alone     counting                         counting.rs
//! fits in a cache            LSD passes                       lsd.rs
//! larger                     one partition, then each bucket  msd.rs
//! ```

use crate::columns::{Columns, Keys};
use crate::scratch::Scratch;
use crate::tuning::{COUNT_16, COUNT_FEW, PARALLEL_BYTES, SERIAL_BYTES};
use crate::window::Window;
use crate::{counting, lsd, msd, presorted, small};
use polysort_core::{Spec, Word};

/// Sorts keys alone.
pub(crate) fn sort_keys<W: Word>(keys: &mut [W], spec: Spec) {
    let (window, whole) = (Window::of(spec), spec.width() == W::BITS);
    let (len, columns) = (keys.len(), Keys { keys, masks: spec.masks });
    if !whole || small::suits::<W>(len, whole) {
        return sort(columns, window, whole);
    }
    let Some(columns) = presorted::settle(columns, window, whole) else { return };
    if len >= COUNT_FEW && counting::sort_few(columns.keys, spec.masks) {
        return;
    }
    if W::BITS == 8 || W::BITS == 16 && len >= COUNT_16 {
        return counting::sort(columns.keys, spec.masks);
    }
    sort_unordered(columns, window, whole);
}

/// Sorts `columns`, stably by `window`; `whole` as in [`small::sort`].
pub(crate) fn sort<C: Columns>(mut columns: C, window: Window, whole: bool) {
    let len = columns.len();
    if small::suits::<C::Record>(len, whole) {
        return columns.sort_small(window, whole);
    }
    if let Some(columns) = presorted::settle(columns, window, whole) {
        sort_unordered(columns, window, whole);
    }
}

/// Sorts `columns`, of which there is nothing more to be known.
fn sort_unordered<C: Columns>(mut columns: C, window: Window, whole: bool) {
    let len = columns.len();
    let bytes = len * size_of::<C::Record>();
    match threads_for(bytes) {
        1 if bytes <= SERIAL_BYTES => {
            let mut scratch = Scratch::of::<C::Record>(len);
            let records = scratch.records(len);
            columns.copy_to(0, records);
            lsd::sort(records, window, whole);
            columns.write(records);
        }
        1 => msd::sort(columns, window, whole, 1),
        // In a thread of the pool, so that the steps need not enter it one by one.
        threads => rayon::scope(|_| msd::sort(columns, window, whole, threads)),
    }
}

/// How many threads of the current pool work that touches so many bytes is worth.
pub(crate) fn threads_for(bytes: usize) -> usize {
    if bytes < PARALLEL_BYTES { 1 } else { rayon::current_num_threads() }
}
