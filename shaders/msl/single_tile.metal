// Sorts everything, if it fits one tile, in one launch.
//
// in       count_low, count_middle, count_high, count: as for begin; sort
// in, out  keys_from, values_to: sorted in place; of an argsort the keys stay, and values_to are the indices
// launch   one group
// does     The keys stay where they are while their positions are sorted digit by digit; then all are read, and only then written.
// needs    at most TILE keys; simdgroups of 32 lanes

#if PACKED
// A word of keys in their new order. Bytes past the last key stay as they are.
inline uint packed_word(
    const device Key* keys_from, const threadgroup uint* positions, uint index, uint present, constant Sort& sort) {
    const uint first = index * KEYS_PER_WORD;
    const uint full = min(present - first, KEYS_PER_WORD);
    uint packed = 0u;
    for (uint k = 0u; k < full; k++) {
        packed |= (source_key(keys_from, positions[first + k], sort) >> (32u - KEY_BITS)) << (k * KEY_BITS);
    }
    if (full < KEYS_PER_WORD) {
        packed |= (keys_from[sort.packed_first / KEYS_PER_WORD + index] >> (full * KEY_BITS)) << (full * KEY_BITS);
    }
    return packed;
}
#endif

// What was read of the data is read before any of it is written.
inline void all_read() {
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void single_tile(
    constant Number& count_low [[buffer(0)]],
    constant Number& count_middle [[buffer(1)]],
    constant Number& count_high [[buffer(2)]],
    constant Sort& sort [[buffer(3)]],
    const device uint* count [[buffer(4)]],
    device Key* keys_from [[buffer(5)]],
#if VALUES
    device Value* values_to [[buffer(6)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint board[BOARD];
    threadgroup uint sums[ROWS];
    // The positions of the keys, in the order that they have so far.
    threadgroup uint positions[TILE];

    const Thread me = Thread{index, simdgroup, lane};
    const uint present = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
    for (uint i = index; i < TILE; i += GROUP) {
        positions[i] = i;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (uint d = 0u; d < sort.digit_count; d++) {
        const Digit digit = digit_at(d, sort);
        uint items[KEYS];
        uint moved[KEYS];
#pragma unroll
        for (uint item = 0u; item < KEYS; item++) {
            const uint at = item_index(me, item);
            items[item] = 0u;
            moved[item] = 0u;
            if (at < present) {
                moved[item] = positions[at];
                items[item] = digit_of(source_key(keys_from, moved[item], sort), digit);
            }
        }
        Ranked ranked;
        count_tile(me, items, present, board, sums, ranked);
        rank_tile(me, items, present, ranked, board);
#pragma unroll
        for (uint item = 0u; item < KEYS; item++) {
            if (item_index(me, item) < present) {
                positions[items[item]] = moved[item];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

#if INDEXED
    for (uint i = index; i < present; i += GROUP) {
        values_to[sort.values_home + i] = positions[i];
    }
#else
    Key keys[KEYS];
#if PACKED
    const uint words = (present + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    device Key* home = keys_from + sort.packed_first / KEYS_PER_WORD;
#else
    const uint words = present;
    device Key* home = keys_from + sort.keys_source;
#endif
#pragma unroll
    for (uint i = 0u; i < KEYS; i++) {
        const uint at = i * GROUP + index;
        if (at < words) {
#if PACKED
            keys[i] = packed_word(keys_from, positions, at, present, sort);
#else
            keys[i] = home[positions[at]];
#endif
        }
    }
    all_read();
#pragma unroll
    for (uint i = 0u; i < KEYS; i++) {
        const uint at = i * GROUP + index;
        if (at < words) {
            home[at] = keys[i];
        }
    }
#if VALUES
    Value values[KEYS];
    device Value* value_home = values_to + sort.values_home;
#pragma unroll
    for (uint i = 0u; i < KEYS; i++) {
        const uint at = i * GROUP + index;
        if (at < present) {
            values[i] = value_home[positions[at]];
        }
    }
    all_read();
#pragma unroll
    for (uint i = 0u; i < KEYS; i++) {
        const uint at = i * GROUP + index;
        if (at < present) {
            value_home[at] = values[i];
        }
    }
#endif
#endif
}
