// The positions of the keys of a tile, and their sort by the keys, which stay where they are.

// Sorts the first `present` positions by their keys, digit by digit. What was written to them before is visible already.
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
