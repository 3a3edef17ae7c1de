// Counts the values of every digit, with one read of the keys. Finds out whether the keys are in order already.
//
// in       sort; state: word STATE_COUNT, the number of keys; keys_from: the source
// in, out  state: word STATE_HISTOGRAM + d * RADIX + v grows by the number of keys whose digit `d` is `v`; word
//          STATE_DESCENTS becomes 1 if any key is smaller, in the sort's order, than the key before it
// out      status: with STATUS: RADIX words for each tile of pass 0, all 0
// launch   at least keys / HISTOGRAM_TILE threadgroups, rounded up; each counts HISTOGRAM_TILE keys

// Returns whether `one` goes before `other` in the sort's order.
inline bool is_before(Key one, Key other, constant Sort& sort) {
    bool before = false;
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        const uint a = ordered_word(one, word, sort) & sort.window[word];
        const uint b = ordered_word(other, word, sort) & sort.window[word];
        before = a < b || (a == b && before);
    }
    return before;
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void histogram(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device Key* keys_from [[buffer(2)]],
#if STATUS
    device uint* status [[buffer(3)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup atomic_uint counts[SLOTS];
    threadgroup atomic_uint descents;
    // The number of keys, and whether a descent has been found already: the same for all threads.
    threadgroup uint2 work;

    const uint group = group_index(group_id, groups);
    if (index == 0u) {
        work = uint2(load(state + STATE_COUNT), load(state + STATE_DESCENTS));
        store_shared(&descents, 0u);
    }
    for (uint i = index; i < SLOTS; i += GROUP) {
        store_shared(counts + i, 0u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint2 todo = work;
    const uint keys = todo.x;
    const bool known_descents = todo.y != 0u;
    const uint first = group * HISTOGRAM_TILE;
    if (first >= keys) {
        return;
    }
#if STATUS
    // The threadgroups share the tiles.
    const uint tiles = (keys + TILE - 1u) / TILE;
    const uint sharers = (keys + HISTOGRAM_TILE - 1u) / HISTOGRAM_TILE;
    for (uint i = group * GROUP + index; i < tiles * RADIX; i += sharers * GROUP) {
        status[i] = 0u;
    }
#endif

    const uint present = min(keys - first, HISTOGRAM_TILE);
    bool descends = known_descents;
    for (uint start = 0u; start < present; start += GROUP * BATCH) {
        Key batch[BATCH];
        // The thread loads all keys before it counts them: the loads do not wait for each other.
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            batch[k] = source_key(keys_from, first + min(start + k * GROUP + index, present - 1u), sort);
        }
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            if (start + k * GROUP + index < present) {
                count_digits(batch[k], sort.digit_count, counts, sort);
            }
        }
        // One descent is enough: a thread stops looking once it knows of one.
        if (!descends) {
#pragma unroll
            for (uint k = 0u; k < BATCH; k++) {
                const uint at = first + min(start + k * GROUP + index, present - 1u);
                descends = descends || is_before(batch[k], source_key(keys_from, max(at, 1u) - 1u, sort), sort);
            }
        }
    }
    if (descends && !known_descents) {
        store_shared(&descents, 1u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = index; i < sort.digit_count * RADIX; i += GROUP) {
        const uint found = found_at(counts, i);
        if (found > 0u) {
            atomic_fetch_add_explicit(state + STATE_HISTOGRAM + i, found, memory_order_relaxed);
        }
    }
    if (index == 0u && load_shared(&descents) != 0u) {
        store(state + STATE_DESCENTS, 1u);
    }
}
