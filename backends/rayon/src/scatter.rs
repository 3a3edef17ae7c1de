//! Counting records by a digit, and moving them to where its counts say, stably.
//!
//! A thread that has the source to itself needs a counter for each digit. Several threads take a chunk of the source each: all chunks
//! are counted first, and then each knows which places of each bucket are its own:
//!
//! ```text
//!               bucket 0            bucket 1                  bucket 2
//! target  | chunk 0 | chunk 1 | chunk 0 | chunk 1 |    …    | chunk 0 | chunk 1 |
//! ```
//!
//! A scatter that fits in the cache writes each record where it goes. A larger one fills a block of lines for each bucket and writes full
//! blocks past the cache: otherwise each line that is written is first read, and a page is touched for each record.
//! (Software write-combining: Satish et al., "Fast Sort on CPUs and GPUs", SIGMOD 2010.)

use crate::ahead::{ask_behind, is_far};
use crate::classify::Classify;
use crate::record::Record;
use crate::scratch::Scratch;
use crate::source::{Key, Source};
use crate::stream::stream;
use crate::tuning::{COUNTED_BITS, FAR_PASS_BITS};
use core::ops::Range;
use polysort_core::Word;

/// The most digits that are counted.
pub(crate) const MAX_DIGITS: usize = 1 << 12;

const _: () = assert!(FAR_PASS_BITS < MAX_DIGITS.ilog2() && COUNTED_BITS < MAX_DIGITS.ilog2());

/// Items that a loop takes at a time, written out. Measured on Zen 3, two passes over 2^12 pairs of `u16`: 3.0 ns a pair, one by one 3.2.
const UNROLLED: usize = 4;

/// A counter for each digit.
pub(crate) type Counters = [u32; MAX_DIGITS];

/// Bytes of a block that is written past the cache at once. Measured: 4 lines are 1.1 to 1.4 × as fast as 2, and 1.5 to 1.9 × as 1.
const BLOCK_BYTES: usize = 256;

/// Adds to `counts` how often each digit comes among fewer than 2³² keys. Digits are less than `DIGITS`, a power of two.
pub(crate) fn count<W: Copy, const DIGITS: usize>(keys: &[W], class: impl Classify<W>, counts: &mut [u32; DIGITS]) {
    const { assert!(DIGITS.is_power_of_two()) }
    // The mask changes nothing, but shows that the index is in bounds.
    let mut count = |key: W| counts[class.class(key) & (DIGITS - 1)] += 1;
    // From four places in turn: neighbors often have the same digit, and an addition to a counter waits for the one before.
    let (quarters, rest) = keys.split_at(keys.len() / 4 * 4);
    let (left, right) = quarters.split_at(quarters.len() / 2);
    let ((a, b), (c, d)) = (left.split_at(left.len() / 2), right.split_at(right.len() / 2));
    for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
        count(a);
        count(b);
        count(c);
        count(d);
    }
    rest.iter().for_each(|&key| count(key));
}

/// Turns counts into their exclusive sums: how many records have a smaller digit.
pub(crate) fn to_starts(counters: &mut [u32]) {
    let mut sum = 0;
    for counter in counters {
        sum += std::mem::replace(counter, sum);
    }
}

/// What a scatter writes.
pub(crate) trait Target {
    type Item;

    /// The bytes of all items.
    fn bytes(&self) -> usize;

    /// Returns the target with all slices cut to the length of the first, so that one check of bounds serves them all.
    fn trimmed(self) -> Self;

    fn put(&mut self, at: usize, item: Self::Item);

    /// As [`ask_behind`] for a slice.
    fn ask_behind(&self, at: usize);
}

impl<T> Target for &mut [T] {
    type Item = T;

    fn bytes(&self) -> usize {
        size_of_val::<[T]>(*self)
    }

    #[inline(always)]
    fn trimmed(self) -> Self {
        self
    }

    #[inline(always)]
    fn put(&mut self, at: usize, item: T) {
        self[at] = item;
    }

    #[inline(always)]
    fn ask_behind(&self, at: usize) {
        ask_behind(self, at);
    }
}

/// Two slices of the same length.
pub(crate) struct Both<'a, A, B>(pub(crate) &'a mut [A], pub(crate) &'a mut [B]);

impl<A, B> Target for Both<'_, A, B> {
    type Item = (A, B);

    fn bytes(&self) -> usize {
        size_of_val(self.0) + size_of_val(self.1)
    }

    #[inline(always)]
    fn trimmed(self) -> Self {
        let len = self.0.len();
        Self(self.0, &mut self.1[..len])
    }

    #[inline(always)]
    fn put(&mut self, at: usize, (first, second): (A, B)) {
        self.0[at] = first;
        self.1[at] = second;
    }

    #[inline(always)]
    fn ask_behind(&self, at: usize) {
        ask_behind(self.0, at);
        ask_behind(self.1, at);
    }
}

/// Copies each record to the next index of its digit in `target`, which `next` holds and which is then one more.
pub(crate) fn place<R: Record, const DIGITS: usize>(
    records: &[R],
    class: impl Classify<R::Key>,
    next: &mut [u32; DIGITS],
    target: &mut [R],
) {
    place_each(records, nothing(records.len()), |_, record, ()| (record.key(), record), class, next, target);
}

/// Returns `len` units, for calls of [`place_each`] that have no second slice. A unit has no size, so the array takes no memory.
pub(crate) fn nothing(len: usize) -> &'static [()] {
    &[(); usize::MAX][..len]
}

/// Writes one item for each position of `left` and `right`, which have the same length, to the next index of its digit in `target`. `item` gets the position and both
/// elements, and returns a key and the item. (A function, so that its slices are known not to overlap.)
pub(crate) fn place_each<A: Copy, B: Copy, K: Word, T: Target, const DIGITS: usize>(
    left: &[A],
    right: &[B],
    item: impl Fn(usize, A, B) -> (K, T::Item),
    class: impl Classify<K>,
    next: &mut [u32; DIGITS],
    target: T,
) {
    debug_assert_eq!(left.len(), right.len());
    match is_far(target.bytes()) {
        true => place_by::<_, _, _, _, DIGITS, true>(left, right, item, class, next, target),
        false => place_by::<_, _, _, _, DIGITS, false>(left, right, item, class, next, target),
    }
}

/// As [`place_each`], for targets of one kind: `FAR` as in [`is_far`].
fn place_by<A: Copy, B: Copy, K: Word, T: Target, const DIGITS: usize, const FAR: bool>(
    left: &[A],
    right: &[B],
    item: impl Fn(usize, A, B) -> (K, T::Item),
    class: impl Classify<K>,
    next: &mut [u32; DIGITS],
    target: T,
) {
    let mut target = target.trimmed();
    let ((lefts, last_left), (rights, last_right)) = (left.as_chunks::<UNROLLED>(), right.as_chunks::<UNROLLED>());
    let mut at = 0;
    for (lefts, rights) in lefts.iter().zip(rights) {
        for (&left, &right) in lefts.iter().zip(rights) {
            place_one::<_, _, DIGITS, FAR>(item(at, left, right), class, next, &mut target);
            at += 1;
        }
    }
    for (&left, &right) in last_left.iter().zip(last_right) {
        place_one::<_, _, DIGITS, FAR>(item(at, left, right), class, next, &mut target);
        at += 1;
    }
}

#[inline(always)]
fn place_one<K: Word, T: Target, const DIGITS: usize, const FAR: bool>(
    (key, item): (K, T::Item),
    class: impl Classify<K>,
    next: &mut [u32; DIGITS],
    target: &mut T,
) {
    const { assert!(DIGITS.is_power_of_two()) }
    // The mask changes nothing, but shows that the index is in bounds.
    let next = &mut next[class.class(key) & (DIGITS - 1)];
    let at = *next as usize;
    // Before the item is written: the compiler does not know that this writes no counter.
    *next += 1;
    if FAR {
        target.ask_behind(at);
    }
    target.put(at, item);
}

/// The places of one chunk's records in one bucket.
pub(crate) struct Places<'a, R> {
    pub(crate) target: &'a mut [R],
    /// The position of the first in all of the target.
    pub(crate) start: usize,
}

/// Moves the records of a chunk to their places, bucket by bucket. The function asks for the next line of a bucket even if the target is short: the line may be
/// in the cache of another core.
pub(crate) fn scatter_chunk<S: Source + ?Sized>(
    source: &S,
    chunk: Range<usize>,
    class: impl Classify<Key<S>>,
    places: Vec<Places<'_, S::Record>>,
) {
    let mut places: Vec<_> = places.into_iter().map(|places| places.target.iter_mut()).collect();
    source.read(chunk, &mut |records| {
        for &record in records {
            // There is a place for each record that was counted.
            if let Some(place) = places[class.class(record.key())].next() {
                ask_behind(std::slice::from_ref(place), 0);
                *place = record;
            }
        }
    });
}

/// As [`scatter_chunk`], by way of one block for each bucket. The target starts a line.
pub(crate) fn stream_chunk<S: Source + ?Sized>(
    source: &S,
    chunk: Range<usize>,
    class: impl Classify<Key<S>>,
    places: Vec<Places<'_, S::Record>>,
) {
    let block = const { block::<S::Record>() };
    let mut scratch = Scratch::of::<S::Record>(places.len() * block);
    let blocks = scratch.records::<S::Record>(places.len() * block);
    // Records of a block before the first one, so that full blocks start a line.
    let first: Vec<u32> = places.iter().map(|places| (places.start % block) as u32).collect();
    let mut next = first.clone();
    let mut writer = Writer { places, first };
    source.read(chunk, &mut |records| fill(records, class, blocks, &mut next, &mut writer));
    for (bucket, &end) in next.iter().enumerate() {
        writer.write(bucket, &blocks[bucket * block..][..end as usize]);
    }
    crate::stream::finish();
}

/// The least number of records that fill whole blocks: a power of two, as `BLOCK_BYTES` is one.
pub(crate) const fn block<R>() -> usize {
    let (size, bytes) = (size_of::<R>().trailing_zeros(), BLOCK_BYTES.trailing_zeros());
    BLOCK_BYTES >> if size < bytes { size } else { bytes }
}

/// Puts each record in its bucket's block and writes blocks that are full. (A function, so that its slices are known not to overlap.)
fn fill<R: Record>(records: &[R], class: impl Classify<R::Key>, blocks: &mut [R], next: &mut [u32], writer: &mut Writer<'_, R>) {
    let block = const { block::<R>() };
    for &record in records {
        let bucket = class.class(record.key());
        let at = next[bucket] as usize;
        blocks[bucket * block + at % block] = record;
        next[bucket] = (at + 1) as u32;
        if at == block - 1 {
            writer.write(bucket, &blocks[bucket * block..][..block]);
            next[bucket] = 0;
        }
    }
}

/// Writes blocks to the places of one chunk.
struct Writer<'a, R> {
    places: Vec<Places<'a, R>>,
    /// The records at the start of the next block of each bucket that are not this chunk's.
    first: Vec<u32>,
}

impl<R: Record> Writer<'_, R> {
    /// Writes a block, which is full but for the last, to the next places of its bucket.
    #[inline(always)]
    fn write(&mut self, bucket: usize, filled: &[R]) {
        let (places, first) = (&mut self.places[bucket], std::mem::take(&mut self.first[bucket]) as usize);
        let target = std::mem::take(&mut places.target);
        let (next, rest) = target.split_at_mut((filled.len() - first).min(target.len()));
        places.target = rest;
        if filled.len() == block::<R>() && next.len() == filled.len() {
            stream(filled, next);
        } else {
            next.copy_from_slice(&filled[first..][..next.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Pair;

    #[test]
    fn a_block_is_the_least_power_of_two_of_records_that_fills_whole_parts_of_256_bytes() {
        assert_eq!((block::<u8>(), block::<u16>(), block::<u32>(), block::<u128>()), (256, 128, 64, 16));
        assert_eq!((block::<Pair<u32, [u8; 8]>>(), block::<Pair<u8, u32>>()), (64, 256));
        assert_eq!((block::<[u8; 256]>(), block::<[u8; 1024]>()), (1, 1));
    }

    #[test]
    fn starts_are_sums_of_the_counts_before() {
        let mut counters = [3, 0, 5, 1];
        to_starts(&mut counters);
        assert_eq!(counters, [0, 3, 3, 8]);
    }

    #[test]
    fn each_key_of_any_number_is_counted() {
        for len in 0..40_u32 {
            let keys = Vec::from_iter((0..len).map(|i| i * i));
            let mut counts = [0; 8];
            count(&keys, crate::classify::Bits { shift: 1, mask: 7 }, &mut counts);
            let expected =
                std::array::from_fn(|digit| keys.iter().filter(|&&key| (key >> 1 & 7) as usize == digit).count() as u32);
            assert_eq!(counts, expected);
        }
    }
}
