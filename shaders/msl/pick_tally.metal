// Counts, for each tile, the keys below the threshold, and the keys that equal it.
//
// in       sort; state: the number of keys and the threshold; keys_from: the source
// out      status: two words for each tile: its keys below the threshold, and those that equal it
// launch   at least keys / PICK_TILE threadgroups, rounded up; each counts PICK_TILE keys

[[max_total_threads_per_threadgroup(GROUP)]] kernel void pick_tally(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    device uint2* status [[buffer(2)]],
    const device Key* keys_from [[buffer(3)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup uint sums[SIMDGROUPS];

    const uint keys = load(state + STATE_COUNT);
    const uint tile = group_index(group_id, groups);
    const uint first = tile * PICK_TILE;
    if (first >= keys) {
        return;
    }
    const uint present = min(keys - first, PICK_TILE);
    const uint4 bar = four_words(state + STATE_BAR);
    const uint4 known = four_words(state + STATE_KNOWN);
    uint below = 0u;
    uint same = 0u;
    for (uint start = 0u; start < present; start += GROUP * BATCH) {
        Key batch[BATCH];
        // The thread loads all keys before it compares them: the loads do not wait for each other.
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            batch[k] = source_key(keys_from, first + min(start + k * GROUP + index, present - 1u), sort);
        }
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            const bool exists = start + k * GROUP + index < present;
            const uint order = exists ? compared(batch[k], bar, known, sort) : ABOVE;
            below += order == BELOW ? 1u : 0u;
            same += order == SAME ? 1u : 0u;
        }
    }
    // One sum carries both counts: neither exceeds PICK_TILE.
    const uint all = sums_before(simdgroup, lane, below | (same << 16u), sums).y;
    if (index == 0u) {
        status[tile] = uint2(all & 0xffffu, all >> 16u);
    }
}
