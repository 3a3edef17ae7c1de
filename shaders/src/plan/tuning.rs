//! The numbers of the plan, and the reasons for them.

use super::{Class, WIDE_RADIX_BITS};

/// The shape of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassShape {
    /// Threads of a workgroup, if the counters of its subgroups fit workgroup memory.
    pub group: u32,
    /// Keys of a thread.
    pub keys: u32,
    /// Slices in which a tile goes through workgroup memory.
    pub slices: u32,
}

/// Returns the shape of a pass on any device. `key_words` and `value_words` are words of 32 bits, `max` is the largest
/// number of keys.
///
/// Registers limit the keys of a thread: each key takes its words, and one for its index. A processor of an H200 has
/// room for three workgroups of 256 threads with 80 registers, for two of 512 with 64, or for two of 256 with 128. The
/// numbers below are the most keys that fit these. Few keys get smaller tiles, so that all 132 processors have work.
///
/// Measured: on an H200, 2^16 `u32` take 70 µs with tiles of 28 keys a thread, 46 µs with tiles of 8.
///
/// No Apple GPU has been measured. The fastest published sort there, forge-sort, has 256 threads with 16 keys of 32
/// bits, or 8 of 64 bits: some 36 words a thread. Those GPUs have tens of processors. Tiles of half that size give work
/// to all of them.
pub fn pass(class: Class, key_words: u32, value_words: u32, max: u64) -> PassShape {
    let (group, keys) = if class == Class::Apple {
        let keys = (36 / (1 + key_words + value_words)).min(16) & !1;
        (GROUP, if max <= FEW_ON_APPLE { (keys / 2).next_multiple_of(2) } else { keys })
    } else {
        let (group, keys) = match (key_words, value_words) {
            (1, 0) => (GROUP, 28),
            (1, 1) => (512, 14),
            (2, 0) => (GROUP, 32),
            (2, 1) => (GROUP, 20),
            // Even, so that both slices have the same size.
            _ => (GROUP, 30 / (1 + key_words + value_words) * 2),
        };
        (group, spread(keys, max))
    };
    let bytes = 4 * group * key_words.max(value_words);
    let slices = if keys.div_ceil(2) * bytes > SLICE_BYTES { 4 } else { 2 };
    PassShape { group, keys, slices }
}

/// Returns the shape of a pass over so many keys that tiles may be large. It needs a device with room for such
/// workgroups and their memory; `None` if [`pass`] is to be taken. The workgroups that run on a processor at a time
/// take 42 to 48 KB of workgroup memory together.
///
/// Measured: on an H200, the fastest shapes of those tried, in parentheses the time with the shape of [`pass`]:
/// - 2^26 `u32`: 1.27 ms (1.34 ms);
/// - 2^26 `u64` with `u32`: 5.03 ms (5.46 ms);
/// - 2^24 `u32` with `u64`: 722 µs (770 µs);
/// - 2^24 `u64` with `u64`: 1664 µs (1885 µs).
///
/// For `u32` with `u32` and for `u64`, none was faster than [`pass`]. Other kinds and other devices were not measured.
pub fn large_pass(class: Class, key_words: u32, value_words: u32, max: u64) -> Option<PassShape> {
    let (group, keys) = match (key_words, value_words) {
        (1, 0) => (384, 30),
        (1, 2) => (768, 14),
        (2, 1) => (640, 18),
        (2, 2) => (512, 20),
        _ => return None,
    };
    (class != Class::Apple && max > FEW[1]).then_some(PassShape { group, keys, slices: 2 })
}

/// The most workgroup memory that a slice takes on any device. On an H200 the workgroups of a processor seem to share
/// 48 KiB, which must have room for two of 256 threads.
///
/// Measured: 2^26 `u64` on an H200 take 5.3 ms with 26 keys a thread in two slices, 4.1 ms with 24 in four, and 3.77 ms
/// with 32 in four, the most for 128 registers. Keys of 128 bits, 12 of which also take four slices, were not measured.
const SLICE_BYTES: u32 = 23 << 10;

/// Returns how many of the `keys` that a thread can hold it gets, if there are `max` keys in all.
pub(super) fn spread(keys: u32, max: u64) -> u32 {
    let sevenths = [2, 4, 7][FEW.into_iter().filter(|&few| max > few).count()];
    (keys * sevenths / 7).next_multiple_of(2).max(2)
}

/// The most keys that get the smallest tiles, and the most keys that get medium ones.
const FEW: [u64; 2] = [1 << 18, 1 << 21];

/// The most keys that get the smaller tiles on Apple's GPUs.
const FEW_ON_APPLE: u64 = 1 << 17;

/// Returns the numbers of keys from which on passes have another shape. The numbers of [`FEW`] apply to measured
/// shapes, to wide digits and to devices other than Apple's; that of [`FEW_ON_APPLE`] to the built-in shapes on
/// Apple's.
pub(super) fn steps(class: Class) -> impl Iterator<Item = u64> {
    FEW.into_iter().chain((class == Class::Apple).then_some(FEW_ON_APPLE)).map(|few| few + 1)
}

/// Returns the threads of a workgroup and the keys of a thread, for passes by wide digits. A tile has 2048 status
/// words: the larger the tile, the less they weigh. So a thread holds about twice as many words as in other passes. The
/// workgroup has 256 threads if 32 KiB of counters fit, else 128. Workgroup memory limits the number of workgroups
/// anyway, so that there are enough registers.
///
/// Measured: on an H200, sorts by wide digits have 0.4 to 0.5 × the speed of sorts by digits of 8 bits.
pub fn wide_pass(key_words: u32, value_words: u32, max: u64) -> (u32, u32) {
    (GROUP, spread(WIDE_WORDS / (1 + key_words + value_words) / 2 * 2, max))
}

/// Words that a thread of a pass by wide digits holds: of its keys, their values and their indices.
const WIDE_WORDS: u32 = 128;

// Two counts share a word. Neither a tile nor the keys that a workgroup of the histogram counts may overflow a half.
const _: () = assert!(GROUP * WIDE_WORDS / 2 < 1 << 16 && GROUP * MAX_KEYS_IN_HALVES < 1 << 16);

/// Slices of a tile of wide digits. With the offsets of the digits, a slice takes no more workgroup memory than the
/// counters.
pub const WIDE_SLICES: u32 = 4;

/// The most keys of a slice that a thread of a pass reads before it writes them. Its keys and indices leave registers
/// for no more.
pub const MAX_CHUNK: u32 = 8;

/// The most workgroups of a pass: they take tile after tile. No device runs more of them at a time. If a pass is not
/// scheduled, few workgroups return sooner than many.
///
/// Measured: on an H200, 37 000 workgroups, one for each tile of 7168 of 2^28 keys, took 100 µs to return.
pub const PASS_GROUPS: u32 = 1 << 10;

/// Returns the keys of a batch: the buckets that start in so many keys. It is a power of two, since kernels divide by
/// it.
///
/// A batch is read from one buffer and sorted in two others. Many of Apple's GPUs have a cache of 24 MiB: in a model of
/// it (`tests/cache.rs`), three times 4 MiB stay in the cache, and three times 8 MiB do not. Other devices have larger
/// caches, 60 MB on an H200, and more processors to keep busy: 8 MiB of `u32` are 293 tiles, and an H200 runs 396 at a
/// time.
///
/// Measured: the hybrid sorts 2^26 `u32` on an H200 at 0.5 × OneSweep's speed.
pub fn batch_keys(class: Class, key_words: u32, value_words: u32) -> u32 {
    let bytes: u32 = if class == Class::Apple { 4 << 20 } else { 8 << 20 };
    1 << (bytes / (4 * (key_words + value_words))).ilog2()
}

/// Workgroups that write the table of buckets, of up to 2 MB. Each of them adds up the tiles of all buckets.
pub const TABLE_GROUPS: u32 = 16;

/// Threads of a workgroup of the network that sorts short segments.
pub const NETWORK_GROUP: u32 = 128;

/// The most workgroups of the network. They take segments until none is left.
pub const NETWORK_GROUPS: u32 = 1 << 12;

/// The most workgroups that put segments on lists.
pub const LIST_GROUPS: u32 = 1 << 10;

/// The most workgroups that sort medium and long segments.
pub const SWEEP_GROUPS: u32 = 1 << 10;

/// Threads of a workgroup, if nothing else is specified.
pub const GROUP: u32 = 256;

/// Keys of a thread of a pass without subgroup operations.
pub const COUNTER_KEYS: u32 = 16;

/// Threads of a workgroup without subgroup operations. The counters of all threads must fit the smallest workgroup
/// memory, 16 KiB.
pub const COUNTER_GROUP: u32 = 128;

/// Returns the threads of the workgroup that sorts everything in one launch, and the most keys of a thread. `key_words`
/// and `value_words` are words of 32 bits, `max` is the largest number of keys. The workgroup is smaller where its
/// counters do not fit workgroup memory.
///
/// The keys of a thread, their indices and their positions take at most 80 registers; an NVIDIA GPU has 128 for each
/// thread. A thread gets no more keys than `max` needs, since the time of a launch grows with the length of its code.
///
/// Measured, on an H200: 1024 `u32` take 11.9 µs with 256 threads of 4 keys, 17.7 µs with 256 threads that can hold 16.
/// 8192 `u32` take 26.4 µs with 512 threads of 16, 24.9 µs with 1024 of 8, which were not tried with values.
pub fn single(key_words: u32, value_words: u32, max: u64) -> (u32, u32) {
    let group = if max <= 1024 { 256 } else { 512 };
    let words = value_words.max(key_words + 1) + value_words.min(1);
    let needed = max.div_ceil(group.into()).next_power_of_two().max(4) as u32;
    (group, (80 / words).min(16).min(needed))
}

/// The most keys of a thread if one workgroup selects from a segment.
pub const SELECT_KEYS: u32 = 16;

/// Returns how many keys a thread of the histogram counts, if there are up to `max` keys. So many that the sums over a
/// workgroup take little time beside the reads. For few keys it is fewer, so that many workgroups have work.
pub fn histogram_keys(max: u64) -> u32 {
    let most = if max > FEW_TO_COUNT { MAX_HISTOGRAM_KEYS } else { MAX_HISTOGRAM_KEYS / 2 };
    (max / (128 * u64::from(GROUP))).next_power_of_two().clamp(16, most.into()) as u32
}

/// The most keys of a thread.
///
/// Measured: on an H200, the histogram of 2^26 `u32` that differ in the low 16 bits only takes 101 µs, and 115 to 118 µs with
/// 128 keys a thread.
const MAX_HISTOGRAM_KEYS: u32 = 256;

/// The most keys for which a thread counts half of that. With more keys a thread, 2^24 keys would give less than two
/// workgroups to each of the 132 processors of an H200.
const FEW_TO_COUNT: u64 = 1 << 24;

/// The most keys of a thread whose counts share words in pairs: those of a workgroup must not overflow a half.
pub const MAX_KEYS_IN_HALVES: u32 = 128;

/// The most keys of a thread that counts a digit for a selection. More were not measured.
pub const MAX_PICK_KEYS: u32 = 128;

/// Words, or keys, that a workgroup of a copying kernel handles at a time.
pub const COPY_TILE: u32 = 1 << 14;

/// The most workgroups of a copy that may not be scheduled: fewer workgroups return sooner. Measured on an H200: 4096
/// take 15 µs to return, 1024 take 8 µs, 528 some 1 µs less. With 264, sorts that do copy are slower.
pub const COPY_GROUPS: u32 = 3 << 7;

/// Reads of a status word in vain, after which a workgroup counts the tile itself. They take some 100 µs on a fast
/// device: longer than any tile that a workgroup is working on.
pub const SPIN_LIMIT: u32 = 512;

/// Bits of a word in which a subgroup of up to 32 lanes counts its keys of a digit. The bits above sum up the lanes'
/// arrival codes.
pub const COUNT_BITS: u32 = 11;

/// Banks of workgroup memory. Lanes wait for each other at words that are a multiple of this apart.
pub const BANKS: u32 = 32;

/// Subgroups of at least this many lanes get kernels with unrolled loops over a thread's keys: those of GPUs. On a CPU,
/// unrolled loops would only take longer to compile. Measured: on an H200, a pass takes a sixth less time with them.
pub const UNROLLED_LANES: u32 = 32;

/// Status words that a look-back reads at a time. Measured on an H200: a pass takes 1/50 longer with 8; with smaller
/// tiles, 1/20 longer with 2.
pub const LOOK: u32 = 4;

/// Wide digits for which a look-back reads a status word at a time: as many as a thread of the largest workgroup owns.
pub const LOOK_DIGITS: u32 = (1 << WIDE_RADIX_BITS) / GROUP;

/// Keys that a thread of the histogram loads at a time.
pub const HISTOGRAM_BATCH: u32 = 8;

/// Keys that one workgroup selects from. They are read again and again, and few enough to stay in a cache.
pub const SELECT_SEGMENT: u32 = 1 << 14;

/// Threads of a workgroup that counts whole keys. Its counters take most of a processor's workgroup memory, so that
/// each processor runs one such workgroup.
pub const COUNT_GROUP: u32 = 1024;

/// The most counters of each value of 8 bits: one for each lane of a subgroup, so that no two lanes count in the same
/// bank.
pub const MOST_COLUMNS: u32 = 32;

/// The most teams of workgroups that count whole keys. Each adds its counts to the state: fewer teams add less.
pub const COUNT_TEAMS: u32 = 128;

/// Returns the keys of a team, if there are up to `max` keys. They are more than there are values to add; for few keys
/// they are fewer, so that several workgroups have work.
pub fn team_keys(max: u64) -> u32 {
    (max / u64::from(COUNT_TEAMS)).next_power_of_two().clamp(1 << 14, 1 << 17) as u32
}

// Threads may add to a counter after it is half full and before one of them clears it. All of them together must not
// overflow it.
const _: () = assert!(COUNT_GROUP * HISTOGRAM_BATCH * 2 < 1 << 15);

/// From so many keys of 16 bits on, counting is faster than two passes. Measured on an H200: 2^24 keys take 236 µs,
/// with passes 307 µs; 2^22 take 162 µs, with passes 132 µs.
pub const COUNT_16: u64 = 1 << 24;

/// The most workgroups that share the values of 16 bits: each of them reads all keys of its team. More than an H200
/// needs were not measured.
pub const COUNT_16_SPANS: u32 = 3;

/// Values of a digit whose counts one thread adds up. A selection does so to find the digit of the last selected key.
pub const DIGIT_RUN: u32 = 16;

/// Vectors that a team of threads reads side by side: enough loads at a time to hide how long each takes.
pub const DISTANCE_RUN: u32 = 4;

/// The most threads of a team: together they read 512 bytes at a time.
pub const DISTANCE_TEAM: u32 = 32;
