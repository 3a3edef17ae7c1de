// The rows of `board`: a histogram for each simdgroup, with a word for each value of the digit.

#define ROW RADIX
#define ROW_SUMS ROWS

// The counts of a tile.
struct Ranked {
    // For each digit that this thread owns: how many keys of the tile have it, and how many have a smaller one.
    uint totals[DIGITS];
    uint starts[DIGITS];
};

inline bool owns_digits(const thread Thread& me) {
    return me.index * DIGITS < RADIX;
}

inline uint owned_digit(const thread Thread& me, uint i) {
    return me.index * DIGITS + i;
}

// Adds to a count, and returns what it was before.
inline uint add_to_count(threadgroup atomic_uint* row, uint digit, uint more) {
    return atomic_fetch_add_explicit(row + digit, more, memory_order_relaxed);
}

// Each thread sums up its digits over the rows. The threadgroup then sums up these sums over the digits.
inline void sum_up_rows(
    const thread Thread& me,
    const threadgroup atomic_uint* board,
    threadgroup uint* sums,
    thread Ranked& ranked) {
    uint sum = 0u;
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            uint total = 0u;
#pragma unroll
            for (uint r = 0u; r < ROWS; r++) {
                total += load_shared(board + r * ROW + owned_digit(me, i));
            }
            ranked.totals[i] = total;
            sum += total;
        }
    }
    uint start = sums_before(me.simdgroup, me.lane, sum, sums).x;
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            ranked.starts[i] = start;
            start += ranked.totals[i];
        }
    }
}

// Replaces each count by where that row's keys of that digit start in the tile's new order.
inline void place_rows(const thread Thread& me, const thread Ranked& ranked, threadgroup atomic_uint* board) {
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            uint place = ranked.starts[i];
#pragma unroll
            for (uint r = 0u; r < ROWS; r++) {
                threadgroup atomic_uint* counter = board + r * ROW + owned_digit(me, i);
                const uint count = load_shared(counter);
                store_shared(counter, place);
                place += count;
            }
        }
    }
}
