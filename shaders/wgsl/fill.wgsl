// Writes keys of 8 or 16 bits in order, from the counts of their values.
//
// in       sort; state: the number of keys; for each block of VALUE_BLOCK values, the number of keys with a value in it;
//          for each value, the number of keys with a smaller value of the same block
// out      keys_to: packed keys, from key sort.packed_first on. Bytes past the last key stay as they are
// launch   at least packed words / COPY_TILE workgroups of VALUE_BLOCK threads, rounded up; each writes COPY_TILE
//          packed words

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read> state: array<u32>;
@group(0) @binding(2) var<storage, read_write> keys_to: array<u32>;

// How many keys lie before each block.
var<workgroup> block_starts: array<u32, VALUE_BLOCK>;

const IN_ALL_PLACES: u32 = 0xffffffffu / VALUE_MASK;

var<private> keys: u32;

@compute @workgroup_size(GROUP)
fn fill(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var in_block = 0u;
    if (thread < BLOCKS) {
        in_block = state[STATE_BLOCKS + thread];
    }
    block_starts[thread] = sum_up(thread, in_block) - in_block;
    workgroupBarrier();

    keys = state[STATE_COUNT];
    let words = (keys + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    let first = (group_id.y * groups.x + group_id.x) * COPY_TILE;
    // The value that the thread has come to, and a word full of its key. `end` is where the keys with this value end.
    var value = 0u;
    var alike = 0u;
    var end = 0u;
    for (var i = first + thread; i < min(words, first + COPY_TILE); i += GROUP) {
        let position = i * KEYS_PER_WORD;
        let at = sort.packed_first / KEYS_PER_WORD + i;
        var packed = alike;
        // Otherwise all keys of the word have this value.
        if (end < position + KEYS_PER_WORD) {
            let present = min(keys - position, KEYS_PER_WORD);
            packed = 0u;
            for (var k = 0u; k < present; k++) {
                if (end <= position + k) {
                    value = value_at(position + k, value);
                    alike = raw_of(value) * IN_ALL_PLACES;
                    end = end_of(value);
                }
                packed |= alike & (VALUE_MASK << (k * KEY_BITS));
            }
            if (present < KEYS_PER_WORD) {
                packed |= (keys_to[at] >> (present * KEY_BITS)) << (present * KEY_BITS);
            }
        }
        keys_to[at] = packed;
    }
}

// Returns where the keys with a value start.
fn start_of(value: u32) -> u32 {
    return block_starts[value / VALUE_BLOCK] + state[STATE_VALUES + value];
}

fn end_of(value: u32) -> u32 {
    if (value == RADIX - 1u) {
        return keys;
    }
    return start_of(value + 1u);
}

// Returns the value of the key at a position, which must be `least` or larger: the last value whose keys start there or
// before. The next value is mostly near: the steps double until they go too far, and then halve.
fn value_at(position: u32, least: u32) -> u32 {
    var value = least;
    var step = 1u;
    while (starts_by(position, value + step)) {
        value += step;
        step *= 2u;
    }
    for (step /= 2u; step > 0u; step /= 2u) {
        value += select(0u, step, starts_by(position, value + step));
    }
    return value;
}

fn starts_by(position: u32, value: u32) -> bool {
    return value < RADIX && start_of(value) <= position;
}
