// Ranks the keys of a tile by one digit, stably, with ballots: warp-level multi-split (Ashkiani et al., "GPU Multisplit", PPoPP 2016).
//
// A simdgroup owns a stretch of 32 times as many keys as each thread holds, and takes them lane by lane, so that the order of (simdgroup, item, lane) is the order of
// the tile. The board counts each simdgroup's digits in a row of its own.

#define LANES 32u

// Which thread this is.
struct Thread {
    uint index;
    uint simdgroup;
    uint lane;
    // How many items it holds, as all do: at most KEYS.
    uint held;
};

// The position in the tile of a thread's item.
inline uint item_index(const thread Thread& me, uint item) {
    return (me.simdgroup * me.held + item) * LANES + me.lane;
}

inline uint ballot(bool vote) {
    return static_cast<uint>(static_cast<simd_vote::vote_t>(simd_ballot(vote)));
}

// Where a digit's keys of the tile are.
struct Ranked {
    // Of each digit that this thread owns, from `index * DIGITS` on: keys of it in the tile, and of those below it.
    uint totals[DIGITS];
    uint starts[DIGITS];
};

inline bool owns_digits(const thread Thread& me) {
    return me.index * DIGITS < RADIX;
}

// Counts the digits of the items held below `present` on the board, and sums them up.
inline void count_tile(
    const thread Thread& me,
    const thread uint* items,
    uint present,
    threadgroup atomic_uint* board,
    threadgroup uint* sums,
    thread Ranked& ranked) {
    for (uint i = me.index; i < ROWS * RADIX; i += GROUP) {
        store_shared(board + i, 0u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint row = me.simdgroup * RADIX;
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            atomic_fetch_add_explicit(board + row + items[item], 1u, memory_order_relaxed);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // A thread sums up its digits over the rows, the group over the digits.
    uint sum = 0u;
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            uint total = 0u;
#pragma unroll
            for (uint r = 0u; r < ROWS; r++) {
                total += load_shared(board + r * RADIX + me.index * DIGITS + i);
            }
            ranked.totals[i] = total;
            sum += total;
        }
    }
    const uint before_lane = simd_prefix_exclusive_sum(sum);
    if (me.lane == LANES - 1u) {
        sums[me.simdgroup] = before_lane + sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (owns_digits(me)) {
        uint start = before_lane;
        for (uint r = 0u; r < me.simdgroup; r++) {
            start += sums[r];
        }
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            ranked.starts[i] = start;
            start += ranked.totals[i];
        }
    }
}

// The place of this lane's key: the next of its digit's in the row, which moves on.
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
        place = atomic_fetch_add_explicit(row + digit, popcount(peers), memory_order_relaxed);
    }
    place = simd_shuffle(place, static_cast<ushort>(present ? ctz(peers) : me.lane));
    // The next step's places come after this one's.
    simdgroup_barrier(mem_flags::mem_threadgroup);
    return place + before;
}

// Replaces the digit of each item below `present` by the item's position in the tile in order of the digits.
inline void rank_tile(
    const thread Thread& me,
    thread uint* items,
    uint present,
    const thread Ranked& ranked,
    threadgroup atomic_uint* board) {
    // The rows hold where their keys go.
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            uint place = ranked.starts[i];
#pragma unroll
            for (uint r = 0u; r < ROWS; r++) {
                threadgroup atomic_uint* counter = board + r * RADIX + me.index * DIGITS + i;
                const uint count = load_shared(counter);
                store_shared(counter, place);
                place += count;
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held) {
            const bool is_there = item_index(me, item) < present;
            items[item] = place_in_row(me, items[item], is_there, board + me.simdgroup * RADIX);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
