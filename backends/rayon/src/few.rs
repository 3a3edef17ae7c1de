//! The sort of so few records that networks take them at once: their keys where no one can tell a stable sort from another, else tickets.

use crate::columns::{Columns, Indices, Keys, Pairs};
use crate::quicksort;
use crate::scratch::on_stack;
use crate::simd::{self, Map, NetworkWord, Set};
use crate::source::Keyed;
use crate::threads::Threads;
use crate::tickets;
use crate::trace::{Step, took};
use crate::tuning::{FEW_ROWS, MOST_BYTES, ROWS_OF_BYTES, ROWS_OF_PAIRED_BYTES, few_keys, few_tickets, short_tickets};
use crate::window::Window;
use bytemuck::Pod;
use polysort_core::{Masks, Word};

/// The widest registers hold 16 tickets of 32 bits.
const _: () = assert!(FEW_ROWS * 16 <= tickets::MAX);

/// How a few records are sorted.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    pub(crate) set: Set,
    /// Whether records that are equal in the window are equal altogether, so that no one can tell a stable sort from another.
    pub(crate) whole: bool,
}

/// Slices that networks sort if they are short.
pub(crate) trait SortFew: Columns {
    /// Whether [`sort_few`](SortFew::sort_few) and [`finish`](SortFew::finish) sort tickets rather than keys.
    fn has_tickets(_: Network) -> bool {
        true
    }

    /// The most records of a bucket that [`finish`](SortFew::finish) sorts. Callers of [`sort_few`](SortFew::sort_few) pass more records only where a network is the fastest
    /// sort.
    fn few(network: Network) -> usize {
        few_tickets(network.set)
    }

    /// The most records that tickets of 32 bits sort faster than anything else, if they [suit](SortFew::has_short_tickets).
    fn most_short_tickets(_: Network, _: Window) -> usize {
        0
    }

    /// Whether [`sort_few`](SortFew::sort_few) sorts tickets of 32 bits that tell the whole record, so that no record is copied.
    fn has_short_tickets(&self, _: Window) -> bool {
        false
    }

    /// Sorts everything, stably by `window`.
    fn sort_few(&mut self, network: Network, window: Window) {
        sort_by_tickets(self, network.set, window);
    }

    /// Whether [`quicksort`](SortFew::quicksort) is the fastest sort of `len` records. It is not stable.
    fn suits_quicksort(_: Network, _len: usize) -> bool {
        false
    }

    /// Sorts everything by quicksort. If there are `records`, everything is replaced by them in order, keys mapped back; the contents of
    /// `records` are arbitrary afterwards.
    ///
    /// # Panics
    /// If quicksort does not suit these records.
    fn quicksort(&mut self, _: Network, _records: Option<&mut [Self::Record]>) {
        unreachable!("quicksort is for keys alone");
    }

    /// Replaces everything by `records` in their stable order by `window`, keys mapped back.
    fn finish(&mut self, network: Network, records: &[Self::Record], window: Window) {
        tickets::sort_into(network.set, records, self, window);
    }
}

impl<W: Word> SortFew for Keys<'_, W> {
    fn has_tickets(network: Network) -> bool {
        !sorts_words::<W>(network)
    }

    fn few(network: Network) -> usize {
        if sorts_words::<W>(network) { few_keys(network.set, W::BITS) } else { few_tickets(network.set) }
    }

    fn sort_few(&mut self, network: Network, window: Window) {
        match sorts_words::<W>(network) {
            true => sort_words(network.set, None, self.keys, self.masks),
            false => sort_by_tickets(self, network.set, window),
        }
    }

    fn suits_quicksort(network: Network, len: usize) -> bool {
        network.whole && quicksort::suits::<W>(network.set, len)
    }

    fn quicksort(&mut self, network: Network, records: Option<&mut [W]>) {
        assert!(Self::suits_quicksort(network, self.keys.len()), "quicksort of {} keys", self.keys.len());
        quicksort::sort(network.set, self.keys, records, self.masks, Threads::ONE);
    }

    fn finish(&mut self, network: Network, records: &[W], window: Window) {
        match sorts_words::<W>(network) {
            true => sort_words(network.set, Some(records), self.keys, self.masks),
            false => tickets::sort_into(network.set, records, self, window),
        }
    }
}

impl<W: Word, V: Pod + Send + Sync> SortFew for Pairs<'_, W, V> {
    fn most_short_tickets(network: Network, window: Window) -> usize {
        short_tickets(network.set, window.width(), ROWS_OF_PAIRED_BYTES)
    }

    fn has_short_tickets(&self, window: Window) -> bool {
        tickets::hold_keys::<W, V>(window, self.keys.len())
    }

    fn sort_few(&mut self, network: Network, window: Window) {
        match self.has_short_tickets(window) {
            true => tickets::sort_pairs(network.set, self, window),
            false => sort_by_tickets(self, network.set, window),
        }
    }
}

impl<W: Word> SortFew for Indices<'_, W> {
    fn most_short_tickets(network: Network, window: Window) -> usize {
        short_tickets(network.set, window.width(), ROWS_OF_BYTES)
    }

    fn has_short_tickets(&self, window: Window) -> bool {
        self.count_up() && tickets::are_short(window, self.len())
    }

    fn sort_few(&mut self, network: Network, window: Window) {
        match self.has_short_tickets(window) {
            true => tickets::argsort(network.set, self, window),
            false => sort_by_tickets(self, network.set, window),
        }
    }
}

/// [`SortFew::sort_few`] by way of a copy.
fn sort_by_tickets<C: Columns>(columns: &mut C, set: Set, window: Window) {
    on_stack(columns.len(), &mut |records| {
        columns.copy_to(0, records);
        tickets::sort_into(set, records, columns, window);
    });
}

/// Whether networks sort the words themselves: those of 8 bits by way of 16.
fn sorts_words<W: Word>(network: Network) -> bool {
    network.whole && W::BITS <= 64
}

/// Sorts the ordered words `from`, or if there are none the raw ones in `keys`, into `keys`.
fn sort_words<W: Word>(set: Set, from: Option<&[W]>, keys: &mut [W], masks: Masks) {
    took(Step::Network(keys.len()));
    match W::BITS {
        8 => sort_bytes(set, from.map(bytemuck::cast_slice), bytemuck::cast_slice_mut(keys), masks),
        _ => simd::sort_words(set, from, keys, masks),
    }
}

/// Sorts bytes as words of 16 bits, of which registers hold half as many, but which they can sort.
fn sort_bytes(set: Set, from: Option<&[u8]>, keys: &mut [u8], masks: Masks) {
    let mut words = [0_u16; MOST_BYTES];
    let words = &mut words[..keys.len()];
    match from {
        Some(from) => words.iter_mut().zip(from).for_each(|(word, &ordered)| *word = ordered.into()),
        None => words.iter_mut().zip(&*keys).for_each(|(word, &raw)| *word = masks.apply(raw).into()),
    }
    u16::sort(set, None, words, Map::identity(), Map::identity());
    keys.iter_mut().zip(words).for_each(|(key, &mut word)| *key = masks.invert(word as u8));
}
