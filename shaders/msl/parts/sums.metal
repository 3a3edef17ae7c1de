// Prefix sums over the threads of a threadgroup.

#define SIMDGROUPS (GROUP / 32u)

// Returns the sum of the values of the threads before this one, and the sum of all. The caller needs a barrier before
// the next call.
inline uint2 sums_before(uint simdgroup, uint lane, uint value, threadgroup uint* sums) {
    const uint before_lane = simd_prefix_exclusive_sum(value);
    if (lane == 31u) {
        sums[simdgroup] = before_lane + value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint before = before_lane;
    uint total = 0u;
#pragma unroll
    for (uint s = 0u; s < SIMDGROUPS; s++) {
        const uint sum = sums[s];
        before += s < simdgroup ? sum : 0u;
        total += sum;
    }
    return uint2(before, total);
}
