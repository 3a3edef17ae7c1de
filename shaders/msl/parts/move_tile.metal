// Moves a ranked tile to its places in the output: through the board, where it takes its new order, so that neighbours are written together.
// It goes in slices, since threadgroup memory is what limits how many groups a device works on at a time.

// A pass over a chain of tiles, of which all but the last are whole.
struct Chain {
    // The first tile.
    uint first_tile;
    // Its keys, and where those of it and of what lies before go.
    const device Key* keys_from;
    device Key* keys_to;
#if VALUES
    const device Value* values_from;
    device Value* values_to;
#if INDEXED
    // Whether the positions of the keys are their values, so that none are read.
    bool is_first;
#endif
#endif
};

// The threadgroup memory of a pass.
struct Shared {
    threadgroup atomic_uint* board;
    // Where each digit's keys go, less their position in the tile; counts of another tile before that.
    threadgroup atomic_uint* offsets;
    threadgroup uint* sums;
    // The last tile that somebody waits for in vain, counted from 1.
    threadgroup atomic_uint* missing;
};

// Puts the keys of the slice that starts at `slice_first` on the board, `items` being the places of the tile's keys in it.
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

// Writes the keys of a tile of which the first slice is on the board, and the values of the same tile, which starts at `first`, once the
// offsets hold. `present` of them are there.
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
        // Those of the slice that are there.
        const uint here = min(present - min(present, slice_first), SLICE);
#if VALUES
        uint places[SLICE_KEYS];
#endif
#pragma unroll
        for (uint i = 0u; i < SLICE_KEYS; i++) {
            const uint at = i * GROUP + me.index;
            if (at < here) {
                const Key key = key_at(board + at);
                const uint place = load_shared(shared.offsets + digit_of(key, digit)) + slice_first + at;
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
