//! The stable sort of a few records: their ranks are packed into words with their positions below, which a sorting network sorts, and
//! the positions tell where each record goes.
//!
//! ```text
//! rank  7 2 7 5        tickets  7|0 2|1 7|2 5|3     sorted  2|1 5|3 7|0 7|2     records 1 3 0 2
//! ```
//!
//! Tickets are all different, so no sort of them can be unstable. If rank and position do not fit in 64 bits, the top of the rank does;
//! records that are equal in that are told apart by tickets of the rest.

use crate::columns::{Columns, Indices, Pairs};
use crate::digit::varying;
use crate::record::Record;
use crate::scratch::MOST_ON_STACK;
use crate::simd::{Map, NetworkWord, Set};
use crate::source::Keyed;
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::window::Window;
use bytemuck::Pod;
use num_traits::Zero;
use polysort_core::Word;
use std::cell::RefCell;

/// The most records that tickets are made of.
pub(crate) const MAX: usize = MOST_ON_STACK;

thread_local! {
    /// Room for tickets, which so need not be cleared for each few records.
    static TICKETS: RefCell<[u64; MAX]> = const { RefCell::new([0; MAX]) };
}

/// Replaces what is in `columns` by `records` in their stable order by `window`. There are at most [`MAX`].
pub(crate) fn sort_into<C: Columns>(set: Set, records: &[C::Record], columns: &mut C, window: Window) {
    let bits = position_bits(records.len());
    // To leave out bits in which no two ranks differ costs a look at each record.
    let window = if are_short(window, records.len()) { window } else { window.narrowed(varying(&records, Threads::ONE)) };
    let top = window.top(u64::BITS - bits);
    let is_told_apart = TICKETS.with_borrow_mut(|tickets| {
        if are_short(top, records.len()) {
            let tickets: &mut [u32] = &mut bytemuck::cast_slice_mut(tickets)[..records.len()];
            sort_ranks(set, tickets, records, top);
            columns.gather(records, positions(tickets));
            return true;
        }
        let tickets = &mut tickets[..records.len()];
        sort_ranks(set, tickets, records, top);
        let is_told_apart = top == window || !tickets.windows(2).any(|pair| pair[0] >> bits == pair[1] >> bits);
        if is_told_apart {
            columns.gather(records, positions(tickets));
        }
        is_told_apart
    });
    if !is_told_apart {
        columns.gather(records, order(set, records, window).into_iter());
    }
}

/// Whether tickets of 32 bits have room for the ranks of `len` records by `window` and for their positions.
pub(crate) fn are_short(window: Window, len: usize) -> bool {
    window.width() + position_bits(len) <= u32::BITS
}

/// Sorts indices that count up, at most [`MAX`], stably by `window`. Their tickets are [short](are_short). No record is copied: a position tells an index.
pub(crate) fn argsort<W: Word>(set: Set, columns: &mut Indices<'_, W>, window: Window) {
    TICKETS.with_borrow_mut(|room| {
        let (tickets, _) = sorted(set, columns, window, room);
        columns.put(positions(tickets));
    });
}

/// Whether [`sort_pairs`] takes pairs with values of type `V`: tickets, which are [short](are_short), hold all of a key, and there is room for the values.
pub(crate) fn hold_keys<W: Word, V: Pod>(window: Window, len: usize) -> bool {
    let fits = len * (size_of::<u32>() + size_of::<V>()) <= MAX * size_of::<u64>() && align_of::<V>() <= align_of::<u32>();
    fits && are_short(window, len) && window.ones::<W>() == W::max_value()
}

/// Sorts pairs, stably by `window`, which is as [`hold_keys`] has it. Only values are copied: a ticket tells a key.
pub(crate) fn sort_pairs<W: Word, V: Pod + Send + Sync>(set: Set, pairs: &mut Pairs<'_, W, V>, window: Window) {
    TICKETS.with_borrow_mut(|room| {
        let (tickets, rest) = sorted(set, pairs, window, room);
        let values: &mut [V] = bytemuck::cast_slice_mut(&mut rest[..size_of_val(pairs.values)]);
        values.copy_from_slice(pairs.values);
        let bits = position_bits(tickets.len());
        for ((raw, value), (&ticket, at)) in
            pairs.keys.iter_mut().zip(pairs.values.iter_mut()).zip(tickets.iter().zip(positions(tickets)))
        {
            *raw = pairs.masks.invert(W::truncate((ticket >> bits).widen()));
            *value = values[at];
        }
    });
}

/// Makes the tickets of keys, which are [short](are_short), and sorts them. Returns them and the bytes of `room` that are left.
fn sorted<'r, K: Keyed>(set: Set, keys: &K, window: Window, room: &'r mut [u64]) -> (&'r [u32], &'r mut [u8]) {
    let room: &mut [u32] = bytemuck::cast_slice_mut(room);
    let (tickets, rest) = room.split_at_mut(keys.len());
    let mut made = 0;
    keys.read_keys(0..tickets.len(), &mut |keys| {
        make(tickets, made, keys.iter().copied(), window);
        made += keys.len();
    });
    sort(set, tickets);
    (tickets, bytemuck::cast_slice_mut(rest))
}

/// The bits of the positions of `len` records.
fn position_bits(len: usize) -> u32 {
    usize::BITS - len.saturating_sub(1).leading_zeros()
}

/// Makes tickets of the ranks of keys, the first of which is at position `first`. Rank and position fit in a `T`.
fn make<W: Word, T: Word>(tickets: &mut [T], first: usize, keys: impl Iterator<Item = W>, window: Window) {
    let (low, ones) = (window.low.min(W::BITS - 1) as usize, window.ones::<W>());
    let bits = position_bits(tickets.len()) as usize;
    for ((at, ticket), key) in tickets.iter_mut().enumerate().skip(first).zip(keys) {
        *ticket = T::truncate(((key & ones) >> low).widen()) << bits | T::truncate(at as u128);
    }
}

/// Sorts tickets.
fn sort<T: NetworkWord>(set: Set, tickets: &mut [T]) {
    took(Step::Tickets { len: tickets.len(), bits: T::BITS });
    T::sort(set, None, tickets, Map::identity(), Map::identity());
}

/// Makes the tickets of records, and sorts them.
fn sort_ranks<R: Record, T: NetworkWord>(set: Set, tickets: &mut [T], records: &[R], window: Window) {
    make(tickets, 0, records.iter().map(|record| record.key()), window);
    sort(set, tickets);
}

/// The positions in tickets.
fn positions<T: Word>(tickets: &[T]) -> impl ExactSizeIterator<Item = usize> + '_ {
    let ones = (T::one() << position_bits(tickets.len()) as usize) - T::one();
    tickets.iter().map(move |&ticket| (ticket & ones).index())
}

/// The positions of records in their stable order by `window`, however wide their ranks are.
fn order<R: Record>(set: Set, records: &[R], window: Window) -> Vec<usize> {
    let window = window.narrowed(varying(&records, Threads::ONE));
    let top = window.top(u64::BITS - position_bits(records.len()));
    let mut tickets = vec![0_u64; records.len()];
    sort_ranks(set, &mut tickets, records, top);
    let mut order: Vec<usize> = positions(&tickets).collect();
    if top == window {
        return order;
    }
    let ones = top.ones::<R::Key>();
    for tied in
        order.chunk_by_mut(|&a, &b| ((records[a].key() ^ records[b].key()) & ones).is_zero()).filter(|tied| tied.len() > 1)
    {
        let rest: Vec<R> = tied.iter().map(|&at| records[at]).collect();
        let sorted: Vec<usize> = self::order(set, &rest, window.below(top)).into_iter().map(|at| tied[at]).collect();
        tied.copy_from_slice(&sorted);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{numbered, pairs};
    use polysort_core::Masks;

    /// Sorts keys with their positions as values, by every set.
    fn check<W: Word>(keys: &[W], window: Window) {
        let records = numbered(keys);
        let ones = window.ones::<W>();
        let mut expected = Vec::from_iter(0..keys.len() as u32);
        expected.sort_by_key(|&at| keys[at as usize] & ones);
        for set in Set::all() {
            let (mut sorted, mut values) = (vec![W::zero(); keys.len()], vec![0_u32; keys.len()]);
            let mut columns = pairs(&mut sorted, &mut values, Masks::UNSIGNED);
            sort_into(set, &records, &mut columns, window);
            assert!(values == expected, "{} keys of {} bits, {window:?}, {}", keys.len(), W::BITS, set.name());
            assert!(sorted.iter().zip(&expected).all(|(&key, &at)| key == keys[at as usize]));
            if are_short(window, keys.len()) {
                let mut indices = Vec::from_iter(100..100 + keys.len() as u32);
                let all = [vec![W::zero(); 100], keys.to_vec()].concat();
                argsort(set, &mut Indices::new(&all, 100, &mut indices, Masks::UNSIGNED), window);
                assert!(indices.iter().zip(&expected).all(|(&index, &at)| index == 100 + at), "{window:?}, {}", set.name());
            }
            if hold_keys::<W, [u8; 4]>(window, keys.len()) {
                let masks = Masks::signed(W::BITS);
                let mut raw: Vec<W> = keys.iter().map(|&key| masks.invert(key)).collect();
                let mut values = Vec::from_iter(0..keys.len() as u32);
                sort_pairs(set, &mut pairs(&mut raw, &mut values, masks), window);
                assert!(values == expected, "{} keys of {} bits, {}", keys.len(), W::BITS, set.name());
                assert!(raw.iter().zip(&expected).all(|(&raw, &at)| masks.apply(raw) == keys[at as usize]));
            }
        }
    }

    /// Keys that differ in bits all over the word, in few, and in bits at both its ends.
    #[test]
    fn any_window_of_any_key() {
        let spread = |i: u32| u128::from(i.wrapping_mul(0x9e37_79b9)) * 0x1_0000_0001_0000_0001_0000_0001;
        for len in [1, 2, 3, 17, 64, 100, 500, 512, MAX as u32] {
            for (low, high) in [(0, 128), (0, 64), (3, 9), (60, 128), (127, 128), (5, 5)] {
                let window = Window { low, high };
                check::<u128>(&Vec::from_iter((0..len).map(spread)), window);
                check::<u128>(&Vec::from_iter((0..len).map(|i| spread(i % 7))), window);
                check::<u128>(&Vec::from_iter((0..len).map(|i| spread(i % 3) & 1 << 127 | spread(i) & 0xff)), window);
                check::<u128>(&Vec::from_iter((0..len).map(|i| 1 << (i % 128))), window);
            }
            for (low, high) in [(0, 64), (1, 64), (4, 12), (63, 64), (20, 60)] {
                check::<u64>(&Vec::from_iter((0..len).map(|i| spread(i) as u64)), Window { low, high });
                check::<u64>(&Vec::from_iter((0..len).map(|i| 1 << (i % 64))), Window { low, high });
            }
            check::<u16>(&Vec::from_iter((0..len).map(|i| spread(i) as u16)), Window { low: 0, high: 16 });
            check::<u16>(&Vec::from_iter((0..len).map(|i| 1 << (i % 16))), Window { low: 5, high: 16 });
            check::<u8>(&Vec::from_iter((0..len).map(|i| spread(i) as u8)), Window { low: 0, high: 8 });
            for (low, high) in [(0, 32), (4, 12), (31, 32)] {
                check::<u32>(&Vec::from_iter((0..len).map(|i| (spread(i) as u32 % 50) << 4)), Window { low, high });
            }
        }
    }
}
