// Counts how many keys of 8 or 16 bits there are of each value.
//
// in       sort; keys_from: packed
// in, out  state: the numbers of keys of each value grow
// launch   teams of SPANS groups, one or more
// does     A team reads a share of the keys, and each of its groups counts the values of one span, as they lie. Of 8 bits, each has COLUMNS
//          counters, so that lanes that count side by side do not wait for each other. Of 16 bits, two share a word: whoever finds a half of
//          it half full moves that to the state, long before it overflows.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> keys_from: array<u32>;

// Words of the keys that a group reads at a time.
const SHARE: u32 = GROUP * BATCH;

#if HALVES
// Values of a span, and counters of each.
const SPAN: u32 = 2u * COUNTERS;
const COLUMNS: u32 = 1u;
#else
const SPAN: u32 = RADIX;
const COLUMNS: u32 = COUNTERS / RADIX;
#endif

var<workgroup> counts: array<atomic<u32>, COUNTERS>;

// The least value of the span, and the column that the thread counts in.
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
    // The last word, if it is not full.
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

// Moves halves that are half full to the state. Of all that find one so, the first moves it.
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
