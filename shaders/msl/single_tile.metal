// Sorts up to TILE keys in one launch.
//
// in       count_low, count_middle, count_high, count: the number of keys, as three digits or in the buffer `count`, as in
//          the kernel `begin`; sort
// in, out  keys_from, values_to: the keys and values, which the kernel reads and then overwrites in their new order. An
//          argsort only reads the keys, and writes the indices to values_to
// launch   one threadgroup
// does     Each thread holds a part of the keys in registers, and of each key its index if there are values. Digit by
//          digit, the keys take their new order through `board`, an array in threadgroup memory. `board` has room for one
//          word of each key, so a key of two words takes two rounds. At the end, the threadgroup writes the keys, and moves
//          each value to the place of its key.
// needs    at most TILE keys; simdgroups of 32 lanes

#if PACKED
// Packs the keys of one word from `board`. If the word has room behind the last key, the bytes of `before` stay there.
inline uint packed_word(const threadgroup atomic_uint* board, uint index, uint present, uint before) {
    const uint first = index * KEYS_PER_WORD;
    const uint full = min(present - first, KEYS_PER_WORD);
    uint packed = 0u;
    for (uint k = 0u; k < full; k++) {
        packed |= (load_shared(board + first + k) >> (32u - KEY_BITS)) << (k * KEY_BITS);
    }
    if (full < KEYS_PER_WORD) {
        packed |= (before >> (full * KEY_BITS)) << (full * KEY_BITS);
    }
    return packed;
}
#endif

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
    threadgroup uint sums[ROW_SUMS];

    const uint present = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
    if (present == 0u) {
        return;
    }
    const Thread me = Thread{index, simdgroup, lane, (present + GROUP - 1u) / GROUP};
    Key keys[KEYS];
#if VALUES
    uint positions[KEYS];
#endif
    // Items past the last key repeat that key: no load waits for a branch. They stay behind the keys.
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held) {
            const uint at = item_index(me, item);
            keys[item] = source_key(keys_from, min(at, present - 1u), sort);
#if VALUES
            positions[item] = at;
#endif
        }
    }
    for (uint d = 0u; d < sort.digit_count; d++) {
        const Digit digit = digit_at(d, sort);
#if VALUES
        sort_by_digit(me, keys, positions, present, digit, board, sums);
#else
        sort_by_digit(me, keys, present, digit, board, sums);
#endif
    }

#if INDEXED
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = item_index(me, item);
        if (item < me.held && at < present) {
            values_to[sort.values_home + at] = positions[item];
        }
    }
#else
#if VALUES
    Value values[KEYS];
    device Value* value_home = values_to + sort.values_home;
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            values[item] = value_home[positions[item]];
        }
    }
#endif
    // The threadgroup reads everything before it writes anything.
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
#if PACKED
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            store_shared(board + item_index(me, item), keys[item]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    device Key* home = keys_from + sort.packed_first / KEYS_PER_WORD;
    for (uint word = index; word < (present + KEYS_PER_WORD - 1u) / KEYS_PER_WORD; word += GROUP) {
        home[word] = packed_word(board, word, present, home[word]);
    }
#else
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = item_index(me, item);
        if (item < me.held && at < present) {
            keys_from[sort.keys_source + at] = keys[item];
        }
    }
#endif
#if VALUES
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = item_index(me, item);
        if (item < me.held && at < present) {
            value_home[at] = values[item];
        }
    }
#endif
#endif
}
