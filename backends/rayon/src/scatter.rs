//! The parallel stable scatter: all cores write one buffer, each record to a place that no other has.
//!
//! A core takes a stretch of the source. It knows where its first record of each bucket goes, since all stretches were
//! counted before, and fills up from there:
//!
//! ```text
//!               bucket 0            bucket 1                  bucket 2
//! target  |stretch 0|stretch 1|stretch 0|stretch 1|  …  |stretch 0|stretch 1|
//! ```
//!
//! A scatter that fits in the cache writes each record where it goes. A larger one fills a block of lines for each bucket and writes
//! full blocks past the cache: otherwise each line written is first read, and a page is touched for each record.
//! (Software write-combining: Satish et al., "Fast Sort on CPUs and GPUs", SIGMOD 2010.)
#![allow(unsafe_code, reason = "several threads write disjoint positions of one slice")]

use crate::columns::Source;
use crate::partition::{Partition, Stretch};
use crate::record::Record;
use crate::scratch::Scratch;
use crate::tuning::{BUFFER_BYTES, MAX_BUCKETS};
use core::marker::PhantomData;
use rayon::prelude::*;

/// Bytes that are written past the cache at once: two lines, which measured a fifth faster than one.
const BLOCK_BYTES: usize = 128;

/// Scatters `source`, of which `partition` was made, into `target`, stably by bucket; past the cache if `stream` says so.
pub(crate) fn scatter<S: Source + ?Sized>(source: &S, partition: &Partition, target: &mut [S::Record], stream: bool) {
    // What the writes below rely on, together with a source that reads the same twice: the partition counted each record once
    // and laid the records of all buckets and stretches side by side, over just this length.
    assert_eq!(source.len(), target.len());
    assert_eq!(partition.buckets.iter().map(|bucket| bucket.len).sum::<usize>(), target.len());
    let target = Shared::of(target);
    let lead = if stream { target.lead() } else { None };
    let scatter = |stretch: &Stretch| match lead {
        Some(lead) => streamed(source, partition, stretch, &target, lead),
        None => direct(source, partition, stretch, &target),
    };
    match &*partition.stretches {
        [all] => scatter(all),
        several => several.par_iter().for_each(scatter),
    }
}

/// The most buckets of a partition of records of `R`: each has a block, and these share a cache.
pub(crate) const fn max_buckets<R: Record>() -> usize {
    let blocks = BUFFER_BYTES / (block::<R>() * size_of::<R>());
    if blocks < MAX_BUCKETS { blocks } else { MAX_BUCKETS }
}

/// The least number of records that fill whole blocks: a power of two, as `BLOCK_BYTES` is one.
const fn block<R>() -> usize {
    let (size, bytes) = (size_of::<R>().trailing_zeros(), BLOCK_BYTES.trailing_zeros());
    BLOCK_BYTES >> if size < bytes { size } else { bytes }
}

/// A slice that several threads write to.
struct Shared<'a, R> {
    start: *mut R,
    len: usize,
    slice: PhantomData<&'a mut [R]>,
}

// SAFETY: records are `Send + Sync`, and `write` makes its callers keep their positions apart.
unsafe impl<R: Record> Sync for Shared<'_, R> {}

impl<'a, R: Record> Shared<'a, R> {
    fn of(slice: &'a mut [R]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    /// How many places before the slice a block starts, if blocks can be written past the cache and lines start with a record.
    fn lead(&self) -> Option<usize> {
        let block = const { block::<R>() };
        let phase = self.start.align_offset(BLOCK_BYTES);
        (cfg!(target_arch = "x86_64") && phase < block).then(|| (block - phase) % block)
    }

    /// # Safety
    /// `position` is below `len`, and no other thread writes it.
    #[inline(always)]
    unsafe fn write(&self, position: usize, record: R) {
        debug_assert!(position < self.len);
        // SAFETY: the position is in bounds by this function's contract.
        let place = unsafe { self.start.add(position) };
        // SAFETY: the slice is borrowed for `'a`, and this place of it is ours alone, by this function's contract.
        unsafe { place.write(record) };
    }
}

/// Writes each record where it goes.
fn direct<S: Source + ?Sized>(source: &S, partition: &Partition, stretch: &Stretch, target: &Shared<'_, S::Record>) {
    let mut next = stretch.starts.clone();
    source.read(stretch.range.clone(), |records| place(records, partition, &mut next, target));
}

/// Writes each record to its bucket's next place. (A function, so that its slices are known not to overlap.)
fn place<R: Record>(records: &[R], partition: &Partition, next: &mut [usize], target: &Shared<'_, R>) {
    for &record in records {
        let next = &mut next[partition.bucket(record)];
        // SAFETY: `next` runs from this stretch's start of the bucket over as many places as the partition counted records of it, and
        // those of all buckets and stretches are disjoint and within the target (see `scatter`).
        unsafe { target.write(*next, record) };
        *next += 1;
    }
}

/// As [`direct`], by way of one block for each bucket.
fn streamed<S: Source + ?Sized>(
    source: &S,
    partition: &Partition,
    stretch: &Stretch,
    target: &Shared<'_, S::Record>,
    lead: usize,
) {
    let block = const { block::<S::Record>() };
    let len = partition.buckets.len() * block;
    let mut scratch = Scratch::of::<S::Record>(len);
    let blocks = scratch.records::<S::Record>(len);
    let writer = BlockWriter::new(target, lead, &stretch.starts);
    let mut next = writer.starts.clone();
    source.read(stretch.range.clone(), |records| fill(records, partition, blocks, &mut next, &writer));
    for (bucket, &end) in next.iter().enumerate() {
        writer.write_some(bucket, end, &blocks[bucket * block..][..end % block]);
    }
    writer.finish();
}

/// Puts each record in its bucket's block and writes blocks that are full. (A function, so that its slices are known not to overlap.)
fn fill<R: Record>(records: &[R], partition: &Partition, blocks: &mut [R], next: &mut [usize], writer: &BlockWriter<'_, '_, R>) {
    let block = const { block::<R>() };
    for &record in records {
        let bucket = partition.bucket(record);
        let place = next[bucket];
        next[bucket] = place + 1;
        blocks[bucket * block + place % block] = record;
        if place % block == block - 1 {
            writer.write_full(bucket, place + 1, &blocks[bucket * block..][..block]);
        }
    }
}

/// Writes blocks to the places of one stretch.
///
/// It counts places from one that starts a line at or before the target's start, so that a full block starts a line.
struct BlockWriter<'a, 'b, R> {
    target: &'a Shared<'b, R>,
    /// Places between that one and the target's start.
    lead: usize,
    /// The place of the first record of each bucket, so counted.
    starts: Vec<usize>,
}

impl<'a, 'b, R: Record> BlockWriter<'a, 'b, R> {
    /// A writer to the places from `starts` on, counted from the target's start.
    fn new(target: &'a Shared<'b, R>, lead: usize, starts: &[usize]) -> Self {
        Self { target, lead, starts: starts.iter().map(|start| start + lead).collect() }
    }

    /// Writes the records of a full block, which end before place `end`.
    #[inline(always)]
    fn write_full(&self, bucket: usize, end: usize, full: &[R]) {
        if end - self.starts[bucket] < full.len() {
            return self.write_some(bucket, end, full);
        }
        debug_assert!(end - self.lead <= self.target.len);
        // SAFETY: the places are in bounds: those of one stretch and bucket, as in `direct`.
        let place = unsafe { self.target.start.add(end - full.len() - self.lead) };
        #[cfg(target_arch = "x86_64")]
        for (index, part) in bytemuck::cast_slice::<R, [u8; 16]>(full).iter().enumerate() {
            use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
            // SAFETY: these are 16 bytes; SSE2 is part of x86-64.
            let bits = unsafe { _mm_loadu_si128(part.as_ptr().cast()) };
            // SAFETY: there is room for the whole block, whose parts `index` counts.
            let place = unsafe { place.cast::<__m128i>().add(index) };
            // SAFETY: a block starts a line, so this is aligned; it is in bounds and, as in `direct`, ours.
            unsafe { _mm_stream_si128(place, bits) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!("`Shared::lead` gives a lead on x86-64 alone, not at {place:p}");
    }

    /// Writes those records of `block` that belong to this stretch; they end before place `end`.
    #[cold]
    #[inline(never)]
    fn write_some(&self, bucket: usize, end: usize, block: &[R]) {
        let own = block.len().min(end - self.starts[bucket]);
        for (offset, &record) in block[block.len() - own..].iter().enumerate() {
            // SAFETY: ours, as in `direct`.
            unsafe { self.target.write(end - own - self.lead + offset, record) };
        }
    }

    /// Makes what was written past the cache visible to whoever is told that the scatter is done.
    fn finish(self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: SSE is part of x86-64.
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::Bucket;
    use crate::record::Pair;
    use crate::window::Window;

    /// Keys of which the low 7 bits are to be sorted by, crowded at the low end.
    fn keys(len: usize) -> Vec<u32> {
        (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7 & (i.wrapping_mul(77) | 3) & 0x7f | i << 7).collect()
    }

    /// Scatters to a target that starts `offset` records into a buffer, and checks it, and what lies around it, against a stable sort
    /// by bucket.
    fn check<R: Record + PartialEq + core::fmt::Debug>(records: &[R], threads: usize, stream: bool, offset: usize) {
        let window = Window { low: 0, high: 7 };
        let partition = Partition::of(records, window, threads).expect("keys that differ");
        let mut expected = records.to_vec();
        expected.sort_by_key(|&record| partition.bucket(record));
        let guard = R::zeroed();
        let mut buffer = vec![guard; records.len() + 2 * offset];
        let target = &mut buffer[offset..offset + records.len()];
        scatter(records, &partition, target, stream);
        assert!(target == expected, "{threads} threads, stream {stream}, offset {offset}, {} records", records.len());
        assert!(buffer[..offset].iter().chain(&buffer[offset + records.len()..]).all(|&record| record == guard));
        let lens = partition.buckets.iter().map(|&Bucket { len, .. }| len);
        assert_eq!(lens.sum::<usize>(), records.len());
    }

    fn check_all<R: Record + PartialEq + core::fmt::Debug>(record: fn(u32) -> R) {
        for len in [2, 15, 64, 1000, 4099] {
            let records: Vec<R> = keys(len).into_iter().map(record).collect();
            for threads in [1, 2, 3] {
                for offset in [0, 1, 3, 16] {
                    check(&records, threads, false, offset);
                    check(&records, threads, true, offset);
                }
            }
        }
    }

    impl<W: PartialEq + Copy, V: PartialEq + Copy> PartialEq for Pair<W, V> {
        fn eq(&self, other: &Self) -> bool {
            ({ self.key }, { self.value }) == ({ other.key }, { other.value })
        }
    }

    impl<W: core::fmt::Debug + Copy, V: core::fmt::Debug + Copy> core::fmt::Debug for Pair<W, V> {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            ({ self.key }, { self.value }).fmt(f)
        }
    }

    #[test]
    fn keys_of_every_width() {
        check_all::<u8>(|key| key as u8);
        check_all::<u16>(|key| key as u16);
        check_all::<u32>(|key| key);
        check_all::<u64>(|key| u64::from(key) << 40 | u64::from(key));
        check_all::<u128>(|key| u128::from(key) << 90 | u128::from(key));
    }

    #[test]
    fn pairs_whose_size_divides_no_line() {
        check_all::<Pair<u32, u32>>(|key| Pair { key, value: !key });
        check_all::<Pair<u64, [u8; 4]>>(|key| Pair { key: u64::from(key), value: key.to_le_bytes() });
        check_all::<Pair<u8, [u8; 4]>>(|key| Pair { key: key as u8, value: key.to_le_bytes() });
        check_all::<Pair<u16, [u8; 12]>>(|key| Pair { key: key as u16, value: [key as u8; 12] });
        check_all::<Pair<u128, [u8; 16]>>(|key| Pair { key: u128::from(key), value: [key as u8; 16] });
    }

    #[test]
    fn blocks_are_whole_lines_and_leave_room_for_buckets() {
        fn facts<R: Record>() -> (usize, usize) {
            assert_eq!(block::<R>() * size_of::<R>() % BLOCK_BYTES, 0);
            (block::<R>(), max_buckets::<R>())
        }
        assert_eq!(facts::<u32>(), (32, 512));
        assert_eq!(facts::<u128>(), (8, 512));
        assert_eq!(facts::<Pair<u64, [u8; 4]>>(), (32, 170));
        assert_eq!(facts::<Pair<u8, [u8; 4]>>(), (128, 102));
    }
}
