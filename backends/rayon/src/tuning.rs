//! Every number that only speed depends on, with what it was chosen by.
//!
//! Measured on a 2-core AMD Zen 5 machine (48 KiB L1d, 1 MiB L2 a core, 32 MiB L3) by `polysort bench`; `BYTES` are bytes of
//! records, so that a wide key gets as much cache as a narrow one.

/// Up to this many records are sorted by comparisons: below it a radix pass spends more on its counters than on keys.
pub(crate) const SMALL: usize = 112;

/// The same for keys alone, of four bytes; wider ones more, as a radix sort costs by the byte.
pub(crate) const SMALL_KEYS: usize = 160;

/// The same for keys alone whose topmost digit is unevenly spread, so that passes would need more bits.
pub(crate) const SMALL_SKEWED: usize = 320;

/// Buckets of up to this size are sorted by LSD passes; a partition aims at half of it. Two such buffers and the counters fit
/// in a core's L2.
pub(crate) const CACHE_BYTES: usize = 512 << 10;

/// The same for a sort on one thread that has not been split: the L3 serves it as well, and a partition costs a pass.
pub(crate) const SERIAL_BYTES: usize = 1 << 20;

/// From this many bytes on, a sort is spread over the pool: waking it takes some 10 µs.
pub(crate) const PARALLEL_BYTES: usize = 1 << 20;

/// From this many bytes on, a partition writes past the cache: what it writes would be evicted before it is read again.
pub(crate) const STREAM_BYTES: usize = 8 << 20;

/// Bits that a partition counts to choose its buckets by. The counters, two sets of them, stay in the L1.
pub(crate) const COUNTED_BITS: u32 = 12;

/// Buckets of a partition, at most.
pub(crate) const MAX_BUCKETS: usize = 512;

/// Buckets of a partition for each thread, at least, if the keys allow it: the last ones to be sorted leave threads idle.
pub(crate) const BUCKETS_A_THREAD: usize = 8;

/// Digits of an LSD pass: at most this many bits, since the counters must stay in the L1 beside the lines written to.
pub(crate) const PASS_BITS: u32 = 12;

/// An LSD over `2^k` records sorts the top `k + SLACK_BITS` bits by passes and what is then still equal by comparison: one record in
/// `2^SLACK_BITS` of uniform keys.
pub(crate) const SLACK_BITS: u32 = 5;

/// A run of records that are equal so far is sorted by insertion up to this length, else by passes.
pub(crate) const INSERTION: usize = 24;

/// The write-combining blocks of a partition, together. Smaller than the L1 measured slower: what counts is to write much at once.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;

/// Keys that a partition looks at to guess which bits vary.
pub(crate) const SAMPLES: usize = 128;

/// From this many 16-bit keys on, alone, counting all 65 536 values beats two passes.
pub(crate) const COUNT_16: usize = 1 << 18;

/// Values that a dictionary counts, at most, and the keys that it is made from.
pub(crate) const DICTIONARY: usize = 256;
pub(crate) const COUNTED_SAMPLES: usize = 8192;

/// The keys that show whether it is worth making one.
pub(crate) const FIRST_SAMPLES: usize = 128;

/// From this many keys alone on, a look is taken whether they have few values.
pub(crate) const COUNT_FEW: usize = 1 << 15;

/// Records of a segmented sort that are one task of the pool.
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

/// Bytes of vectors that a task of the pool reads in a search: some 20 µs of work, so that tasks cost nothing beside it and threads
/// end together.
pub(crate) const VECTOR_TASK_BYTES: usize = 256 << 10;

/// Vectors that lie anywhere are touched together, this many of them and of their bytes at most: the waits for them overlap, and
/// they are still in the L1 when they are measured.
pub(crate) const TOUCHED: usize = 32;
pub(crate) const TOUCHED_BYTES: usize = 24 << 10;

/// Bytes that come from memory together, at least.
pub(crate) const CACHE_LINE: usize = 64;

const _: () = assert!(SMALL >= INSERTION && PASS_BITS <= 16 && COUNTED_BITS <= 16 && MAX_BUCKETS <= 1 << 16);
