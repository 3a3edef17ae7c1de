// Counts how many keys of 8 or 16 bits have each value.
//
// in       sort; state: the number of keys; keys_from: the keys, several in each word; the first one has the index
//          sort.packed_first in keys_from
// in, out  state: word STATE_VALUES + v grows by the number of keys with value `v`. The value of a key is its ordered bits
//          as an unsigned number, so that smaller values come first in the sort
// launch   one or more teams of SPANS threadgroups
// does     Each team takes a part of the keys. A team has a threadgroup for each span of values, one span if keys have 8
//          bits. Each threadgroup reads all keys of the team, and counts those whose values are in its span. For 8 bits,
//          each value has COLUMNS counters. Neighboring lanes use different ones, so that these lanes do not wait for each
//          other. For 16 bits, two counters share a word, so a counter has 16 bits. If a thread adds to a word and finds
//          2^15 or more in one of the two counters, the thread atomically clears bit 15 of each counter, and adds 2^15 to
//          the state for each bit that it has cleared. The atomic operation returns which bits those are, so that no two
//          threads add the same 2^15. So no counter overflows. At the end, the threadgroup adds all its counters to the
//          state.

// The words of keys that a threadgroup reads at a time.
#define SHARE (GROUP * BATCH)

#if HALVES
// The values of a span.
#define SPAN (2u * COUNTERS)
#define BOTH_HALF_FULL 0x80008000u
#else
// The counters of each value.
#define COLUMNS (COUNTERS / RADIX)
#endif

inline void add(uint raw, uint found, device atomic_uint* state, constant Sort& sort) {
    if (found > 0u) {
        atomic_fetch_add_explicit(state + STATE_VALUES + ordered_of(raw, sort), found, memory_order_relaxed);
    }
}

// Adds the two counts of a word of counters to the state.
inline void add_halves(uint raw, uint found, device atomic_uint* state, constant Sort& sort) {
    add(raw, found & 0xffffu, state, sort);
    add(raw + 1u, found >> 16u, state, sort);
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void count_values(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint* keys_from [[buffer(2)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup atomic_uint counts[COUNTERS];

    const uint group = group_index(group_id, groups);
    const uint team = group / SPANS;
    const uint teams = groups.x * groups.y / SPANS;
#if HALVES
    const uint least = group % SPANS * SPAN;
#else
    const uint column = index % COLUMNS;
#endif
    for (uint i = index; i < COUNTERS; i += GROUP) {
        store_shared(counts + i, 0u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint keys = load(state + STATE_COUNT);
    const uint words = keys / KEYS_PER_WORD;
    const device uint* source = keys_from + sort.packed_first / KEYS_PER_WORD;
    const uint end = team < teams ? words : 0u;
    for (uint first = team * SHARE; first <= end; first += teams * SHARE) {
        for (uint k = 0u; k < BATCH; k++) {
            const uint i = first + k * GROUP + index;
            // The last word may be full only in part.
            const uint present = i < end ? KEYS_PER_WORD : i == end && team < teams ? keys % KEYS_PER_WORD : 0u;
            const uint word = present > 0u ? source[i] : 0u;
            for (uint j = 0u; j < present; j++) {
                const uint value = (word >> (j * KEY_BITS)) & VALUE_MASK;
#if HALVES
                const uint place = value - least;
                if (place < SPAN) {
                    threadgroup atomic_uint* at = counts + place / 2u;
                    const uint before = atomic_fetch_add_explicit(at, 1u << (16u * (place % 2u)), memory_order_relaxed);
                    // Several threads may find the counters half full: the first one moves them.
                    if ((before & BOTH_HALF_FULL) != 0u) {
                        const uint full = atomic_fetch_and_explicit(at, ~BOTH_HALF_FULL, memory_order_relaxed);
                        add_halves(least + place / 2u * 2u, full & BOTH_HALF_FULL, state, sort);
                    }
                }
#else
                atomic_fetch_add_explicit(counts + value * COLUMNS + column, 1u, memory_order_relaxed);
#endif
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

#if HALVES
    for (uint i = index; i < COUNTERS; i += GROUP) {
        add_halves(least + 2u * i, load_shared(counts + i), state, sort);
    }
#else
    for (uint value = index; value < RADIX; value += GROUP) {
        uint found = 0u;
        for (uint c = 0u; c < COLUMNS; c++) {
            found += load_shared(counts + value * COLUMNS + (c + index) % COLUMNS);
        }
        add(value, found, state, sort);
    }
#endif
}
