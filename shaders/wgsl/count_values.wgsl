// Counts how many keys of 8 or 16 bits have each value.
//
// in       sort; state: the number of keys; keys_from: the keys, several in each word; the first one has the index
//          sort.packed_first in keys_from
// in, out  state: word STATE_VALUES + v grows by the number of keys with value `v`. The value of a key is its ordered bits
//          as an unsigned number, so that smaller values come first in the sort
// launch   one or more teams of SPANS workgroups
// does     Each team takes a part of the keys. A team has a workgroup for each span of values, one span if keys have 8
//          bits. Each workgroup reads all keys of the team, and counts those whose values are in its span. For 8 bits, each
//          value has COLUMNS counters. Neighboring lanes use different ones, so that these lanes do not wait for each
//          other. For 16 bits, two counters share a word, so a counter has 16 bits. If a thread finds 2^15 or more in a
//          counter, the thread moves 2^15 from each such counter of the word to the state. So no counter overflows. At the
//          end, the workgroup adds all its counters to the state.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> keys_from: array<u32>;

// The words of keys that a workgroup reads at a time.
const SHARE: u32 = GROUP * BATCH;

#if HALVES
// The values of a span, and the counters of each value.
const SPAN: u32 = 2u * COUNTERS;
const COLUMNS: u32 = 1u;
#else
const SPAN: u32 = RADIX;
const COLUMNS: u32 = COUNTERS / RADIX;
#endif

var<workgroup> counts: array<atomic<u32>, COUNTERS>;

// The smallest raw value of the span, and which of a value's counters this thread uses.
var<private> least: u32;
var<private> column: u32;

@compute @workgroup_size(GROUP)
fn count_values(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let group = group_id.y * groups.x + group_id.x;
    let team = group / SPANS;
    let teams = groups.x * groups.y / SPANS;
    least = group % SPANS * SPAN;
    column = thread % COLUMNS;
    for (var i = thread; i < COUNTERS; i += GROUP) {
        atomicStore(&counts[i], 0u);
    }
    workgroupBarrier();

    let keys = atomicLoad(&state[STATE_COUNT]);
    let words = keys / KEYS_PER_WORD;
    let at = sort.packed_first / KEYS_PER_WORD;
    let end = select(0u, words, team < teams);
    for (var first = team * SHARE; first < end; first += teams * SHARE) {
        if (first + SHARE <= end) {
            var batch: array<u32, BATCH>;
#repeat k BATCH
            batch[k] = keys_from[at + first + k * GROUP + thread];
#end
#repeat k BATCH
            count_word(batch[k]);
#end
        } else {
            for (var i = first + thread; i < end; i += GROUP) {
                count_word(keys_from[at + i]);
            }
        }
    }
    // The keys of the last word, if it is not full.
    if (team == 0u && thread < keys % KEYS_PER_WORD) {
        count((keys_from[at + words] >> (thread * KEY_BITS)) & VALUE_MASK);
    }
    workgroupBarrier();

    hand_in(thread);
}

fn count_word(word: u32) {
    for (var k = 0u; k < KEYS_PER_WORD; k++) {
        count((word >> (k * KEY_BITS)) & VALUE_MASK);
    }
}

fn add(raw: u32, found: u32) {
    if (found > 0u) {
        atomicAdd(&state[STATE_VALUES + ordered_of(raw)], found);
    }
}
#if HALVES

const BOTH_HALF_FULL: u32 = 0x80008000u;

fn count(value: u32) {
    let index = value - least;
    if (index < SPAN) {
        let before = atomicAdd(&counts[index / 2u], 1u << (16u * (index % 2u)));
        if ((before & BOTH_HALF_FULL) != 0u) {
            relieve(index / 2u);
        }
    }
}

// Moves the half-full counters of a word to the state. Several threads may find them so: the first one moves them.
fn relieve(at: u32) {
    add_halves(at, atomicAnd(&counts[at], ~BOTH_HALF_FULL) & BOTH_HALF_FULL);
}

fn add_halves(at: u32, found: u32) {
    add(least + 2u * at, found & 0xffffu);
    add(least + 2u * at + 1u, found >> 16u);
}

fn hand_in(thread: u32) {
    for (var i = thread; i < COUNTERS; i += GROUP) {
        add_halves(i, atomicLoad(&counts[i]));
    }
}
#else

fn count(value: u32) {
    atomicAdd(&counts[value * COLUMNS + column], 1u);
}

fn hand_in(thread: u32) {
    for (var value = thread; value < RADIX; value += GROUP) {
        var found = 0u;
        for (var c = 0u; c < COLUMNS; c++) {
            found += atomicLoad(&counts[value * COLUMNS + (c + thread) % COLUMNS]);
        }
        add(value, found);
    }
}
#endif
