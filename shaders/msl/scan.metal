// Turns the counts of each digit into the number of keys with a smaller one, and finds the digits in which keys differ.
//
// in       sort
// in, out  state: its histogram; VARIES gets a bit for each digit of which not all keys have the same value
// launch   one group of RADIX threads for each digit

#define SIMDGROUPS (GROUP / 32u)

[[max_total_threads_per_threadgroup(GROUP)]] kernel void scan(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]]) {
    threadgroup uint sums[SIMDGROUPS];

    device atomic_uint* slot = state + STATE_HISTOGRAM + group_id.x * RADIX + index;
    const uint found = load(slot);
    const uint before_lane = simd_prefix_exclusive_sum(found);
    if (lane == 31u) {
        sums[simdgroup] = before_lane + found;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint before = before_lane;
    uint keys = 0u;
#pragma unroll
    for (uint s = 0u; s < SIMDGROUPS; s++) {
        const uint sum = sums[s];
        before += s < simdgroup ? sum : 0u;
        keys += sum;
    }
    store(slot, before);
    if (found > 0u && found < keys) {
        atomic_fetch_or_explicit(state + STATE_VARIES, 1u << group_id.x, memory_order_relaxed);
    }
}
