// The rows in which simdgroups count wide digits, on the board: two counts share a word, of digits that lie a half of RADIX apart. No count and
// no place in the tile exceeds 16 bits, so that words are added up as they are, and nothing is carried from the lower half to the upper one.

#define ROW (RADIX / 2u)
#define HALF 0xffffu

// Words of a row that a thread owns: every GROUP-th, so that neighbours work on neighbouring digits.
#define WORDS (ROW / GROUP)
#define ROW_SUMS (ROWS * WORDS)

// Where a digit's keys of the tile are.
struct Ranked {
    // Of each digit that this thread owns: keys of it in the tile, and of those below it. First those of the lower halves.
    uint totals[DIGITS];
    uint starts[DIGITS];
};

inline bool owns_digits(const thread Thread&) {
    return true;
}

inline uint owned_digit(const thread Thread& me, uint i) {
    return i * GROUP + me.index;
}

// Gives what the count was before. Another lane may add to the other half at the same time.
inline uint add_to_count(threadgroup atomic_uint* row, uint digit, uint more) {
    const uint shift = 16u * (digit / ROW);
    return (atomic_fetch_add_explicit(row + digit % ROW, more << shift, memory_order_relaxed) >> shift) & HALF;
}

// A thread sums up its words over the rows, the group over the words.
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
    // The keys of the upper halves come after all those of the lower ones.
    const uint lower = sum & HALF;
#pragma unroll
    for (uint i = 0u; i < WORDS; i++) {
        ranked.totals[i] = totals[i] & HALF;
        ranked.totals[WORDS + i] = totals[i] >> 16u;
        ranked.starts[i] = starts[i] & HALF;
        ranked.starts[WORDS + i] = (starts[i] >> 16u) + lower;
    }
}

// Replaces the counts by where each row's keys of each digit go in the tile.
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
