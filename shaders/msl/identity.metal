// Writes the permutation 0, 1, 2, … if the sort needs no pass.
//
// in       sort; state: the number of keys and the schedule
// out      indices_to: a word for each key, from sort.values_home on
// launch   at least keys / COPY_TILE threadgroups, rounded up; each writes COPY_TILE indices

[[max_total_threads_per_threadgroup(GROUP)]] kernel void identity(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    device uint* indices_to [[buffer(2)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    if (passes(state) > 0u) {
        return;
    }
    const uint keys = load(state + STATE_COUNT);
    const uint first = group_index(group_id, groups) * COPY_TILE;
    for (uint i = first + index; i < min(keys, first + COPY_TILE); i += GROUP) {
        indices_to[sort.values_home + i] = i;
    }
}
