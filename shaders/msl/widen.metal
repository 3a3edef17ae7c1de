// Makes a word of each key of 8 or 16 bits: the key in the top bits, zeros below.
//
// in       sort; state: count; keys_from: packed
// out      keys_to
// launch   groups of COPY_TILE keys each, at least as many as that takes

[[max_total_threads_per_threadgroup(GROUP)]] kernel void widen(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint* keys_from [[buffer(2)]],
    device uint* keys_to [[buffer(3)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const uint keys = load(state + STATE_COUNT);
    const uint first = group_index(group_id, groups) * COPY_TILE;
    for (uint i = first + index; i < min(keys, first + COPY_TILE); i += GROUP) {
        keys_to[i] = source_key(keys_from, i, sort);
    }
}
