//! The numbers of the plan, and why they are what they are.

use super::{Class, WIDE_RADIX_BITS};

/// How a pass is cut up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassShape {
    /// Threads of a group, if the device's subgroups are large enough that their counters fit.
    pub group: u32,
    /// Keys that each holds.
    pub keys: u32,
    /// Parts in which a tile goes through workgroup memory.
    pub slices: u32,
}

/// The shape of a pass on any device, by the words of a key and of its value and by the most keys that there can be. What limits the keys are
/// registers: a key takes its words and one for its place. An H200 has room for three groups of 256 threads of 80 registers, or two of 512 of
/// 64, or of 256 of 128: as many keys as leave that. Of few keys there have to be tiles for all its 132 processors: 2^16 `u32` took 70 µs by
/// tiles of 28 keys a thread, 46 by those of 8.
///
/// No Apple GPU has been measured. What the fastest published sort there takes, forge-sort, is 256 threads of 16 keys of 32 bits, or 8 of
/// 64: some 36 words a thread. It has tens of processors, for which halves of that will do to have work for all.
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
            // Even, so that slices are of one size.
            _ => (GROUP, 30 / (1 + key_words + value_words) * 2),
        };
        (group, spread(keys, max))
    };
    let bytes = 4 * group * key_words.max(value_words);
    let slices = if keys.div_ceil(2) * bytes > SLICE_BYTES { 4 } else { 2 };
    PassShape { group, keys, slices }
}

/// The shape of a pass over so many keys that tiles may be large, for devices that have room for such groups and their memory. The fastest that were
/// tried on an H200; the groups that a processor has at a time take 42 to 48 KB together. 2^26 `u32` took 1.27 ms (1.34 by the shape for any
/// device), `u64` with `u32` 5.03 (5.46); 2^24 `u32` with `u64` 722 µs (770), `u64` with `u64` 1664 (1885). For `u32` with `u32` and for `u64`
/// none was faster than that for any device; others were not tried, nor other devices.
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

/// Workgroup memory that a slice takes on any device, at most. On an H200 the groups of a processor seem to have 48 KiB of it in all, and there
/// must be room for two of 256 threads: 2^26 `u64` took 5.3 ms by 26 keys a thread in two slices, 4.1 by 24 in four, and 3.77 by 32, the most for
/// 128 registers. That 12 keys of 128 bits go the same way was not measured.
const SLICE_BYTES: u32 = 23 << 10;

/// Of `keys` that a thread can hold, how many it gets if there are `max` in all.
pub(super) fn spread(keys: u32, max: u64) -> u32 {
    let sevenths = [2, 4, 7][FEW.into_iter().filter(|&few| max > few).count()];
    (keys * sevenths / 7).next_multiple_of(2).max(2)
}

/// The most keys that are spread over as many groups as that takes, and the most that are spread over some more.
const FEW: [u64; 2] = [1 << 18, 1 << 21];

/// The same on Apple's GPUs.
const FEW_ON_APPLE: u64 = 1 << 17;

/// Numbers of keys from which on passes have another shape: on Apple's GPUs those of the one list by the built-in shapes, of the other by tuned ones
/// and of wide digits.
pub(super) fn steps(class: Class) -> impl Iterator<Item = u64> {
    FEW.into_iter().chain((class == Class::Apple).then_some(FEW_ON_APPLE)).map(|few| few + 1)
}

/// The same for passes by wide digits. The larger a tile, the less its 2048 status words weigh: so each thread holds twice as many words, of 256
/// threads if 32 KiB of counters fit, else of 128. Groups are few for their memory in any case, so that registers are there. An H200
/// sorts by them 0.4 to 0.5 times as fast as by digits of 8 bits.
pub fn wide_pass(key_words: u32, value_words: u32, max: u64) -> (u32, u32) {
    (GROUP, spread(WIDE_WORDS / (1 + key_words + value_words) / 2 * 2, max))
}

/// Words of the keys that a thread of a pass by wide digits holds, of their values and their places.
const WIDE_WORDS: u32 = 128;

// Two counts share a word: neither a tile nor what a group of the histogram counts may overflow a half.
const _: () = assert!(GROUP * WIDE_WORDS / 2 < 1 << 16 && GROUP * MAX_KEYS_IN_HALVES < 1 << 16);

/// Parts in which the tile of such a pass goes through workgroup memory, so that with the places of its digits it takes no more than the
/// counters.
pub const WIDE_SLICES: u32 = 4;

/// Keys of a slice that a thread of a pass reads before it writes them, at most: registers are what all its keys and places leave of them.
pub const MAX_CHUNK: u32 = 8;

/// Groups of a pass, at most: they take tile after tile. More than any device has room for, and few to leave at once if a pass is not due: 37 000,
/// for each tile of 7168 of 2^28 keys one, took an H200 100 µs.
pub const PASS_GROUPS: u32 = 1 << 10;

/// Keys in which the buckets of a batch start, by the words of a key and of its value: a power of two, since that divides. A batch is worked
/// on in two places, and read from a third. Of a cache of 24 MiB, as many of Apple's GPUs have, a model of it holds 4 MiB three times, but not
/// 8 (`tests/cache.rs`). Others have larger ones, of 60 MB on an H200, and more to keep busy: 8 MiB of `u32` are 293 tiles, and
/// it has room for 396 at a time. The hybrid sorts 2^26 of them there at half of OneSweep's speed.
pub fn batch_keys(class: Class, key_words: u32, value_words: u32) -> u32 {
    let bytes: u32 = if class == Class::Apple { 4 << 20 } else { 8 << 20 };
    1 << (bytes / (4 * (key_words + value_words))).ilog2()
}

/// Groups that write the table of buckets, of up to 2 MB: each adds up the tiles of all buckets before.
pub const TABLE_GROUPS: u32 = 16;

/// Threads of a group of the network that sorts short segments.
pub const NETWORK_GROUP: u32 = 128;

/// Groups of it, at most: they take segments until there are none left.
pub const NETWORK_GROUPS: u32 = 1 << 12;

/// Groups that put segments on lists, at most.
pub const LIST_GROUPS: u32 = 1 << 10;

/// Groups that sort longer segments, at most.
pub const SWEEP_GROUPS: u32 = 1 << 10;

/// Threads of a group, where nothing else is said.
pub const GROUP: u32 = 256;

/// Keys that a thread of a pass holds without subgroup operations.
pub const COUNTER_KEYS: u32 = 16;

/// Threads of a group without subgroup operations: the counters of all of them must fit the least workgroup memory, 16 KiB.
pub const COUNTER_GROUP: u32 = 128;

/// Threads of the group that sorts everything in one launch, if their counters fit, and keys that each holds, by the words of a key and of
/// its value and by the most keys that there can be. They, their places and their positions take 80 registers at most, of 128 that there are on
/// an NVIDIA card. As few as will do, since what a launch takes depends on the length of its code: on an H200, 1024 `u32` took 11.9 µs by 256
/// threads of 4, 17.7 by 256 that can hold 16; 8192 take 26.4 by 512 of 16, 24.9 by 1024 of 8, which were not tried
/// with values.
pub fn single(key_words: u32, value_words: u32, max: u64) -> (u32, u32) {
    let group = if max <= 1024 { 256 } else { 512 };
    let words = value_words.max(key_words + 1) + value_words.min(1);
    let needed = max.div_ceil(group.into()).next_power_of_two().max(4) as u32;
    (group, (80 / words).min(16).min(needed))
}

/// Keys that a thread holds when one group selects from a segment.
pub const SELECT_KEYS: u32 = 16;

/// Keys whose digits one thread counts, by the most keys that there can be: so many that adding the counts of a group up is small beside
/// reading them, but for few keys as few as it takes to have work for many groups.
pub fn histogram_keys(max: u64) -> u32 {
    let most = if max > FEW_TO_COUNT { MAX_HISTOGRAM_KEYS } else { MAX_HISTOGRAM_KEYS / 2 };
    (max / (128 * u64::from(GROUP))).next_power_of_two().clamp(16, most.into()) as u32
}

/// The most of them. Those of 2^26 `u32` in the low 16 bits took an H200 101 µs, 115 to 118 by 128 a thread.
const MAX_HISTOGRAM_KEYS: u32 = 256;

/// The most keys that get half of that: by more, 2^24 would leave less than two groups for each of the 132 processors of an H200.
const FEW_TO_COUNT: u64 = 1 << 24;

/// Keys of a thread whose counts share words by twos, at most: so few that those of a group do not overflow a half.
pub const MAX_KEYS_IN_HALVES: u32 = 128;

/// Keys of a thread that counts a digit for a selection, at most. More were not measured.
pub const MAX_PICK_KEYS: u32 = 128;

/// Words, or keys, that one group of a copying kernel handles at a time.
pub const COPY_TILE: u32 = 1 << 14;

/// Groups that copy, at most, where a copy may not be due: the fewer, the sooner they have left. 4096 took an H200 15 µs, 1024 took 8, 528 some 1
/// less; by 264, sorts that do copy were slower.
pub const COPY_GROUPS: u32 = 3 << 7;

/// Looks at a status word in vain before a tile is counted on behalf of others. Some 100 µs on a fast device: longer than any tile takes
/// that is being worked on.
pub const SPIN_LIMIT: u32 = 512;

/// Bits of a word in which a subgroup of up to 32 lanes counts its keys of a digit. Those above sum up the weights of their lanes.
pub const COUNT_BITS: u32 = 11;

/// Banks of workgroup memory: lanes take turns at words that are a multiple of this apart.
pub const BANKS: u32 = 32;

/// Lanes of a subgroup from which on loops over a thread's keys are written out: those of GPUs. A pass on an H200 takes a sixth less time
/// for it; on a CPU it would only take longer to compile.
pub const UNROLLED_LANES: u32 = 32;

/// Status words that a look-back reads at a time. On an H200, 8 took a fiftieth longer; with smaller tiles 2 took a twentieth longer.
pub const LOOK: u32 = 4;

/// Wide digits of which a look-back reads a status word each at a time: as many as a thread of the largest group owns.
pub const LOOK_DIGITS: u32 = (1 << WIDE_RADIX_BITS) / GROUP;

/// Keys that a thread of the histogram loads at a time.
pub const HISTOGRAM_BATCH: u32 = 8;

/// Keys that one group selects from: few enough that what they are read for, again and again, stays in a cache.
pub const SELECT_SEGMENT: u32 = 1 << 14;

/// Threads of a group that counts the values of whole keys: its counters take most of a processor's workgroup memory, so that there is one of
/// each.
pub const COUNT_GROUP: u32 = 1024;

/// Counters of each value of 8 bits, at most: one for each lane of a subgroup, so that no two count in the same bank.
pub const MOST_COLUMNS: u32 = 32;

/// Teams of groups that count, at most. Each adds all its counts to the state: the fewer, the less of that.
pub const COUNT_TEAMS: u32 = 128;

/// Keys of a team, by the most that there can be: more than there are values, but for fewer keys as few as it takes to have work for some groups.
pub fn team_keys(max: u64) -> u32 {
    (max / u64::from(COUNT_TEAMS)).next_power_of_two().clamp(1 << 14, 1 << 17) as u32
}

// All that find a counter half full, and have not moved it yet, leave it short of overflowing.
const _: () = assert!(COUNT_GROUP * HISTOGRAM_BATCH * 2 < 1 << 15);

/// From so many keys of 16 bits on, counting their values beats two passes: an H200 took 236 µs for 2^24, 307 by passes; for 2^22 162 and 132.
pub const COUNT_16: u64 = 1 << 24;

/// Groups that share out the values of 16 bits, at most, for that: all of them read all keys. More than an H200 needs were not measured.
pub const COUNT_16_SPANS: u32 = 3;

/// Values of a digit whose counts one thread adds up, where the digit of the last selected key is looked for.
pub const DIGIT_RUN: u32 = 16;

/// Vectors that a team of threads reads side by side: enough loads under way to hide what each takes.
pub const DISTANCE_RUN: u32 = 4;

/// Threads of a team, at most: they read 512 bytes at a time.
pub const DISTANCE_TEAM: u32 = 32;
