//! Every number that only speed depends on, with what it was chosen by.
//!
//! `BYTES` are bytes of records, so that a wide key gets as much cache as a narrow one. What depends on the machine is in [`Tuning`].

use crate::machine::Machine;
use crate::simd::Set;

/// What depends on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// Records of up to this size are sorted by one thread in one pass, then by networks: they and their scratch fit in the caches of a core.
    pub(crate) cached_bytes: usize,
    /// Records of a bucket of this size are sorted from where the partition put them, even if they do not fit in the caches of a core.
    pub(crate) near_bytes: usize,
    /// Records of a bucket of a partition, at most: with as much scratch, it fits in half of a core's cache.
    pub(crate) bucket_bytes: usize,
    /// From this size on, a partition writes past the cache: what it writes would be evicted before it is read again.
    pub(crate) stream_bytes: usize,
    /// The write-combining blocks of a partition, together.
    pub(crate) buffer_bytes: usize,
}

/// Scratch that each thread may have for a bucket that came out large, beside one record for each key of the sort.
const MOST_NEAR_BYTES: usize = 8 << 20;

impl Tuning {
    fn of(machine: Machine) -> Self {
        Self {
            cached_bytes: machine.l2,
            near_bytes: (8 * machine.l2).min(MOST_NEAR_BYTES),
            bucket_bytes: machine.l2 / 4,
            stream_bytes: machine.l3 / 8,
            buffer_bytes: machine.l2 / 8,
        }
    }
}

/// The numbers for this machine.
pub(crate) fn tuning() -> Tuning {
    Tuning::of(Machine::this())
}

/// Rows of a network's registers that are sorted without a partition, at most. Measured: AVX-512 sorts 1024 `u32` in 1.5 ns a key; a
/// partition and networks take 2.0.
pub(crate) const FEW_ROWS: usize = 64;

/// The share of the few records that is best for a bucket: 8 rows of registers.
pub(crate) const BUCKETS_OF_FEW: usize = 8;

/// The most keys of words of `bits` bits that a network sorts without a partition.
pub(crate) fn few_keys(set: Set, bits: u32) -> usize {
    // Bytes are sorted as words of 16 bits, up to 256 of them.
    let most = if bits == 8 { 256 } else { usize::MAX };
    (FEW_ROWS * set.lanes(bits.max(16))).min(most)
}

/// The most records that are sorted by tickets without a partition: those of 64 bits count.
pub(crate) fn few_tickets(set: Set) -> usize {
    FEW_ROWS * set.lanes(64)
}

/// Bits of the digit of a pass in the cache, at most: the counters must stay in the L1 beside the lines that are written to.
pub(crate) const PASS_BITS: u32 = 11;

/// Bits that a partition of what does not fit in a cache counts to choose its buckets by.
pub(crate) const COUNTED_BITS: u32 = 11;

/// Buckets of such a partition, at most.
pub(crate) const MAX_BUCKETS: usize = 512;

/// Buckets for each thread, at least, if the keys allow it: the last ones to be sorted leave threads idle.
pub(crate) const BUCKETS_A_THREAD: usize = 8;

/// Bytes of a bucket that each chunk should have, at least: at the ends it shares lines with other threads' chunks.
pub(crate) const SHARE_BYTES: usize = 1 << 10;

/// Blocks of a bucket that each chunk should have, at least, if they are written past the cache.
pub(crate) const STREAM_BLOCKS: usize = 4;

/// Work on one thread, in nanoseconds, from which on other threads are asked: a thread takes some 10 µs to wake.
pub(crate) const ENTER_NS: u64 = 300_000;

/// Work that each thread should have, in nanoseconds.
pub(crate) const THREAD_NS: u64 = 25_000;

/// About how long one thread takes to sort so many records, in nanoseconds.
pub(crate) fn sort_ns<R>(len: usize) -> u64 {
    (len as u64 * (4 + size_of::<R>() as u64)) / 4
}

/// About how long one thread takes to read so many bytes and do little with them, in nanoseconds.
pub(crate) fn scan_ns(bytes: usize) -> u64 {
    bytes as u64 / 10
}

/// From this many 16-bit keys on, alone, counting all 65 536 values beats a pass and networks.
pub(crate) const COUNT_16: usize = 1 << 18;

/// Values that a dictionary counts, at most, and the keys that it is made from.
pub(crate) const DICTIONARY: usize = 256;
pub(crate) const COUNTED_SAMPLES: usize = 8192;

/// The keys that show whether it is worth making one.
pub(crate) const FIRST_SAMPLES: usize = 128;

/// From this many keys alone on, a look is taken whether they have few values.
pub(crate) const COUNT_FEW: usize = 1 << 15;

/// Records that are one task of a scan, a merge or a segmented sort.
pub(crate) const TASK: usize = 32 << 10;

/// A selection of at least one key in this many sorts everything instead.
pub(crate) const SELECT_FRACTION: usize = 8;

/// Room of a selection for keys that pass the test, besides the best: it is emptied by a selection among them, of several ns a key.
pub(crate) const SELECT_ROOM: usize = 1024;

/// Keys to come that a selection guesses a bar for: they are counted below it first, and so should stay in the L2.
pub(crate) const SELECT_AHEAD: usize = 64 << 10;

/// Keys that the guess is made from, and the least of them that are below it: chance makes such a number uncertain by a third.
pub(crate) const SELECT_SAMPLES: usize = 1024;
pub(crate) const SELECT_LEAST: usize = 8;

/// The numbers of vector search.
#[cfg(feature = "vector")]
pub(crate) mod vector {
    /// Bytes of vectors that a task of the pool reads in a search: some 20 µs of work, so that tasks cost nothing beside it and threads
    /// end together.
    pub(crate) const TASK_BYTES: usize = 256 << 10;

    /// Vectors that lie anywhere are touched together, this many of them and of their bytes at most: the waits for them overlap, and
    /// they are still in the L1 when they are measured.
    pub(crate) const TOUCHED: usize = 32;
    pub(crate) const TOUCHED_BYTES: usize = 24 << 10;

    /// Bytes that come from memory together, at least.
    pub(crate) const CACHE_LINE: usize = 64;
}
