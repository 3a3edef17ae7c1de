// Replaces each value's count by the number of keys with smaller values of the same block.
//
// in       sort
// in, out  state: the RADIX words from STATE_VALUES on
// out      state: word STATE_BLOCKS + b is the number of keys of block `b`
// launch   one threadgroup of VALUE_BLOCK threads for each block of VALUE_BLOCK values

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
