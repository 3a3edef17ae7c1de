// Writes keys of 8 or 16 bits in order, from the counts of their values.
//
// in       sort; state: the number of keys; for each block of VALUE_BLOCK values, the number of keys with a value in it;
//          for each value, the number of keys with a smaller value of the same block
// out      keys_to: packed keys, from key sort.packed_first on. Bytes past the last key stay as they are
// launch   at least packed words / COPY_TILE threadgroups of VALUE_BLOCK threads, rounded up; each writes COPY_TILE
//          packed words

constant uint IN_ALL_PLACES = 0xffffffffu / VALUE_MASK;

// Returns where the keys with a value start.
inline uint start_of(uint value, const device uint* state, threadgroup uint* block_starts) {
    return block_starts[value / VALUE_BLOCK] + state[STATE_VALUES + value];
}

inline bool starts_by(uint position, uint value, const device uint* state, threadgroup uint* block_starts) {
    return value < RADIX && start_of(value, state, block_starts) <= position;
}

// Returns the value of the key at a position, which must be `least` or larger: the last value whose keys start there or
// before. The next value is mostly near: the steps double until they go too far, and then halve.
inline uint value_at(uint position, uint least, const device uint* state, threadgroup uint* block_starts) {
    uint value = least;
    uint step = 1u;
    while (starts_by(position, value + step, state, block_starts)) {
        value += step;
        step *= 2u;
    }
    for (step /= 2u; step > 0u; step /= 2u) {
        value += starts_by(position, value + step, state, block_starts) ? step : 0u;
    }
    return value;
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void fill(
    constant Sort& sort [[buffer(0)]],
    const device uint* state [[buffer(1)]],
    device uint* keys_to [[buffer(2)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup uint sums[SIMDGROUPS];
    // How many keys lie before each block.
    threadgroup uint block_starts[VALUE_BLOCK];

    const uint in_block = index < BLOCKS ? state[STATE_BLOCKS + index] : 0u;
    block_starts[index] = sums_before(simdgroup, lane, in_block, sums).x;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint keys = state[STATE_COUNT];
    const uint words = (keys + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    const uint first = group_index(group_id, groups) * COPY_TILE;
    // The value that the thread has come to, and a word full of its key. `end` is where the keys with this value end.
    uint value = 0u;
    uint alike = 0u;
    uint end = 0u;
    for (uint i = first + index; i < min(words, first + COPY_TILE); i += GROUP) {
        const uint position = i * KEYS_PER_WORD;
        const uint at = sort.packed_first / KEYS_PER_WORD + i;
        uint packed = alike;
        // Otherwise all keys of the word have this value.
        if (end < position + KEYS_PER_WORD) {
            const uint present = min(keys - position, KEYS_PER_WORD);
            packed = 0u;
            for (uint k = 0u; k < present; k++) {
                if (end <= position + k) {
                    value = value_at(position + k, value, state, block_starts);
                    alike = raw_of(value, sort) * IN_ALL_PLACES;
                    end = value == RADIX - 1u ? keys : start_of(value + 1u, state, block_starts);
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
