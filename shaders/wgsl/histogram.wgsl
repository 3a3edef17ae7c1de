// Counts the keys of each value of every digit, in one read, and finds out whether they are in order already.
//
// in       sort; keys_from: the source
// in, out  state: its histogram grows, DESCENTS is set if any key is smaller than the one before it
// out      status: zero, for the first pass
// launch   groups of HISTOGRAM_TILE keys each, at least as many as that takes

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
#if PACKED
@group(0) @binding(2) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(2) var<storage, read> keys_from: array<Key>;
#endif
#if STATUS
@group(0) @binding(3) var<storage, read_write> status: array<u32>;
#endif

#if HALVES
// Two counts share a word, of values that lie a half of RADIX apart: the keys of a group fit 16 bits.
const ROW: u32 = RADIX / 2u;
#else
const ROW: u32 = RADIX;
#endif
const SLOTS: u32 = KEY_DIGITS * ROW;
// Digits of a word, the mask of its last one, and where the bits of a key start in its lowest one.
const WORD_DIGITS: u32 = (32u + RADIX_BITS - 1u) / RADIX_BITS;
const LAST_MASK: u32 = (1u << (32u - (WORD_DIGITS - 1u) * RADIX_BITS)) - 1u;
const FIRST_BIT: u32 = (32u - KEY_BITS % 32u) % 32u;

var<workgroup> counts: array<atomic<u32>, SLOTS>;
var<workgroup> descents: atomic<u32>;
// Keys, and whether descents were found already.
var<workgroup> work: vec2<u32>;

@compute @workgroup_size(GROUP)
fn histogram(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let group = group_id.y * groups.x + group_id.x;
    if (thread == 0u) {
        work = vec2(atomicLoad(&state[STATE_COUNT]), atomicLoad(&state[STATE_DESCENTS]));
        atomicStore(&descents, 0u);
    }
    for (var i = thread; i < SLOTS; i += GROUP) {
        atomicStore(&counts[i], 0u);
    }
    let todo = workgroupUniformLoad(&work);
    let keys = todo.x;
    let known_descents = todo.y != 0u;
    let first = group * HISTOGRAM_TILE;
    if (first >= keys) {
        return;
    }
#if STATUS
    // The groups share out the tiles.
    let tiles = (keys + TILE - 1u) / TILE;
    let sharers = (keys + HISTOGRAM_TILE - 1u) / HISTOGRAM_TILE;
    for (var i = group * GROUP + thread; i < tiles * RADIX; i += sharers * GROUP) {
        status[i] = 0u;
    }
#endif

    let present = min(keys - first, HISTOGRAM_TILE);
    var descends = known_descents;
    let is_whole = sort.digit_count == KEY_DIGITS && sort.digits[0].y == FIRST_BIT && sort.digits[KEY_DIGITS - 1u].z == LAST_MASK;
    for (var start = 0u; start < present; start += GROUP * BATCH) {
        var batch: array<Key, BATCH>;
#repeat k BATCH
        batch[k] = source_key(first + min(start + k * GROUP + thread, present - 1u));
#end
        if (is_whole && start + GROUP * BATCH <= present) {
#repeat k BATCH
            count_whole(batch[k]);
#end
        } else {
#repeat k BATCH
            if (start + k * GROUP + thread < present) {
                count_digits(batch[k]);
            }
#end
        }
        // One descent is enough.
        if (!descends) {
#repeat k BATCH
            let index_@ = first + min(start + k * GROUP + thread, present - 1u);
            descends = descends || is_before(batch[k], source_key(max(index_@, 1u) - 1u));
#end
        }
    }
    if (descends && !known_descents) {
        atomicStore(&descents, 1u);
    }
    workgroupBarrier();
    for (var i = thread; i < sort.digit_count * RADIX; i += GROUP) {
        let found = found_at(i);
        if (found > 0u) {
            atomicAdd(&state[STATE_HISTOGRAM + i], found);
        }
    }
    if (thread == 0u && atomicLoad(&descents) != 0u) {
        atomicStore(&state[STATE_DESCENTS], 1u);
    }
}

#if HALVES
fn count(d: u32, value: u32) {
    atomicAdd(&counts[d * ROW + value % ROW], 1u << (16u * (value / ROW)));
}

// The count of a value of a digit, by its place in the histogram.
fn found_at(i: u32) -> u32 {
    return (atomicLoad(&counts[i / RADIX * ROW + i % ROW]) >> (16u * (i / ROW % 2u))) & 0xffffu;
}
#else
fn count(d: u32, value: u32) {
    atomicAdd(&counts[d * ROW + value], 1u);
}

fn found_at(i: u32) -> u32 {
    return atomicLoad(&counts[i]);
}
#endif

// Counts a key whose digits are those of whole words, as they are unless a range of bits is asked for.
fn count_whole(key: Key) {
#repeat d KEY_DIGITS
    let value_@ = (ordered_word(key, d / WORD_DIGITS) >> (FIRST_BIT + d % WORD_DIGITS * RADIX_BITS)) & (RADIX - 1u);
    count(d, value_@);
#end
}

fn count_digits(key: Key) {
#repeat d KEY_DIGITS
    if (d < sort.digit_count) {
        count(d, digit_of(key, digit_at(d)));
    }
#end
}

// Whether one key sorts before another.
fn is_before(one: Key, other: Key) -> bool {
    var before = false;
    for (var word = 0u; word < KEY_WORDS; word++) {
        let a = ordered_word(one, word) & sort.window[word];
        let b = ordered_word(other, word) & sort.window[word];
        before = a < b || (a == b && before);
    }
    return before;
}
