//! The numbers of the plan, and why they are what they are.

/// Threads of a group of a pass, if the device's subgroups are large enough that their counters fit, and keys that each holds, by the words
/// of a key and of its value. What limits the keys are registers: a key takes its words and one for its place, and on an H200, where a
/// thread of more than 128 registers leaves room for one group instead of two, sixty to seventy words were the fastest of all tried.
pub const fn pass(key_words: u32, value_words: u32) -> (u32, u32) {
    match (key_words, value_words) {
        (1, 0) => (GROUP, 28),
        (1, 1) => (384, 20),
        (2, 0) => (GROUP, 22),
        (2, 1) => (GROUP, 18),
        // Even, for two slices.
        _ => (GROUP, 30 / (1 + key_words + value_words) * 2),
    }
}

/// Parts in which the tile of a pass goes through workgroup memory. On an H200 the groups of a processor seem to have 48 KiB of it in all;
/// 28 keys a thread in two parts take a seventh less time than 22, the most that fit twice, in one.
pub const PASS_SLICES: u32 = 2;

/// Threads of a group, where nothing else is said.
pub const GROUP: u32 = 256;

/// Keys that a thread of a pass holds without subgroup operations.
pub const COUNTER_KEYS: u32 = 16;

/// Threads of a group without subgroup operations: the counters of all of them must fit the least workgroup memory, 16 KiB.
pub const COUNTER_GROUP: u32 = 128;

/// Keys that a thread holds when one group sorts everything.
pub const SINGLE_KEYS: u32 = 16;

/// Keys whose digits one group counts: so many that adding its counts up is small beside reading them.
pub const HISTOGRAM_TILE: u32 = 1 << 15;

/// Words, or keys, that one group of a copying kernel handles.
pub const COPY_TILE: u32 = 1 << 14;

/// Looks at a status word in vain before a tile is counted on behalf of others. Some 100 µs on a fast device: longer than any tile takes
/// that is being worked on.
pub const SPIN_LIMIT: u32 = 512;

/// Lanes of a subgroup from which on loops over a thread's keys are written out: those of GPUs. A pass on an H200 takes a sixth less time
/// for it; on a CPU it would only take longer to compile.
pub const UNROLLED_LANES: u32 = 32;

/// Status words that a look-back reads at a time. On an H200, 8 took a fiftieth longer; with smaller tiles 2 took a twentieth longer.
pub const LOOK: u32 = 4;

/// Keys that a thread of the histogram loads at a time.
pub const HISTOGRAM_BATCH: u32 = 8;

/// Keys that one group selects from: few enough that what they are read for, again and again, stays in a cache.
pub const SELECT_SEGMENT: u32 = 1 << 14;

/// Values of a digit whose counts one thread adds up, where the digit of the last selected key is looked for.
pub const DIGIT_RUN: u32 = 16;

/// Vectors that a team of threads reads side by side: enough loads under way to hide what each takes.
pub const DISTANCE_RUN: u32 = 4;

/// Threads of a team, at most: they read 512 bytes at a time.
pub const DISTANCE_TEAM: u32 = 32;
