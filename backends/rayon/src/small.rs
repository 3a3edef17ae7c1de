//! Sorts by comparison, for records too few for counters.

use crate::record::Record;
use crate::tuning::{SMALL, SMALL_KEYS};
use crate::window::Window;
use bytemuck::Zeroable;
use polysort_core::Word;

/// Whether `len` records are best sorted here. `whole` as in [`sort`].
pub(crate) fn suits<R: Record>(len: usize, whole: bool) -> bool {
    // Wide keys make a radix sort dear, but a comparison no dearer.
    len <= if whole { SMALL_KEYS * size_of::<R>().div_ceil(4) } else { SMALL }
}

/// Sorts records as [`suits`] allows, stably by `window`. `whole` says that records equal in the window are equal altogether, so that
/// no one can tell a stable sort from another.
pub(crate) fn sort<R: Record>(records: &mut [R], window: Window, whole: bool) {
    if whole {
        return records.sort_unstable_by_key(|record| record.key());
    }
    let ones = window.ones::<R::Key>();
    // The rank above the position: all distinct, so the fastest sort there is also gives the stable order.
    if <R::Key as Word>::BITS <= 32 {
        let mut tickets = [0; SMALL];
        let tickets = &mut tickets[..records.len()];
        for (at, (ticket, record)) in tickets.iter_mut().zip(&*records).enumerate() {
            *ticket = ((record.key() & ones).index() as u64) << 32 | at as u64;
        }
        tickets.sort_unstable();
        gather(records, tickets.iter().map(|&ticket| ticket as u32 as usize));
    } else {
        let mut tickets = [(R::Key::zeroed(), 0); SMALL];
        let tickets = &mut tickets[..records.len()];
        for (at, (ticket, record)) in tickets.iter_mut().zip(&*records).enumerate() {
            *ticket = (record.key() & ones, at as u32);
        }
        tickets.sort_unstable();
        gather(records, tickets.iter().map(|&(_, at)| at as usize));
    }
}

/// Moves to each place the record that was at the next of `order`'s positions.
fn gather<R: Record>(records: &mut [R], order: impl Iterator<Item = usize>) {
    let mut before = [R::zeroed(); SMALL];
    let before = &mut before[..records.len()];
    before.copy_from_slice(records);
    for (place, at) in records.iter_mut().zip(order) {
        *place = before[at];
    }
}

/// Sorts a few `records` stably by `window`.
pub(crate) fn insertion_sort<R: Record>(records: &mut [R], window: Window) {
    let ones = window.ones::<R::Key>();
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
