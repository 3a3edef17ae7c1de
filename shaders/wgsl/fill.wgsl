// Writes keys of 8 or 16 bits in order, from how many there are of each value. Bytes past the last key stay as they are.
//
// in       sort; state: count, the numbers of keys in blocks, and in a block below each value
// out      keys_to: packed
// launch   groups of COPY_TILE words each, at least as many as that takes, of VALUE_BLOCK threads

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
    // The value that the thread is at, its key in all places of a word, and where those of it end.
    var value = 0u;
    var alike = 0u;
    var end = 0u;
    for (var i = first + thread; i < min(words, first + COPY_TILE); i += GROUP) {
        let position = i * KEYS_PER_WORD;
        let at = sort.packed_first / KEYS_PER_WORD + i;
        var packed = alike;
        // Else the whole word is of this value.
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

// Where the keys of a value start.
fn start_of(value: u32) -> u32 {
    return block_starts[value / VALUE_BLOCK] + state[STATE_VALUES + value];
}

fn end_of(value: u32) -> u32 {
    if (value == RADIX - 1u) {
        return keys;
    }
    return start_of(value + 1u);
}

// The value of the key at a position, the last one that starts there or before, if it is `least` or larger: by steps that double until they
// go too far, and then halve. The next one mostly is not far.
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
