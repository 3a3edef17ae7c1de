// Unpacks keys of 8 or 16 bits: each becomes the top bits of a word, with zeros below.
//
// in       sort; state: the number of keys; keys_from: packed keys, from key sort.packed_first on
// out      keys_to: a word for each key
// launch   at least keys / COPY_TILE threadgroups, rounded up; each unpacks COPY_TILE keys

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
