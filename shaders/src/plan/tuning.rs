//! The built-in numbers of plans, each with its reason or its measurement.

use super::architecture::Passes;
use super::class::Class;
use super::digit::WIDE_RADIX_BITS;

/// The shape of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassShape {
    /// Threads of a workgroup. A plan takes fewer if the subgroup histograms do not fit workgroup memory.
    pub group: u32,
    /// Keys of a thread.
    pub keys: u32,
    /// Slices in which a tile goes through workgroup memory.
    pub slices: u32,
}

/// Returns the shape of a pass on any device. `key_words` and `value_words` are words of 32 bits, `max` is the largest
/// number of keys.
///
/// Registers limit the keys per thread: each key takes its words, and one word for its rank. A processor of an H200 has
/// registers for three workgroups of 256 threads with 80 registers each, for two of 512 with 64, or for two of 256 with
/// 128. The numbers of [`Passes::PerKind`] are the most keys that fit these registers. Short inputs get smaller tiles, so
/// that all 132 processors have work.
///
/// Measured: on an H200, 2^16 `u32` take 70 µs with 28 keys per thread, 46 µs with 8.
pub fn pass(class: Class, key_words: u32, value_words: u32, max: u64) -> PassShape {
    let (group, keys) = match class.architecture().passes.value {
        Passes::WithinWords { words, few } => {
            let keys = (words / (1 + key_words + value_words)).min(16) & !1;
            (GROUP, if max <= few { (keys / 2).next_multiple_of(2) } else { keys })
        }
        Passes::PerKind => {
            let (group, keys) = match (key_words, value_words) {
                (1, 0) => (GROUP, 28),
                (1, 1) => (512, 14),
                (2, 0) => (GROUP, 32),
                (2, 1) => (GROUP, 20),
                // The number is even, so that both slices have the same size.
                _ => (GROUP, 30 / (1 + key_words + value_words) * 2),
            };
            (group, spread(keys, max))
        }
    };
    let bytes = 4 * group * key_words.max(value_words);
    let slices = if keys.div_ceil(2) * bytes > SLICE_BYTES { 4 } else { 2 };
    PassShape { group, keys, slices }
}

/// Returns the shape of a pass over more than 2^21 keys, for which large tiles are faster. Returns `None` if the shape of
/// [`pass`] should be used. The device must support workgroups of this size and their memory. On an H200, the workgroups
/// that run on a processor at the same time use 42 to 48 KB of workgroup memory together.
///
/// Measured: on an H200, the fastest of the tried shapes; in parentheses, the time with the shape of [`pass`]:
/// - 2^26 `u32`: 1.27 ms (1.34 ms);
/// - `u32` with `u32` (`2026-11-28-pairs.txt`): 2^22 198 µs (227 µs), 2^24 582 µs (590 µs), 2^26 1.98 ms (2.09 ms), 2^27 3.84 ms (4.02 ms); on an H100,
///   2^26 2.16 ms (2.46 ms);
/// - 2^26 `u64` with `u32`: 5.03 ms (5.46 ms);
/// - 2^24 `u32` with `u64`: 722 µs (770 µs);
/// - 2^24 `u64` with `u64`: 1664 µs (1885 µs).
///
/// For `u64`, no shape was faster than that of [`pass`]. Other kinds and other devices were not measured.
pub fn large_pass(class: Class, key_words: u32, value_words: u32, max: u64) -> Option<PassShape> {
    let (group, keys) = match (key_words, value_words) {
        (1, 0) => (384, 30),
        (1, 1) => (512, 32),
        (1, 2) => (768, 14),
        (2, 1) => (640, 18),
        (2, 2) => (512, 20),
        _ => return None,
    };
    let per_kind = class.architecture().passes.value == Passes::PerKind;
    (per_kind && max > FEW[1]).then_some(PassShape { group, keys, slices: 2 })
}

/// The most workgroup memory of a slice, on any device. On an H200 the workgroups of a processor seem to share 48 KiB,
/// which must be enough for two workgroups of 256 threads.
///
/// Measured: 2^26 `u64` on an H200 take 5.3 ms with 26 keys per thread in two slices, 4.1 ms with 24 in four, and 3.77 ms
/// with 32 in four; 32 are the most for 128 registers. Keys of 128 bits (12 keys per thread, also in four slices) were not
/// measured.
const SLICE_BYTES: u32 = 23 << 10;

/// Returns the keys per thread for an input of up to `max` keys. `keys` is the number for long inputs.
pub(super) fn spread(keys: u32, max: u64) -> u32 {
    let sevenths = [2, 4, 7][FEW.into_iter().filter(|&few| max > few).count()];
    (keys * sevenths / 7).next_multiple_of(2).max(2)
}

/// The longest input with the smallest tiles, and the longest input with medium tiles.
const FEW: [u64; 2] = [1 << 18, 1 << 21];

/// Returns the numbers of keys at which the shape of passes changes. The numbers of [`FEW`] apply to tuned shapes, to wide
/// digits and to [`Passes::PerKind`].
pub(super) fn steps(class: Class) -> impl Iterator<Item = u64> {
    let few = match class.architecture().passes.value {
        Passes::WithinWords { few, .. } => Some(few),
        Passes::PerKind => None,
    };
    FEW.into_iter().chain(few).map(|few| few + 1)
}

/// Returns the threads of a workgroup and the keys per thread for passes with wide digits. A tile has 2048 status words: the
/// larger the tile, the fewer status words per key. So a thread has about twice as many words of keys as in other passes.
/// The workgroup has 256 threads if 32 KiB of counters fit workgroup memory, else 128. Workgroup memory limits the number
/// of workgroups more than registers do.
///
/// Measured: on an H200, sorts with wide digits have 0.4 to 0.5 × the speed of sorts with digits of 8 bits.
pub fn wide_pass(key_words: u32, value_words: u32, max: u64) -> (u32, u32) {
    (GROUP, spread(WIDE_WORDS / (1 + key_words + value_words) / 2 * 2, max))
}

/// The words of keys, values and ranks per thread of a pass with wide digits.
const WIDE_WORDS: u32 = 128;

// Two counts of 16 bits share a word. The keys of a tile, and of a workgroup of the histogram, must not overflow a count.
const _: () = assert!(GROUP * WIDE_WORDS / 2 < 1 << 16 && GROUP * MAX_KEYS_IN_HALVES < 1 << 16);

/// Slices of a tile with wide digits. A slice and the offsets of the digits together take no more workgroup memory than the
/// counters.
pub const WIDE_SLICES: u32 = 4;

/// The most keys of a slice that a thread of a pass reads before it writes them. The registers that its keys and ranks leave
/// free limit this number.
pub const MAX_CHUNK: u32 = 8;

/// The most workgroups of a pass. Each takes tile after tile, and no device runs more workgroups at a time. If a pass is not
/// scheduled, its workgroups return at once; fewer workgroups take less time for this.
///
/// Measured: on an H200, 37 000 workgroups, one for each tile of 7168 of 2^28 keys, took 100 µs to return.
pub const PASS_GROUPS: u32 = 1 << 10;

/// Returns the keys of a batch: a batch is the buckets that start within this many keys. It is a power of two, since
/// kernels divide by it.
///
/// The passes over a batch read one buffer, and then read and write two others. Many of Apple's GPUs have a cache of 24 MiB.
/// In a model of this cache (`tests/cache.rs`), three times 4 MiB stay in the cache, and three times 8 MiB do not. Other
/// devices have larger caches (60 MB on an H200) and more processors: 8 MiB of `u32` are 293 tiles, and an H200 runs 396
/// at a time.
///
/// Measured: the hybrid sorts 2^26 `u32` on an H200 at 0.5 × OneSweep's speed.
pub fn batch_keys(class: Class, key_words: u32, value_words: u32) -> u32 {
    1 << (class.architecture().batch_bytes.value / (4 * (key_words + value_words))).ilog2()
}

/// The workgroups that write the table of buckets, which has up to 2 MB. Each of them adds up the tiles of all buckets.
pub const TABLE_GROUPS: u32 = 16;

/// Threads of a workgroup of the network that sorts short segments.
pub const NETWORK_GROUP: u32 = 128;

/// The most workgroups of the network. Each takes segments until none is left.
pub const NETWORK_GROUPS: u32 = 1 << 12;

/// The most workgroups that add segments to lists.
pub const LIST_GROUPS: u32 = 1 << 10;

/// The most workgroups that sort medium and long segments.
pub const SWEEP_GROUPS: u32 = 1 << 10;

/// The default number of threads of a workgroup.
pub const GROUP: u32 = 256;

/// Keys of a thread of a pass without subgroup operations.
pub const COUNTER_KEYS: u32 = 16;

/// Threads of a workgroup without subgroup operations. The counters of all threads must fit the smallest workgroup memory
/// of all devices, 16 KiB.
pub const COUNTER_GROUP: u32 = 128;

/// Returns the threads of the workgroup of a single tile, and the most keys per thread. `key_words` and `value_words` are
/// words of 32 bits, `max` is the largest number of keys. A plan takes fewer threads if the counters do not fit workgroup
/// memory.
///
/// A thread has its keys with their ranks, or its values, in registers; with values, also an index of each key. These words
/// take at most 80 registers; an NVIDIA GPU has 128 for each thread. A thread gets no more keys than `max` needs, since the
/// time of a launch grows with the length of its code.
///
/// Measured, on an H200: 1024 `u32` take 11.9 µs with 256 threads of 4 keys, and 17.7 µs with 256 threads of up to 16 keys.
/// 8192 `u32` take 26.4 µs with 512 threads of 16 keys, and 24.9 µs with 1024 of 8; the latter was not tried with values.
pub fn single(key_words: u32, value_words: u32, max: u64) -> (u32, u32) {
    let group = if max <= 1024 { 256 } else { 512 };
    let words = value_words.max(key_words + 1) + value_words.min(1);
    let needed = max.div_ceil(group.into()).next_power_of_two().max(4) as u32;
    (group, (80 / words).min(16).min(needed))
}

/// The most keys per thread if one workgroup selects from a segment.
pub const SELECT_KEYS: u32 = 16;

/// Returns the keys per thread of the histogram, for up to `max` keys. The number is large enough that the sums over a
/// workgroup take little time compared with the reads. For short inputs it is smaller, so that many workgroups have work.
pub fn histogram_keys(max: u64) -> u32 {
    let most = if max > FEW_TO_COUNT { MAX_HISTOGRAM_KEYS } else { MAX_HISTOGRAM_KEYS / 2 };
    (max / (128 * u64::from(GROUP))).next_power_of_two().clamp(16, most.into()) as u32
}

/// The most keys per thread of the histogram.
///
/// Measured: on an H200, the histogram of 2^26 `u32` that differ in the low 16 bits only takes 101 µs; with 128 keys per
/// thread it takes 115 to 118 µs.
const MAX_HISTOGRAM_KEYS: u32 = 256;

/// The longest input for which a thread counts half of [`MAX_HISTOGRAM_KEYS`]. With more keys per thread, 2^24 keys would
/// give less than two workgroups to each of the 132 processors of an H200.
const FEW_TO_COUNT: u64 = 1 << 24;

/// The most keys per thread if two counts share a word: the keys of a workgroup must not overflow a count of 16 bits.
pub const MAX_KEYS_IN_HALVES: u32 = 128;

/// The most keys per thread when a selection counts a digit. More were not measured.
pub const MAX_PICK_KEYS: u32 = 128;

/// The words, or keys, that a workgroup of a copying kernel handles at a time.
pub const COPY_TILE: u32 = 1 << 14;

/// The most workgroups of a copy. A copy that is not scheduled returns faster with fewer workgroups.
///
/// Measured on an H200: 4096 workgroups take 15 µs to return, 1024 take 8 µs, 528 about 1 µs less. With 264, sorts whose
/// copy is scheduled are slower.
pub const COPY_GROUPS: u32 = 3 << 7;

/// The number of reads of an empty status word after which a workgroup recounts the tile. On a fast device these reads take
/// about 100 µs: longer than a running workgroup takes for a tile.
pub const SPIN_LIMIT: u32 = 512;

/// The low bits of a counter, which have the number of keys. A subgroup of up to 32 lanes counts its keys of a digit there.
/// The bits above have the sum of the lanes' arrival codes.
pub const COUNT_BITS: u32 = 11;

/// Banks of workgroup memory. Lanes that access different words of one bank wait for each other: words whose distance is a
/// multiple of this.
pub const BANKS: u32 = 32;

/// The fewest lanes of a subgroup for which loops over a thread's keys are unrolled: those of GPUs. On a CPU, unrolled loops
/// would only take longer to compile.
///
/// Measured: on an H200, a sort whose passes have loops that are not unrolled takes 1.4 to 1.5 times as long.
pub const UNROLLED_LANES: u32 = 32;

/// The status words that a look-back reads at a time.
///
/// Measured on an H200: a pass takes 1/50 longer with 8; with smaller tiles, it takes 1/20 longer with 2.
pub const LOOK: u32 = 4;

/// The tiles that a workgroup looks back at together, one for each thread, when it finds runs. A
/// smaller workgroup looks back at as many tiles as it has threads.
///
/// When a kernel starts, as many tiles as run at a time have published no sums over earlier tiles, about 1000 on an H200.
///
/// Measured (`nvidia-h200/2026-11-28-runs.txt`): on an H200, searches in 2^24 and 2^27 `u32` with 32 and 64 tiles take 1.0 to 1.03 times as long, with
/// 256 and 512 tiles 1.02 to 1.3 times.
pub const LOOK_TILES: u32 = 128;

/// A workgroup that finds runs looks this often at an empty status word; then it counts the tile of that word itself. A look has about eight
/// barriers, so it takes longer than one of the reads of [`SPIN_LIMIT`].
///
/// No measurement chose this number.
pub const LOOK_LIMIT: u32 = SPIN_LIMIT / 8;

/// Returns the threads of a workgroup and the keys per thread when runs are found, for up to `max` keys: at most 32 keys, the
/// bits of a word of marks. Keys of several words take fewer, so that a tile has about the same bytes. For short inputs there
/// are fewer keys, so that many workgroups have work. `unrolls` tells whether the device unrolls loops; if not, the shape is
/// the same for all lengths, and not measured.
///
/// Measured (`nvidia-h200/2026-11-28-runs.txt`): on an H200, 2^27 `u32` in runs of 4 take 557 µs for the first key of each run,
/// 761 µs with the lengths; with 256 threads of 16 keys 598 and 821 µs. 2^20 take 17.9 and 19.6 µs; with 256 threads of 8 keys
/// 19.9 and 21.3 µs. In runs of 1, 2^27 take 672 and 896 µs instead of 615 and 869 µs. Fewer than 8 keys were not measured.
pub fn run_tile(key_words: u32, max: u64, unrolls: bool) -> (u32, u32) {
    if !unrolls {
        return (GROUP, if key_words > 2 { 8 } else { 16 });
    }
    let words = [4, 8, 32][FEW.into_iter().filter(|&few| max > few).count()];
    (512, (words / key_words).max(2))
}

/// The values of a wide digit for which a thread looks back at a time: those that a thread of the largest workgroup sums
/// up.
pub const LOOK_DIGITS: u32 = (1 << WIDE_RADIX_BITS) / GROUP;

/// Keys that a thread of the histogram loads at a time.
pub const HISTOGRAM_BATCH: u32 = 8;

/// The keys that one workgroup selects from. The workgroup reads them repeatedly; they are few enough to stay in a cache.
pub const SELECT_SEGMENT: u32 = 1 << 14;

// What is selected from a segment is at most a quarter of it, so a selection has few levels.
const _: () = assert!(GROUP * SELECT_KEYS <= SELECT_SEGMENT / 4);

/// Threads of a workgroup of a counting sort. Its counters take most of a processor's workgroup memory, so each processor
/// runs one such workgroup at a time.
pub const COUNT_GROUP: u32 = 1024;

/// The most counters of each value of 8 bits: one for each lane of a subgroup, so that no two lanes use counters in the same
/// bank.
pub const MOST_COLUMNS: u32 = 32;

/// The most teams of workgroups of a counting sort. Each team adds its counts to the state, so fewer teams do fewer
/// additions.
pub const COUNT_TEAMS: u32 = 128;

/// Returns the keys of a team of a counting sort, for up to `max` keys. For long inputs, a team has more keys than values to
/// add to the state. For short inputs, a team has fewer keys, so that several workgroups have work.
pub fn team_keys(max: u64) -> u32 {
    (max / u64::from(COUNT_TEAMS)).next_power_of_two().clamp(1 << 14, 1 << 17) as u32
}

// After a counter is half full, other threads may add to it before one thread clears it. All threads together must not
// overflow the counter.
const _: () = assert!(COUNT_GROUP * HISTOGRAM_BATCH * 2 < 1 << 15);

/// The most workgroups of a team that share the values of 16 bits. Each of them reads all keys of its team. An H200 needs
/// this many; more were not measured.
pub const COUNT_16_SPANS: u32 = 3;

/// The values of a digit whose counts one thread of a selection adds up. From these sums, the selection finds the digit of
/// the last selected key.
pub const DIGIT_RUN: u32 = 16;

/// The vectors that a team of threads reads at a time: enough loads to hide the latency of each load.
pub const DISTANCE_RUN: u32 = 4;

/// The most threads of a team that reads a vector together: they read 512 bytes at a time.
pub const DISTANCE_TEAM: u32 = 32;

/// Returns the keys per thread of a merge. `key_words` and `value_words` are the words of a key and of a value. With fewer keys,
/// more threads of a processor wait for memory at a time; with more, each search for the start of a thread's keys serves more.
/// The number is odd: the threads of a subgroup write keys that are this many words apart, and then use all banks.
///
/// Measured: on an H200, 2^28 `u32` in two runs, keys per ns with 7; 9; 11; 15; 19 keys per thread: 249; 262; 259; 250; 206.
/// 2^27 `u32` with `u32`, with 5; 7; 9; 11; 15: 160; 168; 162; 148; 127. 2^27 `u64`, with 5; 7; 9; 11: 121; 124; 107; 112.
/// Longer keys and values were not measured.
pub fn merge_keys(key_words: u32, value_words: u32) -> u32 {
    match (key_words, value_words) {
        (1, 0) => 9,
        (1 | 2, _) => 7,
        _ => 3,
    }
}

/// The most workgroups that merge tiles. Each takes tiles until none is left. It is many times what a device runs at a time,
/// so that all end at about the same time. Steps of a merge that do nothing return faster with fewer workgroups.
pub const MERGE_GROUPS: u32 = 1 << 12;

/// The most workgroups that find the boundaries of the tiles of a merge.
pub const PATH_GROUPS: u32 = 1 << 10;
