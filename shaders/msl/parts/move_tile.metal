// Writes a ranked tile to its places in the output. The keys take their new order in `board`, so that neighboring
// threads write neighboring words. The tile is written in slices: the less threadgroup memory a threadgroup takes, the
// more of them run at a time.

// A pass over a chain of tiles. All tiles but the last must be full.
struct Chain {
    // The number of the chain's first tile.
    uint first_tile;
    // Where the keys and values of the chain start in the source and in the output.
    const device Key* keys_from;
    device Key* keys_to;
#if LISTS
    // The largest index in `keys_to` that the chain may write. If segments overlap, counts and keys disagree, and an offset
    // may exceed the number of keys.
    uint last;
#endif
#if VALUES
    const device Value* values_from;
    device Value* values_to;
#if INDEXED
    // Whether the values are the positions of the keys: the pass then reads none.
    bool is_first;
#endif
#endif
};

// The threadgroup memory of a pass.
struct Shared {
    threadgroup atomic_uint* board;
    // For each digit: where its keys go in the output, minus their start in the tile's new order. sweep() counts
    // another tile here before.
    threadgroup atomic_uint* offsets;
    threadgroup uint* sums;
    // The last tile that a thread has waited for in vain, counted from 1; 0 if there is none.
    threadgroup atomic_uint* missing;
};

// Puts the keys of the slice that starts at `slice_first` into `board`. `items` are the indices of the thread's keys in
// the tile's new order.
inline void put_keys(
    const thread Thread& me,
    const thread Key* own,
    const thread uint* items,
    uint slice_first,
    uint present,
    threadgroup atomic_uint* board) {
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = items[item] - slice_first;
        if (item_index(me, item) < present && at < SLICE) {
            put_key(board + at, own[item]);
        }
    }
}

// Writes the keys of a tile, and their values. The first slice of the keys is in `board`, and the offsets are set. The
// values start at index `first` of the chain; `present` keys of the tile exist.
inline void move_tile(
    const thread Thread& me,
    const thread Key* own,
    const thread uint* items,
    uint first,
    uint present,
    const thread Digit& digit,
    const thread Chain& chain,
    const thread Shared& shared) {
    threadgroup atomic_uint* board = shared.board;
#if VALUES
    Value values[KEYS];
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = first + min(item_index(me, item), present - 1u);
#if INDEXED
        values[item] = chain.is_first ? at : chain.values_from[at];
#else
        values[item] = chain.values_from[at];
#endif
    }
#endif
    for (uint slice_first = 0u; slice_first < TILE; slice_first += SLICE) {
        if (slice_first > 0u) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            put_keys(me, own, items, slice_first, present, board);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        // The keys of this slice that exist.
        const uint here = min(present - min(present, slice_first), SLICE);
#if VALUES
        uint places[SLICE_KEYS];
#endif
#pragma unroll
        for (uint i = 0u; i < SLICE_KEYS; i++) {
            const uint at = i * GROUP + me.index;
            if (at < here) {
                const Key key = key_at(board + at);
#if LISTS
                const uint place = min(load_shared(shared.offsets + digit_of(key, digit)) + slice_first + at, chain.last);
#else
                const uint place = load_shared(shared.offsets + digit_of(key, digit)) + slice_first + at;
#endif
                chain.keys_to[place] = key;
#if VALUES
                places[i] = place;
#endif
            }
        }
#if VALUES
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint item = 0u; item < KEYS; item++) {
            const uint at = items[item] - slice_first;
            if (item_index(me, item) < present && at < SLICE) {
                put_value(board + at, values[item]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint i = 0u; i < SLICE_KEYS; i++) {
            const uint at = i * GROUP + me.index;
            if (at < here) {
                chain.values_to[places[i]] = value_at(board + at);
            }
        }
#endif
    }
}
