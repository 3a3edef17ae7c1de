//! The caller's slices as records: read with keys mapped to ordered bits, written back in place.

use crate::ahead::is_far;
use crate::classify::{Bits, Classify};
use crate::equal::write_runs;
use crate::record::Pair;
use crate::scatter::{Both, nothing, place, place_each};
use crate::source::{BLOCK, Keyed, Read, Source};
use crate::threads::Threads;
use crate::tuning::{TASK, scan_ns};
use bytemuck::Pod;
use core::ops::Range;
use polysort_core::{Masks, Word};

/// The slices of one sort. They hold the input until [`write`](Columns::write) replaces it.
pub(crate) trait Columns: Source + Sized + Send {
    /// Replaces everything by `records`, keys mapped back.
    fn write(&mut self, records: &[Self::Record]);

    /// Replaces everything by the records at the positions of `order`, keys mapped back.
    fn gather(&mut self, records: &[Self::Record], order: impl ExactSizeIterator<Item = usize>);

    /// Replaces everything by `records`, keys mapped back, each at the next index of its digit, which `next` holds and which is then one more.
    fn scatter<const DIGITS: usize>(&mut self, records: &[Self::Record], digit: Bits, next: &mut [u32; DIGITS]);

    /// Copies each record to the next index of its digit in `target`, as [`place`](crate::scatter::place) does.
    fn place<const DIGITS: usize>(&self, digit: Bits, next: &mut [u32; DIGITS], target: &mut [Self::Record]) {
        place_all(self, digit, next, target);
    }

    /// Moves each record to the next index of its digit, as [`scatter`](Columns::scatter) does, by way of `scratch`, which is as long.
    fn sort_by_digit<const DIGITS: usize>(&mut self, digit: Bits, next: &mut [u32; DIGITS], scratch: &mut [Self::Record]) {
        scatter_from(scratch, self, digit, next);
    }

    /// Sorts everything stably by two digits, by way of `scratch`, which is as long. Each digit comes with the next index of each of its values, as in
    /// [`scatter`](Columns::scatter).
    fn sort_by_digits<const DIGITS: usize>(
        &mut self,
        (low, lows): (Bits, &mut [u32; DIGITS]),
        (high, highs): (Bits, &mut [u32; DIGITS]),
        scratch: &mut [Self::Record],
    ) {
        scatter_twice(scratch, self, (low, lows), (high, highs));
    }

    /// The first `mid` records and the rest.
    fn split_at(self, mid: usize) -> (Self, Self);

    /// All of it in pieces of `len` records, each to be written; the last may be shorter.
    fn pieces(&mut self, len: usize) -> impl Iterator<Item = impl Columns<Record = Self::Record, Key = Self::Key>>;

    /// Puts the records at `range` in the opposite order.
    fn reverse(&mut self, range: Range<usize>, threads: Threads);
}

/// Copies each record to the next index of its digit in `target`.
fn place_all<C: Columns, const DIGITS: usize>(columns: &C, digit: Bits, next: &mut [u32; DIGITS], target: &mut [C::Record]) {
    columns.read(0..columns.len(), &mut |records| place(records, digit, next, target));
}

/// Copies all records to `scratch`, and each from there to the next index of its digit.
fn scatter_from<C: Columns, const DIGITS: usize>(
    scratch: &mut [C::Record],
    columns: &mut C,
    digit: Bits,
    next: &mut [u32; DIGITS],
) {
    columns.copy_to(0, scratch);
    columns.scatter(scratch, digit, next);
}

/// [`Columns::sort_by_digits`] by way of records in `scratch`.
fn scatter_twice<C: Columns, const DIGITS: usize>(
    scratch: &mut [C::Record],
    columns: &mut C,
    (low, lows): (Bits, &mut [u32; DIGITS]),
    (high, highs): (Bits, &mut [u32; DIGITS]),
) {
    columns.place(low, lows, scratch);
    columns.scatter(scratch, high, highs);
}

/// The least number of pairs per digit value for which keys are written as runs.
///
/// Measured with values of `u32`, ns a pair by runs and key by key: Zen 3 2^10 2.0 and 1.6, 2^12 1.6 and 1.5, 2^14 1.6
/// and 1.7; Emerald Rapids 2^10 1.7 and 1.8, 2^12 1.4 and 1.7.
const PAIRS_OF_RUN: usize = 8;

/// Whether all keys of a digit are equal, so that they need not be moved one by one, and so many that this pays.
fn writes_runs<W: Word, const DIGITS: usize>(digit: Bits, len: usize) -> bool {
    digit.is_whole::<W>() && len >= PAIRS_OF_RUN * DIGITS
}

/// Overwrites the keys by those of each digit, up to its end.
fn write_digits<W: Word>(keys: &mut [W], masks: Masks, ends: &[u32]) {
    let mut start = 0;
    let run = |(ordered, &end): (usize, &u32)| {
        (masks.invert(W::truncate(ordered as u128)), (end - std::mem::replace(&mut start, end)) as usize)
    };
    write_runs(keys, ends.iter().enumerate().map(run));
}

/// Maps ordered bits back to raw keys. A scatter calls this after its loop: here the compiler makes vector code, in the loop of the scatter it cannot.
fn to_raw<W: Word>(keys: &mut [W], masks: Masks) {
    if !masks.is_identity::<W>() {
        keys.iter_mut().for_each(|key| *key = masks.invert(*key));
    }
}

/// Keys alone.
pub(crate) struct Keys<'a, W> {
    pub(crate) keys: &'a mut [W],
    pub(crate) masks: Masks,
}

impl<W: Word> Source for Keys<'_, W> {
    type Record = W;

    fn read(&self, range: Range<usize>, read: Read<'_, W>) {
        read_ordered(&self.keys[range], self.masks, read);
    }
}

impl<W: Word> Keyed for Keys<'_, W> {
    type Key = W;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn record_bytes(&self) -> usize {
        size_of::<W>()
    }

    fn key(&self, at: usize) -> W {
        self.masks.apply(self.keys[at])
    }

    fn read_keys(&self, range: Range<usize>, read: Read<'_, W>) {
        read_ordered(&self.keys[range], self.masks, read);
    }
}

impl<W: Word> Columns for Keys<'_, W> {
    fn write(&mut self, records: &[W]) {
        for (raw, &ordered) in self.keys.iter_mut().zip(records) {
            *raw = self.masks.invert(ordered);
        }
    }

    fn gather(&mut self, records: &[W], order: impl ExactSizeIterator<Item = usize>) {
        for (raw, at) in self.keys.iter_mut().zip(order) {
            *raw = self.masks.invert(records[at]);
        }
    }

    fn scatter<const DIGITS: usize>(&mut self, records: &[Self::Record], digit: Bits, next: &mut [u32; DIGITS]) {
        place(records, digit, next, self.keys);
        to_raw(self.keys, self.masks);
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (left, right) = self.keys.split_at_mut(mid);
        (Self { keys: left, ..self }, Self { keys: right, ..self })
    }

    fn pieces(&mut self, len: usize) -> impl Iterator<Item = impl Columns<Record = W, Key = W>> {
        let masks = self.masks;
        self.keys.chunks_mut(len).map(move |keys| Keys { keys, masks })
    }

    fn reverse(&mut self, range: Range<usize>, threads: Threads) {
        reverse(&mut self.keys[range], threads);
    }
}

/// Keys, and values that move with them.
pub(crate) struct Pairs<'a, W, V> {
    pub(crate) keys: &'a mut [W],
    pub(crate) values: &'a mut [V],
    pub(crate) masks: Masks,
}

impl<W: Word, V: Pod + Send + Sync> Source for Pairs<'_, W, V> {
    type Record = Pair<W, V>;

    fn read(&self, range: Range<usize>, read: Read<'_, Self::Record>) {
        read_pairs(&self.keys[range.clone()], &self.values[range], self.masks, read);
    }
}

impl<W: Word, V: Pod + Send + Sync> Keyed for Pairs<'_, W, V> {
    type Key = W;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn record_bytes(&self) -> usize {
        size_of::<Pair<W, V>>()
    }

    fn key(&self, at: usize) -> W {
        self.masks.apply(self.keys[at])
    }

    fn read_keys(&self, range: Range<usize>, read: Read<'_, W>) {
        read_ordered(&self.keys[range], self.masks, read);
    }
}

impl<W: Word, V: Pod + Send + Sync> Columns for Pairs<'_, W, V> {
    fn write(&mut self, records: &[Self::Record]) {
        for ((raw, value), record) in self.keys.iter_mut().zip(self.values.iter_mut()).zip(records) {
            *raw = self.masks.invert(record.key);
            *value = record.value;
        }
    }

    fn gather(&mut self, records: &[Self::Record], order: impl ExactSizeIterator<Item = usize>) {
        for ((raw, value), at) in self.keys.iter_mut().zip(self.values.iter_mut()).zip(order) {
            *raw = self.masks.invert(records[at].key);
            *value = records[at].value;
        }
    }

    fn scatter<const DIGITS: usize>(&mut self, records: &[Self::Record], digit: Bits, next: &mut [u32; DIGITS]) {
        if writes_runs::<W, DIGITS>(digit, records.len()) {
            place_each(
                records,
                nothing(records.len()),
                |_, record, ()| (record.key, record.value),
                digit,
                next,
                &mut *self.values,
            );
            return write_digits(self.keys, self.masks, &next[..digit.count()]);
        }
        let both = |_, record: Self::Record, ()| (record.key, (record.key, record.value));
        place_each(records, nothing(records.len()), both, digit, next, Both(self.keys, self.values));
        to_raw(self.keys, self.masks);
    }

    fn place<const DIGITS: usize>(&self, digit: Bits, next: &mut [u32; DIGITS], target: &mut [Self::Record]) {
        read_numbered(self.keys, self.masks, &mut |at, keys| {
            place_each(keys, &self.values[at], |_, key, value| (key, Pair { key, value }), digit, next, &mut *target);
        });
    }

    fn sort_by_digit<const DIGITS: usize>(&mut self, digit: Bits, next: &mut [u32; DIGITS], scratch: &mut [Self::Record]) {
        // Values of operations are arrays of bytes, which any memory holds, so they are behind the keys.
        let (keys, values) = bytemuck::cast_slice_mut(scratch).split_at_mut(size_of_val(self.keys));
        let (Ok(values), Ok(keys)) = (bytemuck::try_cast_slice_mut::<u8, V>(values), bytemuck::try_cast_slice_mut::<u8, W>(keys))
        else {
            return scatter_from(scratch, self, digit, next);
        };
        values.copy_from_slice(self.values);
        if writes_runs::<W, DIGITS>(digit, keys.len()) {
            // The keys stay where they are until all values have moved.
            read_numbered(self.keys, self.masks, &mut |at, keys| {
                place_each(keys, &values[at], |_, key, value| (key, value), digit, next, &mut *self.values);
            });
            return write_digits(self.keys, self.masks, &next[..digit.count()]);
        }
        keys.copy_from_slice(self.keys);
        read_numbered(keys, self.masks, &mut |at, keys| {
            place_each(keys, &values[at], |_, key, value| (key, (key, value)), digit, next, Both(self.keys, self.values));
        });
        to_raw(self.keys, self.masks);
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (keys, values) = (self.keys.split_at_mut(mid), self.values.split_at_mut(mid));
        (Self { keys: keys.0, values: values.0, ..self }, Self { keys: keys.1, values: values.1, ..self })
    }

    fn pieces(&mut self, len: usize) -> impl Iterator<Item = impl Columns<Record = Self::Record, Key = Self::Key>> {
        let masks = self.masks;
        self.keys.chunks_mut(len).zip(self.values.chunks_mut(len)).map(move |(keys, values)| Pairs { keys, values, masks })
    }

    fn reverse(&mut self, range: Range<usize>, threads: Threads) {
        reverse(&mut self.keys[range.clone()], threads);
        reverse(&mut self.values[range], threads);
    }
}

/// Puts a slice in the opposite order.
fn reverse<T: Send>(slice: &mut [T], threads: Threads) {
    let threads = threads.at_most(scan_ns(size_of_val(slice)));
    if threads.is_one() {
        return slice.reverse();
    }
    // A record in the middle has no partner and stays.
    let (head, tail) = slice.split_at_mut(slice.len() / 2);
    let pairs = head.chunks_mut(TASK).zip(tail.rchunks_mut(TASK)).collect();
    threads.for_each(pairs, &|| (), &|(), (head, tail): (&mut [T], &mut [T])| {
        head.iter_mut().zip(tail.iter_mut().rev()).for_each(|(a, b)| core::mem::swap(a, b));
    });
}

/// Hands the ordered bits of raw keys to `read`, some at a time.
pub(crate) fn read_ordered<W: Word>(keys: &[W], masks: Masks, read: Read<'_, W>) {
    if masks.is_identity::<W>() {
        return read(keys);
    }
    let mut ordered = [W::zero(); BLOCK];
    for keys in keys.chunks(BLOCK) {
        for (ordered, &raw) in ordered.iter_mut().zip(keys) {
            *ordered = masks.apply(raw);
        }
        read(&ordered[..keys.len()]);
    }
}

/// As [`read_ordered`], with the positions of the keys.
fn read_numbered<W: Word>(keys: &[W], masks: Masks, read: &mut dyn FnMut(Range<usize>, &[W])) {
    let mut start = 0;
    read_ordered(keys, masks, &mut |keys| {
        read(start..start + keys.len(), keys);
        start += keys.len();
    });
}

/// Hands pairs of a raw key and a value to `read`, some at a time.
pub(crate) fn read_pairs<W: Word, V: Pod>(keys: &[W], values: &[V], masks: Masks, read: Read<'_, Pair<W, V>>) {
    let mut pairs = [Pair { key: W::zero(), value: V::zeroed() }; BLOCK];
    for (keys, values) in keys.chunks(BLOCK).zip(values.chunks(BLOCK)) {
        for (pair, (&raw, &value)) in pairs.iter_mut().zip(keys.iter().zip(values)) {
            *pair = Pair { key: masks.apply(raw), value };
        }
        read(&pairs[..keys.len()]);
    }
}

/// Keys that stay, and indices that are put in their order.
pub(crate) struct Indices<'a, W> {
    /// All keys that indices may name.
    keys: &'a [W],
    /// The index that `indices` begins with, if it counts up from there; else each key is looked up.
    first: Option<usize>,
    indices: &'a mut [u32],
    masks: Masks,
}

impl<'a, W: Word> Indices<'a, W> {
    /// `indices`, which count up from `first`, each less than there are `keys`.
    pub(crate) fn new(keys: &'a [W], first: usize, indices: &'a mut [u32], masks: Masks) -> Self {
        Self { keys, first: Some(first), indices, masks }
    }

    /// Whether the indices count up.
    pub(crate) fn count_up(&self) -> bool {
        self.first.is_some()
    }

    /// Puts indices that count up in the order of their positions in `order`. None of them is read.
    pub(crate) fn put(&mut self, order: impl ExactSizeIterator<Item = usize>) {
        let first = self.first.take().expect("indices that count up");
        self.indices.iter_mut().zip(order).for_each(|(index, at)| *index = (first + at) as u32);
    }
}

impl<W: Word> Source for Indices<'_, W> {
    /// The bytes of an index are the value, as those of a caller's value of 4 bytes are: both kinds of records are one type.
    type Record = Pair<W, [u8; 4]>;

    fn read(&self, range: Range<usize>, read: Read<'_, Self::Record>) {
        let indices = &self.indices[range.clone()];
        if let Some(first) = self.first {
            return read_pairs(
                &self.keys[first + range.start..first + range.end],
                bytemuck::cast_slice(indices),
                self.masks,
                read,
            );
        }
        let mut pairs = [Pair { key: W::zero(), value: [0; 4] }; BLOCK];
        for indices in indices.chunks(BLOCK) {
            for (pair, &index) in pairs.iter_mut().zip(indices) {
                *pair = Pair { key: self.masks.apply(self.keys[index as usize]), value: index.to_ne_bytes() };
            }
            read(&pairs[..indices.len()]);
        }
    }
}

impl<W: Word> Keyed for Indices<'_, W> {
    type Key = W;

    fn len(&self) -> usize {
        self.indices.len()
    }

    fn record_bytes(&self) -> usize {
        size_of::<<Self as Source>::Record>()
    }

    fn key(&self, at: usize) -> W {
        let index = self.first.map_or_else(|| self.indices[at] as usize, |first| first + at);
        self.masks.apply(self.keys[index])
    }

    fn read_keys(&self, range: Range<usize>, read: Read<'_, W>) {
        if let Some(first) = self.first {
            return read_ordered(&self.keys[first + range.start..first + range.end], self.masks, read);
        }
        let mut ordered = [W::zero(); BLOCK];
        for indices in self.indices[range].chunks(BLOCK) {
            for (ordered, &index) in ordered.iter_mut().zip(indices) {
                *ordered = self.masks.apply(self.keys[index as usize]);
            }
            read(&ordered[..indices.len()]);
        }
    }
}

impl<W: Word> Columns for Indices<'_, W> {
    fn write(&mut self, records: &[Self::Record]) {
        self.first = None;
        for (index, record) in self.indices.iter_mut().zip(records) {
            *index = u32::from_ne_bytes(record.value);
        }
    }

    fn gather(&mut self, records: &[Self::Record], order: impl ExactSizeIterator<Item = usize>) {
        self.first = None;
        for (index, at) in self.indices.iter_mut().zip(order) {
            *index = u32::from_ne_bytes(records[at].value);
        }
    }

    fn scatter<const DIGITS: usize>(&mut self, records: &[Self::Record], digit: Bits, next: &mut [u32; DIGITS]) {
        self.first = None;
        let index = |_, record: Self::Record, ()| (record.key, u32::from_ne_bytes(record.value));
        place_each(records, nothing(records.len()), index, digit, next, &mut *self.indices);
    }

    fn place<const DIGITS: usize>(&self, digit: Bits, next: &mut [u32; DIGITS], target: &mut [Self::Record]) {
        match self.first {
            Some(first) => {
                let keys = &self.keys[first..first + self.indices.len()];
                read_numbered(keys, self.masks, &mut |at, keys| {
                    let start = first + at.start;
                    let pair = |at, key, ()| (key, Pair { key, value: ((start + at) as u32).to_ne_bytes() });
                    place_each(keys, nothing(keys.len()), pair, digit, next, &mut *target);
                });
            }
            None => place_all(self, digit, next, target),
        }
    }

    fn sort_by_digit<const DIGITS: usize>(&mut self, digit: Bits, next: &mut [u32; DIGITS], scratch: &mut [Self::Record]) {
        let Some(first) = self.first.take() else { return scatter_from(scratch, self, digit, next) };
        // Keys stay, and indices count up, so neither is read from where it is written.
        let keys = &self.keys[first..first + self.indices.len()];
        read_numbered(keys, self.masks, &mut |at, keys| {
            let start = first + at.start;
            place_each(keys, nothing(keys.len()), |at, key, ()| (key, (start + at) as u32), digit, next, &mut *self.indices);
        });
    }

    fn sort_by_digits<const DIGITS: usize>(
        &mut self,
        (low, lows): (Bits, &mut [u32; DIGITS]),
        (high, highs): (Bits, &mut [u32; DIGITS]),
        scratch: &mut [Self::Record],
    ) {
        let len = self.indices.len();
        let position_bits = u32::BITS - DIGITS.ilog2();
        let bytes = &mut bytemuck::cast_slice_mut(scratch)[..size_of_val(self.indices)];
        // If memory is far, a record is a word of the high digit and the position: it takes less memory than a key and an index.
        let fits = len <= 1 << position_bits && is_far(bytes.len());
        let (Some(first), Ok(words)) = (self.first.filter(|_| fits), bytemuck::try_cast_slice_mut::<u8, u32>(bytes)) else {
            return scatter_twice(scratch, self, (low, lows), (high, highs));
        };
        read_numbered(&self.keys[first..first + len], self.masks, &mut |at, keys| {
            let word = |position, key, ()| (key, (high.class(key) as u32) << position_bits | (at.start + position) as u32);
            place_each(keys, nothing(keys.len()), word, low, lows, &mut *words);
        });
        self.first = None;
        let index = move |_, word, ()| (word, first as u32 + (word & ((1 << position_bits) - 1)));
        let digit = Bits { shift: position_bits, mask: high.mask };
        place_each(words, nothing(words.len()), index, digit, highs, &mut *self.indices);
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (left, right) = self.indices.split_at_mut(mid);
        (Self { indices: left, ..self }, Self { first: self.first.map(|first| first + mid), indices: right, ..self })
    }

    fn pieces(&mut self, len: usize) -> impl Iterator<Item = impl Columns<Record = Self::Record, Key = Self::Key>> {
        self.first = None;
        let (keys, masks) = (self.keys, self.masks);
        self.indices.chunks_mut(len).map(move |indices| Indices { keys, first: None, indices, masks })
    }

    fn reverse(&mut self, range: Range<usize>, threads: Threads) {
        reverse(&mut self.indices[range], threads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_keys_are_written_if_a_digit_is_all_of_the_key_and_keys_are_many() {
        let (whole, part) = (Bits { shift: 0, mask: 255 }, Bits { shift: 1, mask: 127 });
        assert!(writes_runs::<u8, 256>(whole, 2048) && !writes_runs::<u8, 256>(whole, 2047));
        assert!(!writes_runs::<u8, 256>(part, 2048) && !writes_runs::<u16, 256>(whole, 2048));
        let mut keys = [0_u8; 6];
        write_digits(&mut keys, Masks::signed(8), &[0, 2, 2, 6]);
        assert_eq!(keys.map(u8::cast_signed), [-127, -127, -125, -125, -125, -125]);
    }

    #[test]
    fn several_threads_reverse_a_slice_of_any_length() {
        let threads = Threads::several(3);
        for len in [0, 1, 2, 3, 4 * TASK, 4 * TASK + 1, 5 * TASK - 1, 200_000] {
            let mut slice = Vec::from_iter(0..len as u64);
            reverse(&mut slice, threads);
            assert!(slice.into_iter().eq((0..len as u64).rev()), "{len}");
        }
    }
}
