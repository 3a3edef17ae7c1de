// Counts of the keys that a group reads: for each of the COUNTED lowest digits, of each value.

#if HALVES
// Two counts share a word, of values that lie a half of RADIX apart: the keys of a group fit 16 bits.
#define ROW (RADIX / 2u)
#define SLOTS (COUNTED * ROW)

inline void count(threadgroup atomic_uint* counts, uint d, uint value) {
    atomic_fetch_add_explicit(counts + d * ROW + value % ROW, 1u << (16u * (value / ROW)), memory_order_relaxed);
}

// The count of a value of a digit, by its place in the histogram.
inline uint found_at(const threadgroup atomic_uint* counts, uint i) {
    return (load_shared(counts + i / RADIX * ROW + i % ROW) >> (16u * (i / ROW % 2u))) & 0xffffu;
}
#else
#define SLOTS (COUNTED * RADIX)

inline void count(threadgroup atomic_uint* counts, uint d, uint value) {
    atomic_fetch_add_explicit(counts + d * RADIX + value, 1u, memory_order_relaxed);
}

inline uint found_at(const threadgroup atomic_uint* counts, uint i) {
    return load_shared(counts + i);
}
#endif

// Counts the first `digits` of a key's digits.
inline void count_digits(Key key, uint digits, threadgroup atomic_uint* counts, constant Sort& sort) {
#pragma unroll
    for (uint d = 0u; d < COUNTED; d++) {
        if (d < digits) {
            const Digit digit = digit_at(d, sort);
            count(counts, d, digit_of(key, digit));
        }
    }
}
