// Writes keys of 8 bits in order, from their histogram alone. Bytes past the last key stay as they are.
//
// in       sort: one digit, the whole key; state: count, schedule, the number of keys below each
// out      keys_to: packed
// launch   groups of COPY_TILE words each, at least as many as that takes

// The key whose ordered bits these are: the masks agree in the sign.
inline uint raw_of(uint ordered, constant Sort& sort) {
    const uint top = ordered << 24u;
    const uint sign = 0u - ((top ^ sort.clear.x) >> 31u);
    return (top ^ sort.clear.x ^ (sort.flip.x & sign)) >> 24u;
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void fill(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    device uint* keys_to [[buffer(2)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup uint starts[RADIX];

    for (uint i = index; i < RADIX; i += GROUP) {
        starts[i] = load(state + STATE_HISTOGRAM + i);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint keys = load(state + STATE_COUNT);
    const uint words = (keys + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    const uint first = group_index(group_id, groups) * COPY_TILE;
    for (uint i = first + index; i < min(words, first + COPY_TILE); i += GROUP) {
        const uint from = i * KEYS_PER_WORD;
        const uint present = min(keys - from, KEYS_PER_WORD);
        // The last digit that starts at or before a position is the one that lies there.
        uint ordered = 0u;
        uint high = RADIX;
        while (high - ordered > 1u) {
            const uint middle = (ordered + high) / 2u;
            if (starts[middle] <= from) {
                ordered = middle;
            } else {
                high = middle;
            }
        }
        uint packed = 0u;
        for (uint k = 0u; k < present; k++) {
            while (ordered + 1u < RADIX && starts[ordered + 1u] <= from + k) {
                ordered += 1u;
            }
            packed |= raw_of(ordered, sort) << (k * KEY_BITS);
        }
        const uint at = sort.packed_first / KEYS_PER_WORD + i;
        if (present < KEYS_PER_WORD) {
            packed |= (keys_to[at] >> (present * KEY_BITS)) << (present * KEY_BITS);
        }
        keys_to[at] = packed;
    }
}
