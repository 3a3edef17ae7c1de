// Finds one digit of the threshold, which is the last key to be selected.
//
// in       level: which digit, 0 the most significant; sort; state: the number of keys, and the counts of this digit
// in, out  state: the threshold, which of its bits are known, and how many keys that equal it are selected (see
//          parts/pick.metal)
// out      at level 0: picked_count: one word, the number of selected keys; indices_to: NOTHING from that number to
//          sort.k
// launch   one threadgroup of RADIX threads

[[max_total_threads_per_threadgroup(GROUP)]] kernel void pick_digit(
    constant Number& level [[buffer(0)]],
    constant Sort& sort [[buffer(1)]],
    device atomic_uint* state [[buffer(2)]],
    device uint* indices_to [[buffer(3)]],
    device uint* picked_count [[buffer(4)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint sums[SIMDGROUPS];
    // How many of the counted keys are to be selected; 0 if the threshold is settled. One thread reads it for all,
    // because another thread replaces it.
    threadgroup uint work;

    const uint there = min(sort.k, load(state + STATE_COUNT));
    if (index == 0u) {
        if (level.value == 0u) {
            work = there;
            picked_count[0] = there;
        } else {
            work = load(state + STATE_SETTLED) == 0u ? load(state + STATE_LEFT) : 0u;
        }
    }
    if (level.value == 0u) {
        for (uint i = there + index; i < sort.k; i += GROUP) {
            indices_to[sort.values_home + i] = NOTHING;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint wanted = work;
    if (wanted == 0u) {
        return;
    }
    if (sort.digit_count == 0u) {
        // All keys are equal: the first ones are selected.
        if (index == 0u) {
            store(state + STATE_LEFT, wanted);
        }
        return;
    }
    const uint d = sort.digit_count - 1u - level.value;
    const uint found = load(state + STATE_HISTOGRAM + d * RADIX + index);
    const uint below = sums_before(simdgroup, lane, found, sums).x;
    // The condition holds for one thread.
    if (below < wanted && wanted <= below + found) {
        const Digit digit = digit_at(d, sort);
        const uint left = wanted - below;
        store(state + STATE_LEFT, left);
        store(state + STATE_SETTLED, left == found ? 1u : 0u);
        atomic_fetch_or_explicit(state + STATE_BAR + digit.word, index << digit.shift, memory_order_relaxed);
        atomic_fetch_or_explicit(state + STATE_KNOWN + digit.word, digit.mask << digit.shift, memory_order_relaxed);
    }
}
