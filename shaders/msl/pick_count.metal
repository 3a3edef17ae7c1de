// Counts the values of one digit in the keys that equal the threshold in all digits above it.
//
// in       level: the number of the digit, where 0 is the most significant; sort; state: the number of keys and the
//          threshold; keys_from: the source
// in, out  state: the counts of this digit, words STATE_HISTOGRAM + d * RADIX + v with d = sort.digit_count - 1 - level.
//          They must be 0; each becomes the number of such keys whose digit is `v`
// launch   at least keys / HISTOGRAM_TILE threadgroups, rounded up; each counts HISTOGRAM_TILE keys. All return if the
//          threshold is settled, which means: all keys that equal it in the digits found so far belong to the selection
// does     Radix select (Alabi et al., "Fast k-selection algorithms for graphics processing units", 2012), by all
//          threadgroups together.

[[max_total_threads_per_threadgroup(GROUP)]] kernel void pick_count(
    constant Number& level [[buffer(0)]],
    constant Sort& sort [[buffer(1)]],
    device atomic_uint* state [[buffer(2)]],
    const device Key* keys_from [[buffer(3)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup atomic_uint counts[RADIX];

    // The launch writes neither of these words: all threads read the same.
    const uint keys = load(state + STATE_SETTLED) == 0u ? load(state + STATE_COUNT) : 0u;
    const uint first = group_index(group_id, groups) * HISTOGRAM_TILE;
    if (first >= keys) {
        return;
    }
    for (uint i = index; i < RADIX; i += GROUP) {
        store_shared(counts + i, 0u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint present = min(keys - first, HISTOGRAM_TILE);
    const uint4 bar = four_words(state + STATE_BAR);
    const uint4 known = four_words(state + STATE_KNOWN);
    const uint d = sort.digit_count - 1u - level.value;
    const Digit digit = digit_at(d, sort);
    for (uint start = 0u; start < present; start += GROUP * BATCH) {
        Key batch[BATCH];
        // The thread loads all keys before it counts them: the loads do not wait for each other.
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            batch[k] = source_key(keys_from, first + min(start + k * GROUP + index, present - 1u), sort);
        }
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            if (start + k * GROUP + index < present && compared(batch[k], bar, known, sort) == SAME) {
                atomic_fetch_add_explicit(counts + digit_of(batch[k], digit), 1u, memory_order_relaxed);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = index; i < RADIX; i += GROUP) {
        const uint found = load_shared(counts + i);
        if (found > 0u) {
            atomic_fetch_add_explicit(state + STATE_HISTOGRAM + d * RADIX + i, found, memory_order_relaxed);
        }
    }
}
