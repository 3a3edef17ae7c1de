// Turns the numbers of keys of each value into those of smaller values of the same block.
//
// in, out  state: the numbers of keys of each value
// out      state: those of blocks
// launch   one group for each block, of a thread for each value

[[max_total_threads_per_threadgroup(GROUP)]] kernel void scan_values(
    constant Sort& sort [[buffer(0)]],
    device uint* state [[buffer(1)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]]) {
    threadgroup uint sums[SIMDGROUPS];

    const uint at = STATE_VALUES + group_id.x * VALUE_BLOCK + index;
    const uint found = state[at];
    const uint2 counts = sums_before(simdgroup, lane, found, sums);
    state[at] = counts.x;
    if (index == 0u) {
        state[STATE_BLOCKS + group_id.x] = counts.y;
    }
}
