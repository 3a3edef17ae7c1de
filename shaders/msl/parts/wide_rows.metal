// The rows of `board` for wide digits: a histogram for each simdgroup. Two counts share a word: those of digits `d` and
// `d + RADIX / 2`. No count and no index in the tile exceeds 16 bits, so that words can be added: nothing carries from
// the lower half to the upper one.

#define ROW (RADIX / 2u)
#define HALF 0xffffu

// The words of a row that a thread owns: every GROUP-th, so that neighboring threads access neighboring words.
#define WORDS (ROW / GROUP)
#define ROW_SUMS (ROWS * WORDS)

// The counts of a tile.
struct Ranked {
    // For each digit that this thread owns: how many keys of the tile have it, and how many have a smaller one. The
    // digits of the lower halves come first.
    uint totals[DIGITS];
    uint starts[DIGITS];
};

inline bool owns_digits(const thread Thread&) {
    return true;
}

inline uint owned_digit(const thread Thread& me, uint i) {
    return i * GROUP + me.index;
}

// Adds to a count, and returns what it was before. Another lane may add to the other half at the same time.
inline uint add_to_count(threadgroup atomic_uint* row, uint digit, uint more) {
    const uint shift = 16u * (digit / ROW);
    return (atomic_fetch_add_explicit(row + digit % ROW, more << shift, memory_order_relaxed) >> shift) & HALF;
}

// Each thread sums up its words over the rows. The threadgroup then sums up these sums over the words.
inline void sum_up_rows(
    const thread Thread& me,
    const threadgroup atomic_uint* board,
    threadgroup uint* sums,
    thread Ranked& ranked) {
    uint totals[WORDS];
    uint starts[WORDS];
#pragma unroll
    for (uint i = 0u; i < WORDS; i++) {
        uint total = 0u;
#pragma unroll
        for (uint r = 0u; r < ROWS; r++) {
            total += load_shared(board + r * ROW + owned_digit(me, i));
        }
        totals[i] = total;
        starts[i] = simd_prefix_exclusive_sum(total);
        if (me.lane == LANES - 1u) {
            sums[i * ROWS + me.simdgroup] = starts[i] + total;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = 0u;
#pragma unroll
    for (uint i = 0u; i < WORDS; i++) {
        starts[i] += sum;
#pragma unroll
        for (uint r = 0u; r < ROWS; r++) {
            const uint row_sum = sums[i * ROWS + r];
            starts[i] += r < me.simdgroup ? row_sum : 0u;
            sum += row_sum;
        }
    }
    // The keys of the upper halves come after all keys of the lower halves.
    const uint lower = sum & HALF;
#pragma unroll
    for (uint i = 0u; i < WORDS; i++) {
        ranked.totals[i] = totals[i] & HALF;
        ranked.totals[WORDS + i] = totals[i] >> 16u;
        ranked.starts[i] = starts[i] & HALF;
        ranked.starts[WORDS + i] = (starts[i] >> 16u) + lower;
    }
}

// Replaces each count by where that row's keys of that digit start in the tile's new order.
inline void place_rows(const thread Thread& me, const thread Ranked& ranked, threadgroup atomic_uint* board) {
#pragma unroll
    for (uint i = 0u; i < WORDS; i++) {
        uint place = ranked.starts[i] | (ranked.starts[WORDS + i] << 16u);
#pragma unroll
        for (uint r = 0u; r < ROWS; r++) {
            threadgroup atomic_uint* counter = board + r * ROW + owned_digit(me, i);
            const uint count = load_shared(counter);
            store_shared(counter, place);
            place += count;
        }
    }
}
