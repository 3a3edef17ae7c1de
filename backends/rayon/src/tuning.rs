//! Every number that only speed depends on, with what it was chosen by.
//!
//! `BYTES` are bytes of records, so that a wide key gets as much cache as a narrow one. What depends on the machine is in [`Tuning`].

use crate::machine::Machine;
use crate::record::Record;
use crate::simd::Set;

/// What depends on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// Records of up to this size are sorted by one thread in one pass, then by networks: they and their scratch fit in the caches of a core.
    pub(crate) cached_bytes: usize,
    /// The same of stable sorts, if the buckets of one pass are then few enough for tickets.
    pub(crate) cached_stable_bytes: usize,
    /// Records of a bucket of this size are sorted from where the partition put them, even if they do not fit in the caches of a core.
    pub(crate) near_bytes: usize,
    /// Records of a bucket of a partition, at most: with as much scratch, it fits in half of a core's cache.
    pub(crate) bucket_bytes: usize,
    /// From this size on, a partition writes past the cache: what it writes would be evicted before it is read again.
    pub(crate) stream_bytes: usize,
    /// Below this size, two passes by 8 bits sort records by 16 bits. Measured on Zen 3 with 32 MiB of L3, ns a record by passes and by a partition: pairs of `u16` with
    /// `u32`, 2^20 4.7 and 11.9, 2^21 6.8 and 10.1, 2^23 7.5 and 10.5; argsorts 6.4 and 8.5, 4.5 and 9.2, 9.8 and 10.1.
    pub(crate) narrow_bytes: usize,
    /// From this size on, a scatter asks for the lines that it will write.
    pub(crate) far_bytes: usize,
    /// The write-combining blocks of a partition, together.
    pub(crate) buffer_bytes: usize,
}

/// Scratch that each thread may have for a bucket that came out large, beside one record for each key of the sort.
const MOST_NEAR_BYTES: usize = 8 << 20;

impl Tuning {
    fn of(machine: Machine) -> Self {
        Self {
            cached_bytes: machine.l2,
            // Measured on Zen 4, pairs of `u32`: 2^18 pairs take 0.63 × as long as by a partition for the cache and passes.
            cached_stable_bytes: 4 * machine.l2,
            near_bytes: (8 * machine.l2).min(MOST_NEAR_BYTES),
            bucket_bytes: machine.l2 / 4,
            stream_bytes: machine.l3 / 8,
            narrow_bytes: machine.l3,
            far_bytes: machine.l2 / 2,
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

/// The most records that tickets of 32 bits sort by a window of `bits` bits, if these tell the whole record: such a sort copies no record. For windows of up to 8 bits, a pass is
/// faster than more than `rows_of_bytes` registers of tickets.
///
/// Measured with AVX-512 on Emerald Rapids, 64 to 1024 records, beside passes or tickets of a copy: argsorts of `u16` are 1.5 to 2.4 × as fast, pairs of `u16` with `u32`
/// 1.2 to 1.8 ×. With AVX2 on Zen 3, argsorts of 2^9 `u16` are 1.1 × as fast as by passes, pairs 0.9 ×.
pub(crate) fn short_tickets(set: Set, bits: u32, rows_of_bytes: usize) -> usize {
    let lanes = set.lanes(u32::BITS);
    let rows = match lanes {
        _ if lanes < 8 => 0,
        _ if bits <= 8 => rows_of_bytes,
        8 => FEW_ROWS / 2,
        _ => FEW_ROWS,
    };
    rows * lanes
}

/// The most registers of tickets with which a sort of pairs by up to 8 bits is faster than a pass.
///
/// Measured with values of `u32`, ns a pair by tickets and by a pass: Emerald Rapids, AVX-512, 2^7 2.7 and 3.2, 2^8 2.6 and 2.5; Zen 3, AVX2, 2^6 4.0 and 5.3, 2^7 3.9 and 3.6.
pub(crate) const ROWS_OF_PAIRED_BYTES: usize = 8;

/// The most registers of tickets with which an argsort by up to 8 bits is faster than a pass.
///
/// Measured, ns a key by tickets and by a pass: Emerald Rapids 2^8 2.0 and 2.4, 2^9 2.0 and 1.9; Zen 3 2^7 2.9 and 3.7, 2^8 3.2 and 2.5.
pub(crate) const ROWS_OF_BYTES: usize = 16;

/// The share of the few records that is best for a bucket of keys alone: 8 rows of registers.
pub(crate) const BUCKETS_OF_FEW: usize = 8;

/// The same for tickets. Measured on Zen 4, pairs of `u32`: with 128 tickets of AVX-512 in a bucket, 2^16 pairs take 0.87 × as long as with 64.
pub(crate) const BUCKETS_OF_FEW_TICKETS: usize = 4;

/// Bytes that a network sorts as words of 16 bits, at most: more are counted. Measured, 2^9; 2^10 keys, ns a key by a network and by counting: Emerald Rapids 1.0 and 1.9;
/// 1.1 and 1.1; Zen 3 1.6 and 2.3; 2.0 and 1.3.
pub(crate) const MOST_BYTES: usize = 512;

/// The most keys of words of `bits` bits that a network sorts without a partition.
pub(crate) fn few_keys(set: Set, bits: u32) -> usize {
    let most = if bits == 8 { MOST_BYTES } else { usize::MAX };
    (FEW_ROWS * set.lanes(bits.max(16))).min(most)
}

/// The most keys of words of `bits` bits, alone, that a network sorts. Wide registers merge blocks of short words fast. Measured with AVX-512 on Emerald Rapids, `u16`, ns a key by a
/// network and by a partition: 2^12 1.4 and 3.1, 2^13 1.7 and 2.6, 2^14 2.1 and 2.5; with AVX2 on Zen 3, 2^11 3.9 and 3.9, 2^12 4.6 and 3.5.
pub(crate) fn network_keys(set: Set, bits: u32) -> usize {
    let blocks = if set.lanes(bits) >= 32 && bits == 16 { 8 } else { 1 };
    blocks * few_keys(set, bits)
}

/// The most records that are sorted by tickets without a partition: those of 64 bits count.
pub(crate) fn few_tickets(set: Set) -> usize {
    FEW_ROWS * set.lanes(64)
}

/// The most records that passes sort by the differences of their keys from the least key, if the keys lie on both sides of a power of two. More are partitioned: with
/// AVX-512, networks sort the buckets fast. Without it, only `passes::MAX` limits the passes.
///
/// Measured, pairs, time by passes / time by a partition at 2^12; 2^14. AVX-512 (Emerald Rapids): normal `i32` 1.1; 1.2, `i64` 1.2; 1.4, `f64` of 0 to 10 0.97; 1.3. AVX2
/// (Zen 3): normal `i32` 0.7; 0.7, `f64` 0.8; 0.9. Shorter ones were not compared.
pub(crate) fn most_differences(set: Set) -> usize {
    if set.lanes(64) >= 8 { 1 << 11 } else { usize::MAX }
}

/// The most keys of words of `bits` bits that one thread sorts by quicksort.
///
/// Measured with AVX-512, beside a partition and networks: words of 32 bits on Intel's Emerald Rapids 1.5 × as fast at 2^12, 1.3 × at 2^18
/// and 1.5 × at 2^22; on AMD's Zen 4 1.3 × at 2^12, equal at 2^14, and 0.8 × at 2^16. Words of 64 bits are faster at 2^10 on both; from
/// 2^12 on they are slower, or no more than 1.03 × as fast.
pub(crate) fn quicksort_keys(set: Set, bits: u32) -> usize {
    if set.has_splits() { quicksort_keys_of(Machine::this(), bits) } else { 0 }
}

/// The same of a machine whose registers split words.
fn quicksort_keys_of(machine: Machine, bits: u32) -> usize {
    match bits {
        32 if machine.is_intel => machine.l3 / 4 / size_of::<u32>(),
        32 => 1 << 13,
        64 => 1 << 10,
        _ => 0,
    }
}

/// Bits of the digit of a pass in the cache, at most: the counters must stay in the L1 beside the lines that are written to. Measured: with 10,
/// 2^18 pairs of `u32` take 0.97 × as long as with 11.
pub(crate) const PASS_BITS: u32 = 10;

/// The same where buckets would have more records than tickets sort. Measured on Emerald Rapids, 2^19 pairs and argsorts: `u32` 8.3 → 7.1 and 8.0 → 6.8 ns, `u64` 10.7 → 9.9
/// and 10.3 → 9.6 ns a record, beside a partition for the cache and passes.
pub(crate) const FAR_PASS_BITS: u32 = 11;

/// Bits of the digit of a pass in the cache, at most, where large buckets are sorted by quicksort. Measured: with 9 bits, 2^18 `u32` take 0.6 × as long on Zen 4 as with 11.
pub(crate) const SPLIT_PASS_BITS: u32 = 9;

/// Bits that a partition of what does not fit in a cache counts to choose its buckets by, at most.
pub(crate) const COUNTED_BITS: u32 = 11;

/// Records of each thread for each digit that such a partition counts, at least. Measured on 8 threads, 2^14 to 2^16 records: 8 bits take 30
/// to 50 µs less than 11, as one thread adds up all threads' counts.
pub(crate) const COUNTED_RECORDS: usize = 16;

/// Buckets of such a partition, at most.
pub(crate) const MAX_BUCKETS: usize = 512;

/// Buckets for each thread, at least, if the keys allow it: the last ones to be sorted leave threads idle. Measured on 8 and 16 threads, 2^16
/// to 2^20 records: 4 are up to 1.2 × as fast as 8; with 2, a bucket may be so large that all threads sort it.
pub(crate) const BUCKETS_A_THREAD: usize = 4;

/// Bytes of a bucket that each chunk should have, at least: at the ends it shares lines with other threads' chunks.
pub(crate) const SHARE_BYTES: usize = 1 << 10;

/// Blocks of a bucket that each chunk should have, at least, if they are written past the cache.
pub(crate) const STREAM_BLOCKS: usize = 4;

/// What several threads cost, beside the work of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// What work on several threads takes beyond what its threads do, in nanoseconds: one of them wakes, and takes over from the caller.
    pub(crate) enter_ns: u64,
    /// The least time, in nanoseconds, that several threads must be expected to save. The time that threads take to wake varies by as much.
    pub(crate) least_gain_ns: u64,
    /// What each thread adds to `enter_ns`, in nanoseconds.
    pub(crate) thread_ns: u64,
    /// How much more work several threads have than one, as a fraction.
    pub(crate) more_work: (u64, u64),
}

/// Of a sort: each thread wakes several times, and its counts are added to those of others. A partition more writes into lines that other
/// threads wrote before. Measured on Emerald Rapids, 2^14 pairs and argsorts of 32 and 64 bits: 5 threads that are expected to save up to 40 µs of 200 take 0.8 to 1.5 × as long as
/// one.
pub(crate) const SORT_COSTS: Costs = Costs { enter_ns: 40_000, least_gain_ns: 50_000, thread_ns: 12_000, more_work: (5, 3) };

/// Of a scan or a search: each thread wakes once.
pub(crate) const SCAN_COSTS: Costs = Costs { enter_ns: 20_000, least_gain_ns: 0, thread_ns: 3_000, more_work: (1, 1) };

/// Of a selection. Measured on Emerald Rapids, the first 100 of 2^22 `u32`: 1545 µs on one thread, 1125, 744, 551, 479 on 2, 4, 8, 16. This is
/// about 350 µs and a share of the work; 2^20 `u32` take 130 to 290 µs and a share.
pub(crate) const SELECTION_COSTS: Costs = Costs { enter_ns: 150_000, least_gain_ns: 0, thread_ns: 12_000, more_work: (1, 1) };

/// Work that each thread should have in a step of a sort, in nanoseconds.
pub(crate) const STEP_NS: u64 = 25_000;

/// About how long one thread takes to sort so many records, in nanoseconds: between what a slow machine and a fast one take.
///
/// Measured at 2^16, on Emerald Rapids and on Zen 4: `u32` 5.3 and 2.5 ns, `u64` 7.8 and 2.8; pairs of `u32` and argsorts 13.7 and 3.9 to 6.
pub(crate) fn sort_ns<R: Record>(len: usize) -> u64 {
    let moves_more = size_of::<R>() > size_of::<R::Key>();
    // Records that are more than their key are sorted stably.
    let each = if moves_more { 16 } else { 4 };
    len as u64 * (each + 3 * size_of::<R>() as u64) / 4
}

/// The same of a sort by so many bits: passes sort by a few, whatever the keys are like.
pub(crate) fn sort_bits_ns<R: Record>(len: usize, bits: u32) -> u64 {
    match bits {
        0..=8 => sort_ns::<R>(len) / 4,
        9..=16 => sort_ns::<R>(len) / 2,
        _ => sort_ns::<R>(len),
    }
}

/// About how long one thread takes to read so many bytes and do little with them, in nanoseconds.
pub(crate) fn scan_ns(bytes: usize) -> u64 {
    bytes as u64 / 10
}

/// From this many 16-bit keys for each thread on, alone, counting all 65 536 values beats a pass and networks.
pub(crate) const COUNT_16: usize = 1 << 18;

/// Values that a dictionary counts, at most, and the keys that it is made from.
pub(crate) const DICTIONARY: usize = 256;
pub(crate) const COUNTED_SAMPLES: usize = 8192;

/// The keys that show whether it is worth making one.
pub(crate) const FIRST_SAMPLES: usize = 128;

/// From this many keys alone on, a look is taken whether they have few values.
pub(crate) const COUNT_FEW: usize = 1 << 15;

/// Two runs of at most so many keys alone are sorted as any keys are: quicksort takes 2 to 4 ns a key, a merge 6.
pub(crate) const MERGED_KEYS: usize = 1 << 16;

/// Records that are one task of a scan, a merge or a segmented sort.
pub(crate) const TASK: usize = 32 << 10;

/// Keys that a partial sort sorts, at most. Measured on Zen 4, the median of 2^8 `u64`: 1.8 ns a key, and 3.5 by a split.
pub(crate) const SELECT_KEYS: usize = 256;

/// Shares of a merge of runs for each thread: a thread that is interrupted leaves some of its shares to others.
pub(crate) const MERGE_SHARES: usize = 4;

/// Records of each run in a block of a merge, on average, at least: the search for the ends of a block takes time for each run.
const MERGE_PIECE: usize = 128;

/// Words of a merge of two slices that registers merge, at least. Each merge takes up to some 80 words one by one at its end, so registers gain nothing for
/// shorter ones.
pub(crate) const MERGE_BY_REGISTERS: usize = 128;

/// Records of a block of a merge of so many runs: with as much scratch, they fit in half of a core's cache.
pub(crate) fn merge_block<R: Record>(runs: usize) -> usize {
    (tuning().cached_bytes / 4 / size_of::<R>()).max(MERGE_PIECE * runs)
}

/// About how long one thread takes to merge so many records from so many runs, in nanoseconds: one for each record and level, and one to move it.
pub(crate) fn merge_ns(records: usize, runs: usize) -> u64 {
    records as u64 * u64::from(runs.next_power_of_two().ilog2() + 1)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Pair;

    #[test]
    fn parts_of_a_sort_fit_in_the_caches_that_they_are_made_for() {
        for (l2, l3) in [(256 << 10, 8 << 20), (1 << 20, 32 << 20), (2 << 20, 260 << 20)] {
            let tuning = Tuning::of(Machine { l2, l3, is_intel: false });
            assert_eq!(tuning.cached_bytes, l2);
            assert_eq!(tuning.cached_stable_bytes, 4 * tuning.cached_bytes);
            // With as much scratch, half of the cache.
            assert_eq!(2 * tuning.bucket_bytes, l2 / 2);
            assert_eq!(tuning.buffer_bytes, l2 / 8);
            assert_eq!(tuning.stream_bytes, l3 / 8);
            assert_eq!((tuning.narrow_bytes, tuning.far_bytes), (l3, l2 / 2));
        }
        let near = |l2| Tuning::of(Machine { l2, l3: 32 << 20, is_intel: false }).near_bytes;
        assert_eq!([256 << 10, 1 << 20, 2 << 20].map(near), [2 << 20, 8 << 20, 8 << 20]);
    }

    #[test]
    fn networks_take_rows_of_registers() {
        for set in Set::all() {
            for bits in [16, 32, 64] {
                assert_eq!(few_keys(set, bits), 64 * set.lanes(bits), "{} of {bits} bits", set.name());
            }
            assert_eq!(few_keys(set, 8), (64 * set.lanes(16)).min(MOST_BYTES));
            assert_eq!(few_tickets(set), 64 * set.lanes(64));
            // Tickets of words of 16 bits, pairs of bytes, and indices of bytes; keys of 16 bits.
            let short =
                [(16, 0), (8, ROWS_OF_PAIRED_BYTES), (8, ROWS_OF_BYTES)].map(|(bits, rows)| short_tickets(set, bits, rows));
            let (tickets, keys) = match set.lanes(32) {
                16 => ([1024, 128, 256], 1 << 14),
                8 => ([256, 64, 128], 1 << 10),
                _ => ([0; 3], 1 << 9),
            };
            assert_eq!((short, network_keys(set, 16)), (tickets, keys), "{}", set.name());
            assert_eq!(network_keys(set, 32), few_keys(set, 32));
            assert_eq!(quicksort_keys(set, 32) > 0, set.has_splits());
            assert_eq!(most_differences(set), if set.lanes(32) == 16 { 2048 } else { usize::MAX });
        }
    }

    /// Words of 32 bits on Intel's processors gain up to a quarter of the last cache, on others less; narrow and very wide words gain nothing.
    #[test]
    fn quicksort_takes_the_lengths_at_which_it_was_faster() {
        let machine = |is_intel| Machine { l2: 2 << 20, l3: 64 << 20, is_intel };
        assert_eq!([8, 16, 32, 64, 128].map(|bits| quicksort_keys_of(machine(true), bits)), [0, 0, 1 << 22, 1 << 10, 0]);
        assert_eq!([8, 16, 32, 64, 128].map(|bits| quicksort_keys_of(machine(false), bits)), [0, 0, 1 << 13, 1 << 10, 0]);
    }

    /// Each estimate is between what the slower and the faster of two machines took for a record.
    #[test]
    fn estimates_of_sorts_lie_between_those_of_two_machines() {
        let len = 1 << 16;
        let each = |nanoseconds: u64| nanoseconds as f64 / len as f64;
        assert!((2.5..=5.3).contains(&each(sort_ns::<u32>(len))));
        assert!((2.8..=7.8).contains(&each(sort_ns::<u64>(len))));
        assert!((6.0..=13.7).contains(&each(sort_ns::<Pair<u32, u32>>(len))));
        // One pass is a quarter of the work of four, and two are half of it.
        let all = sort_ns::<Pair<u32, u32>>(len);
        let by_bits = |bits| sort_bits_ns::<Pair<u32, u32>>(len, bits);
        assert_eq!([0, 8, 9, 16, 17, 32].map(by_bits), [all / 4, all / 4, all / 2, all / 2, all, all]);
    }

    #[test]
    fn estimates_of_scans_and_merges_grow_with_bytes_and_levels() {
        // 10 GB a second.
        assert_eq!(scan_ns(1_000_000), 100_000);
        // A move, and a comparison for each level of merges of two.
        assert_eq!([1, 2, 3, 4, 5, 16, 17].map(|runs| merge_ns(1000, runs)), [1000, 2000, 3000, 3000, 4000, 5000, 6000]);
    }

    #[test]
    fn a_block_of_a_merge_fits_in_the_cache_but_for_many_runs() {
        let in_cache = tuning().cached_bytes / 4 / size_of::<u64>();
        assert_eq!(merge_block::<u64>(2), in_cache);
        let many = 2 * in_cache / 128;
        assert_eq!(merge_block::<u64>(many), 128 * many);
    }
}
