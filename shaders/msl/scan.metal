// Replaces each count of the histogram by the number of keys with a smaller digit. Finds the digits in which keys
// differ.
//
// in       sort
// in, out  state: the RADIX words of each digit of the histogram; STATE_VARIES gets bit `d` if not all keys have the
//          same digit `d`
// launch   one threadgroup for each digit of the sort
// does     Each thread sums up the counts of DIGITS neighboring values. The threadgroup then sums up these sums.

[[max_total_threads_per_threadgroup(GROUP)]] kernel void scan(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]]) {
    threadgroup uint sums[SIMDGROUPS];

    device atomic_uint* first = state + STATE_HISTOGRAM + group_id.x * RADIX + index * DIGITS;
    uint found[DIGITS];
    uint sum = 0u;
#pragma unroll
    for (uint i = 0u; i < DIGITS; i++) {
        found[i] = load(first + i);
        sum += found[i];
    }
    const uint2 counts = sums_before(simdgroup, lane, sum, sums);
    uint before = counts.x;
    bool varies = false;
#pragma unroll
    for (uint i = 0u; i < DIGITS; i++) {
        store(first + i, before);
        before += found[i];
        varies = varies || (found[i] > 0u && found[i] < counts.y);
    }
    if (varies) {
        atomic_fetch_or_explicit(state + STATE_VARIES, 1u << group_id.x, memory_order_relaxed);
    }
}
