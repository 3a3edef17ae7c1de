// Writes keys of 8 or 16 bits in order, from how many there are of each value. Bytes past the last key stay as they are.
//
// in       sort; state: count, the numbers of keys in blocks, and in a block below each value
// out      keys_to: packed
// launch   groups of COPY_TILE words each, at least as many as that takes, of VALUE_BLOCK threads

// Where the keys of a value start.
inline uint start_of(uint value, const device uint* state, threadgroup uint* block_starts) {
    return block_starts[value / VALUE_BLOCK] + state[STATE_VALUES + value];
}

// The value of the key at a position: the last one that starts there or before.
inline uint value_at(uint position, const device uint* state, threadgroup uint* block_starts) {
    uint value = 0u;
    for (uint step = BLOCKS / 2u; step > 0u; step /= 2u) {
        value += block_starts[value + step] <= position ? step : 0u;
    }
    value *= VALUE_BLOCK;
    for (uint step = VALUE_BLOCK / 2u; step > 0u; step /= 2u) {
        value += start_of(value + step, state, block_starts) <= position ? step : 0u;
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
    // The key that the thread is at, and where those like it end.
    uint raw = 0u;
    uint end = 0u;
    for (uint i = first + index; i < min(words, first + COPY_TILE); i += GROUP) {
        const uint position = i * KEYS_PER_WORD;
        const uint present = min(keys - position, KEYS_PER_WORD);
        uint packed = 0u;
        for (uint k = 0u; k < present; k++) {
            if (end <= position + k) {
                const uint value = value_at(position + k, state, block_starts);
                raw = raw_of(value, sort);
                end = value == RADIX - 1u ? keys : start_of(value + 1u, state, block_starts);
            }
            packed |= raw << (k * KEY_BITS);
        }
        const uint at = sort.packed_first / KEYS_PER_WORD + i;
        if (present < KEYS_PER_WORD) {
            packed |= (keys_to[at] >> (present * KEY_BITS)) << (present * KEY_BITS);
        }
        keys_to[at] = packed;
    }
}
