// Histograms of the keys that a threadgroup reads, in threadgroup memory: one for each of the COUNTED lowest digits.

#if HALVES
// Two counts share a word: those of values `v` and `v + RADIX / 2`. A threadgroup reads fewer than 2^16 keys, so that
// no count overflows its half.
#define ROW (RADIX / 2u)
#define SLOTS (COUNTED * ROW)

inline void count(threadgroup atomic_uint* counts, uint d, uint value) {
    atomic_fetch_add_explicit(counts + d * ROW + value % ROW, 1u << (16u * (value / ROW)), memory_order_relaxed);
}

// Returns the count at index `i` of the histograms: of value `i % RADIX` of digit `i / RADIX`.
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

// Counts the `digits` lowest digits of a key.
inline void count_digits(Key key, uint digits, threadgroup atomic_uint* counts, constant Sort& sort) {
#pragma unroll
    for (uint d = 0u; d < COUNTED; d++) {
        if (d < digits) {
            const Digit digit = digit_at(d, sort);
            count(counts, d, digit_of(key, digit));
        }
    }
}
