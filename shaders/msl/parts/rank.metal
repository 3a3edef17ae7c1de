// Ranks the keys of a tile by one digit, stably, with ballots: warp-level multi-split (Ashkiani et al., "GPU
// Multisplit", PPoPP 2016). Each simdgroup counts digits in a histogram of its own, a row of `board`.

// Counts the digits of the items below `present` in `board`, and sums up the counts.
inline void count_tile(
    const thread Thread& me,
    const thread uint* items,
    uint present,
    threadgroup atomic_uint* board,
    threadgroup uint* sums,
    thread Ranked& ranked) {
    for (uint i = me.index; i < ROWS * ROW; i += GROUP) {
        store_shared(board + i, 0u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup atomic_uint* row = board + me.simdgroup * ROW;
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            add_to_count(row, items[item], 1u);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum_up_rows(me, board, sums, ranked);
}

// Returns where this lane's key goes in the tile's new order, and advances the row's start of its digit.
inline uint place_in_row(const thread Thread& me, uint digit, bool present, threadgroup atomic_uint* row) {
    uint peers = ballot(present);
#pragma unroll
    for (uint bit = 0u; bit < RADIX_BITS; bit++) {
        const bool is_set = ((digit >> bit) & 1u) != 0u;
        const uint vote = ballot(is_set);
        peers &= is_set ? vote : ~vote;
    }
    const uint before = popcount(peers & ((1u << me.lane) - 1u));
    uint place = 0u;
    if (present && before == 0u) {
        place = add_to_count(row, digit, popcount(peers));
    }
    place = simd_shuffle(place, static_cast<ushort>(present ? ctz(peers) : me.lane));
    // The lanes finish this item before any lane starts with the next one.
    simdgroup_barrier(mem_flags::mem_threadgroup);
    return place + before;
}

// Replaces the digit of each item below `present` by the item's index in the tile's new order.
inline void rank_tile(
    const thread Thread& me,
    thread uint* items,
    uint present,
    const thread Ranked& ranked,
    threadgroup atomic_uint* board) {
    place_rows(me, ranked, board);
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held) {
            const bool is_there = item_index(me, item) < present;
            items[item] = place_in_row(me, items[item], is_there, board + me.simdgroup * ROW);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
