// Sorts up to TILE keys in one launch.
//
// in       count_low, count_middle, count_high, count: the number of keys, as three digits or in the buffer `count`, as in
//          the kernel `begin`; sort
// in, out  keys_from, values_to: the keys and values, which the kernel reads and then overwrites in their new order. An
//          argsort only reads the keys, and writes the indices to values_to
// launch   one workgroup
// does     Each thread holds a part of the keys in registers, and of each key its index if there are values. Digit by
//          digit, the keys take their new order through `board`, an array in workgroup memory. `board` has room for one
//          word of each key, so a key of two words takes two rounds. At the end, the workgroup writes the keys, and moves
//          each value to the place of its key.
// needs    at most TILE keys

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> sort: Sort;
@group(0) @binding(4) var<storage, read> count: array<u32>;
#if PACKED
@group(0) @binding(5) var<storage, read_write> keys_from: array<u32>;
#else
@group(0) @binding(5) var<storage, read_write> keys_from: array<Key>;
#endif
#if VALUES
@group(0) @binding(6) var<storage, read_write> values_to: array<Value>;
#endif

var<workgroup> keys_there: u32;

@compute @workgroup_size(GROUP)
fn single_tile(
    @builtin(local_invocation_index) thread_id: u32,
#if SUBGROUPS
    @builtin(subgroup_id) subgroup_id: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) lane_id: u32,
#endif
) {
    thread = thread_id;
#if SUBGROUPS
    subgroup = subgroup_id;
    lanes = subgroup_size;
    lane = lane_id;
#endif
    if (thread == 0u) {
        keys_there = called_count();
    }
    let present = workgroupUniformLoad(&keys_there);
    if (present == 0u) {
        return;
    }
    sort_held(present, sort.digit_count);
#if PACKED
#if INDEXED
#else
    workgroupBarrier();
    let home = sort.packed_first / KEYS_PER_WORD;
    for (var word = thread; word < (present + KEYS_PER_WORD - 1u) / KEYS_PER_WORD; word += GROUP) {
        keys_from[home + word] = packed_word(word, present);
    }
#endif
#endif
}

fn held_digit(d: u32) -> Digit {
    return digit_at(d);
}

fn held_key(index: u32) -> Key {
    return source_key(index);
}

// An argsort leaves the keys as they are. Packed keys are collected in `board`, one in each word.
fn put_key_home(index: u32, key: Key) {
#if INDEXED
#else
#if PACKED
    put_word(index, key);
#else
    keys_from[sort.keys_source + index] = key;
#endif
#endif
}
#if VALUES

fn held_value(index: u32) -> Value {
#if INDEXED
    return index;
#else
    return values_to[sort.values_home + index];
#endif
}

fn put_value_home(index: u32, value: Value) {
    values_to[sort.values_home + index] = value;
}
#endif
#if PACKED

// Packs the keys of one word from `board`. If the last word has room behind the last key, the caller's bytes stay
// there.
fn packed_word(index: u32, present: u32) -> u32 {
    let first = index * KEYS_PER_WORD;
    let full = min(present - first, KEYS_PER_WORD);
    var packed = 0u;
    for (var k = 0u; k < full; k++) {
        packed |= (word_at(first + k) >> (32u - KEY_BITS)) << (k * KEY_BITS);
    }
    if (full < KEYS_PER_WORD) {
        packed |= (keys_from[sort.packed_first / KEYS_PER_WORD + index] >> (full * KEY_BITS)) << (full * KEY_BITS);
    }
    return packed;
}
#endif
