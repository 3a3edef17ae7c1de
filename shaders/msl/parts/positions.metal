// Sorts positions of keys by these keys. The keys stay where they are.

// Sorts the first `present` positions by their keys, digit by digit, stably. A barrier must have made them visible to
// all threads.
inline void sort_positions(
    const thread Thread& me,
    const device Key* keys_from,
    uint present,
    threadgroup atomic_uint* board,
    threadgroup uint* sums,
    threadgroup uint* positions,
    constant Sort& sort) {
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
}
