// Sorts the keys that a threadgroup holds in registers by one digit, stably. If the sort has values, the original index
// of each key moves with the key. The threads exchange the keys through `board`: first one word of every key, then the
// next. Items from `present` on stay where
// they are.
inline void sort_by_digit(
    const thread Thread& me,
    thread Key* keys,
#if VALUES
    thread uint* positions,
#endif
    uint present,
    const thread Digit& digit,
    threadgroup atomic_uint* board,
    threadgroup uint* sums) {
    uint items[KEYS];
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held) {
            items[item] = digit_of(keys[item], digit);
        }
    }
    Ranked ranked;
    count_tile(me, items, present, board, sums, ranked);
    rank_tile(me, items, present, ranked, board);
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
#pragma unroll
        for (uint item = 0u; item < KEYS; item++) {
            if (item < me.held && item_index(me, item) < present) {
                store_shared(board + items[item], key_word(keys[item], word));
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint item = 0u; item < KEYS; item++) {
            if (item < me.held && item_index(me, item) < present) {
                keys[item] = with_word(keys[item], word, load_shared(board + item_index(me, item)));
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#if VALUES
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            store_shared(board + items[item], positions[item]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            positions[item] = load_shared(board + item_index(me, item));
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
}
