// Puts each segment of at least two keys on the list of its class. The length of a segment decides its class.
//
// in       count_low, count_middle, count_high, count: the number of segments, as the kernel `begin` gets that of keys;
//          begins_first, ends_first: the index in `begins`, and in `ends`, of the bound of the first segment; sort; begins, ends: for each segment, its first key and the end of
//          its keys
// in, out  state, these words 0 before: STATE_LISTED + class counts the segments of each class, STATE_TILES the tiles of
//          long segments; STATE_OVERFLOWS becomes 1 if one of these counts exceeds a word
// out      lists: the lists of all classes, each in any order (see parts/lists.metal)
// launch   any number of threadgroups, which share the segments
// does     A bound that is larger than sort.max counts as sort.max.

inline uint class_of(uint keys) {
    if (keys > NETWORK) {
        return keys <= SMALL_BUCKET ? SMALL_CLASS : LONG_CLASS;
    }
    // From class to class of the network, the team of a segment doubles.
    return 32u - clz((max(keys, 1u) - 1u) / NETWORK_KEYS);
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void segments(
    constant Number& count_low [[buffer(0)]],
    constant Number& count_middle [[buffer(1)]],
    constant Number& count_high [[buffer(2)]],
    constant Number& begins_first [[buffer(3)]],
    constant Number& ends_first [[buffer(4)]],
    constant Sort& sort [[buffer(5)]],
    const device uint* count [[buffer(6)]],
    device atomic_uint* state [[buffer(7)]],
    const device uint* begins [[buffer(8)]],
    const device uint* ends [[buffer(9)]],
    device uint* lists [[buffer(10)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    // Of the segments that the threadgroup looks at: how many belong to each class, and the tiles of the long ones.
    // `firsts` states where these start on the lists, and among all tiles.
    threadgroup atomic_uint found[CLASSES + 1u];
    threadgroup uint firsts[CLASSES + 1u];

    const uint there = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
    for (uint block = group_id.x * GROUP; block < there; block += groups.x * GROUP) {
        if (index <= CLASSES) {
            store_shared(found + index, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint begin = 0u;
        uint keys = 0u;
        if (block + index < there) {
            begin = min(begins[begins_first.value + block + index], sort.max);
            keys = max(min(ends[ends_first.value + block + index], sort.max), begin) - begin;
        }
        const uint kind = class_of(keys);
        uint place = 0u;
        uint tile = 0u;
        if (keys > 1u) {
            place = atomic_fetch_add_explicit(found + kind, 1u, memory_order_relaxed);
        }
        if (kind == LONG_CLASS) {
            tile = atomic_fetch_add_explicit(found + CLASSES, (keys + TILE - 1u) / TILE, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (index <= CLASSES) {
            const uint more = load_shared(found + index);
            if (more > 0u) {
                const uint before = atomic_fetch_add_explicit(state + STATE_LISTED + index, more, memory_order_relaxed);
                firsts[index] = before;
                if (before + more < more) {
                    store(state + STATE_OVERFLOWS, 1u);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (keys > 1u) {
            place += firsts[kind];
            if (place < capacity(kind, sort)) {
                const uint at = list_at(kind, sort) + 2u * place;
                lists[at] = begin;
                lists[at + 1u] = keys;
                if (kind == LONG_CLASS) {
                    lists[first_tile_at(place, sort)] = firsts[CLASSES] + tile;
                }
            }
        }
    }
}
