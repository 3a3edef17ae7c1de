//! The caller's slices as records: read with keys mapped to ordered bits, written back in place.

use crate::record::{Pair, Record};
use crate::small;
use crate::sort::threads_for;
use crate::tuning::{SMALL, TASK};
use crate::window::Window;
use bytemuck::{Pod, Zeroable};
use core::ops::Range;
use polysort_core::{Masks, Word};
use rayon::prelude::*;

/// Records that are mapped at a time: enough for vector code, few enough for the L1.
const BLOCK: usize = 128;

/// The key of a source's records.
pub(crate) type Key<S> = <<S as Source>::Record as Record>::Key;

/// Records to read, the same at every reading.
pub(crate) trait Source: Sync {
    type Record: Record;

    fn len(&self) -> usize;

    /// Hands the records at `range`, keys mapped to ordered bits, to `read`, some at a time and in order.
    fn read(&self, range: Range<usize>, read: impl FnMut(&[Self::Record]));

    /// As [`read`](Source::read), the keys alone.
    fn read_keys(&self, range: Range<usize>, read: impl FnMut(&[Key<Self>]));

    /// The first record. There is one.
    fn first(&self) -> Self::Record {
        let mut first = Self::Record::zeroed();
        self.read(0..1, |records| first = records[0]);
        first
    }

    /// Copies the records from `start` on to `target`, as many as it takes.
    fn copy_to(&self, start: usize, target: &mut [Self::Record]) {
        let range = start..start + target.len();
        let mut rest = target;
        self.read(range, |records| {
            let (place, others) = std::mem::take(&mut rest).split_at_mut(records.len());
            place.copy_from_slice(records);
            rest = others;
        });
    }
}

impl<R: Record> Source for [R] {
    type Record = R;

    fn len(&self) -> usize {
        self.len()
    }

    fn read(&self, range: Range<usize>, mut read: impl FnMut(&[R])) {
        read(&self[range]);
    }

    fn read_keys(&self, range: Range<usize>, mut read: impl FnMut(&[R::Key])) {
        let mut keys = [R::Key::zeroed(); BLOCK];
        for records in self[range].chunks(BLOCK) {
            for (key, record) in keys.iter_mut().zip(records) {
                *key = record.key();
            }
            read(&keys[..records.len()]);
        }
    }
}

/// The slices of one sort. They hold the input until [`write`](Columns::write) replaces it.
pub(crate) trait Columns: Source + Sized + Send {
    /// Replaces everything by `records`, keys mapped back.
    fn write(&mut self, records: &[Self::Record]);

    /// The first `mid` records and the rest.
    fn split_at(self, mid: usize) -> (Self, Self);

    /// Puts the records at `range` in the opposite order.
    fn reverse(&mut self, range: Range<usize>);

    /// Sorts as [`small::sort`] does.
    fn sort_small(&mut self, window: Window, whole: bool) {
        let mut records = [Self::Record::zeroed(); SMALL];
        let records = &mut records[..self.len()];
        self.copy_to(0, records);
        small::sort(records, window, whole);
        self.write(records);
    }
}

/// Keys alone.
pub(crate) struct Keys<'a, W> {
    pub(crate) keys: &'a mut [W],
    pub(crate) masks: Masks,
}

impl<W: Word> Source for Keys<'_, W> {
    type Record = W;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn read(&self, range: Range<usize>, read: impl FnMut(&[W])) {
        read_ordered(&self.keys[range], self.masks, read);
    }

    fn read_keys(&self, range: Range<usize>, read: impl FnMut(&[W])) {
        read_ordered(&self.keys[range], self.masks, read);
    }
}

impl<W: Word> Columns for Keys<'_, W> {
    fn write(&mut self, records: &[W]) {
        for (raw, &ordered) in self.keys.iter_mut().zip(records) {
            *raw = self.masks.invert(ordered);
        }
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (left, right) = self.keys.split_at_mut(mid);
        (Self { keys: left, ..self }, Self { keys: right, ..self })
    }

    fn reverse(&mut self, range: Range<usize>) {
        reverse(&mut self.keys[range]);
    }

    /// In place, without a copy: it shows at a few dozen keys.
    fn sort_small(&mut self, window: Window, whole: bool) {
        if whole && self.masks == Masks::UNSIGNED.reversed(W::BITS) {
            small::sort(self.keys, window, whole);
            return self.keys.reverse();
        }
        let mapped = !self.masks.is_identity::<W>();
        if mapped {
            self.keys.iter_mut().for_each(|key| *key = self.masks.apply(*key));
        }
        small::sort(self.keys, window, whole);
        if mapped {
            self.keys.iter_mut().for_each(|key| *key = self.masks.invert(*key));
        }
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

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn read(&self, range: Range<usize>, read: impl FnMut(&[Self::Record])) {
        read_pairs(&self.keys[range.clone()], &self.values[range], self.masks, read);
    }

    fn read_keys(&self, range: Range<usize>, read: impl FnMut(&[W])) {
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

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (keys, values) = (self.keys.split_at_mut(mid), self.values.split_at_mut(mid));
        (Self { keys: keys.0, values: values.0, ..self }, Self { keys: keys.1, values: values.1, ..self })
    }

    fn reverse(&mut self, range: Range<usize>) {
        reverse(&mut self.keys[range.clone()]);
        reverse(&mut self.values[range]);
    }
}

/// Puts a slice in the opposite order, on all threads if it is long.
fn reverse<T: Send>(slice: &mut [T]) {
    if threads_for(size_of_val(slice)) == 1 {
        return slice.reverse();
    }
    // A key in the middle has no partner and stays.
    let (head, tail) = slice.split_at_mut(slice.len() / 2);
    head.par_chunks_mut(TASK).zip(tail.par_rchunks_mut(TASK)).for_each(|(head, tail)| {
        head.iter_mut().zip(tail.iter_mut().rev()).for_each(|(a, b)| core::mem::swap(a, b));
    });
}

/// Hands the ordered bits of raw keys to `read`, some at a time.
fn read_ordered<W: Word>(keys: &[W], masks: Masks, mut read: impl FnMut(&[W])) {
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

/// Hands pairs of a raw key and a value to `read`, some at a time.
fn read_pairs<W: Word, V: Pod>(keys: &[W], values: &[V], masks: Masks, mut read: impl FnMut(&[Pair<W, V>])) {
    let mut pairs = [Pair { key: W::zero(), value: V::zeroed() }; BLOCK];
    for (keys, values) in keys.chunks(BLOCK).zip(values.chunks(BLOCK)) {
        for (pair, (&raw, &value)) in pairs.iter_mut().zip(keys.iter().zip(values)) {
            *pair = Pair { key: masks.apply(raw), value };
        }
        read(&pairs[..keys.len()]);
    }
}

/// Keys that stay, and the indices of their sorted order: `indices` holds `0..len` to begin with.
pub(crate) struct Indices<'a, W> {
    pub(crate) keys: &'a [W],
    pub(crate) indices: &'a mut [u32],
    pub(crate) masks: Masks,
}

impl<W: Word> Source for Indices<'_, W> {
    type Record = Pair<W, u32>;

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn read(&self, range: Range<usize>, read: impl FnMut(&[Self::Record])) {
        read_pairs(&self.keys[range.clone()], &self.indices[range], self.masks, read);
    }

    fn read_keys(&self, range: Range<usize>, read: impl FnMut(&[W])) {
        read_ordered(&self.keys[range], self.masks, read);
    }
}

impl<W: Word> Columns for Indices<'_, W> {
    fn write(&mut self, records: &[Self::Record]) {
        for (index, record) in self.indices.iter_mut().zip(records) {
            *index = record.value;
        }
    }

    fn split_at(self, mid: usize) -> (Self, Self) {
        let (keys, indices) = (self.keys.split_at(mid), self.indices.split_at_mut(mid));
        (Self { keys: keys.0, indices: indices.0, ..self }, Self { keys: keys.1, indices: indices.1, ..self })
    }

    fn reverse(&mut self, range: Range<usize>) {
        reverse(&mut self.indices[range]);
    }
}
