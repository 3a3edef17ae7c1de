// Replaces the two counts of each tile by their sums over all tiles before it.
//
// in       state: the number of keys
// in, out  status: two words for each tile
// launch   one threadgroup; each thread owns a run of neighboring tiles

[[max_total_threads_per_threadgroup(GROUP)]] kernel void pick_spine(
    device atomic_uint* state [[buffer(0)]],
    device uint2* status [[buffer(1)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint below_sums[SIMDGROUPS];
    threadgroup uint same_sums[SIMDGROUPS];

    const uint tiles = (load(state + STATE_COUNT) + PICK_TILE - 1u) / PICK_TILE;
    const uint run = (tiles + GROUP - 1u) / GROUP;
    const uint first = min(index * run, tiles);
    const uint end = min(first + run, tiles);
    uint2 sum = uint2(0u, 0u);
    for (uint tile = first; tile < end; tile++) {
        sum += status[tile];
    }
    uint2 before = uint2(
        sums_before(simdgroup, lane, sum.x, below_sums).x,
        sums_before(simdgroup, lane, sum.y, same_sums).x);
    for (uint tile = first; tile < end; tile++) {
        const uint2 own = status[tile];
        status[tile] = before;
        before += own;
    }
}
