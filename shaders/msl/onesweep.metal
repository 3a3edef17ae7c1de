// One pass of a least-significant-digit radix sort, in one read and one write of the keys.
//
// in       slot: which pass this is; sort; keys_from, values_from: a pass never writes them
// in, out  state: the schedule, and the tickets; status: all zero before
// out      keys_to, values_to; status_next: all zero, for the next pass
// launch   at least as many groups as tiles; groups of passes that are not scheduled, and of tiles beyond the last, leave at once
// does     Tiles are taken by ticket, so that the tiles before one's own have started. A tile counts its digits, publishes the counts, and
//          looks back over the counts of earlier tiles for where its keys go: decoupled look-back (Merrill and Garland, 2016) in a radix
//          sort (Adinets and Merrill, "Onesweep", 2022). A status word holds a count and a flag: empty, the count of a tile, or of all
//          tiles up to it. It only ever grows, by an atomic maximum, so it does not matter who publishes it, or how often. Apple's
//          GPUs do not promise that other groups make progress: who waits too long for a tile counts it itself, from the source,
//          and publishes that.
// needs    simdgroups of 32 lanes; fewer than 2^30 keys

#define AGGREGATE (1u << 30u)
#define INCLUSIVE (2u << 30u)
#define COUNT (AGGREGATE - 1u)

inline uint tiles_of(uint count) {
    return (count + TILE - 1u) / TILE;
}

inline void publish(device atomic_uint* status, uint tile, uint digit, uint word) {
    atomic_fetch_max_explicit(status + tile * RADIX + digit, word, memory_order_relaxed);
}

// Looks back for one digit: adds the keys of earlier tiles to `earlier`, and gives how many tiles are left when it gives up, none if it
// does not.
inline uint look_back(device atomic_uint* status, uint digit, uint left, thread uint& earlier) {
    uint before = left;
    uint spins = 0u;
    while (before > 0u && spins < SPIN_LIMIT) {
        // Whoever waits looks at one word alone.
        if (spins > 0u && load(status + (before - 1u) * RADIX + digit) < AGGREGATE) {
            spins += 1u;
            continue;
        }
        // Some at once: the reads do not wait for each other. Before the first tile there is nothing.
        uint words[LOOK];
#pragma unroll
        for (uint w = 0u; w < LOOK; w++) {
            words[w] = before > w ? load(status + (before - w - 1u) * RADIX + digit) : INCLUSIVE;
        }
        bool seen = true;
#pragma unroll
        for (uint w = 0u; w < LOOK; w++) {
            seen = seen && words[w] >= AGGREGATE;
            if (seen && before > 0u) {
                earlier += words[w] & COUNT;
                before = words[w] >= INCLUSIVE ? 0u : before - 1u;
            }
        }
        spins = seen ? 0u : spins + 1u;
    }
    return before;
}

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
#pragma unroll
            for (uint word = 0u; word < KEY_WORDS; word++) {
                store_shared(board + word * SLICE + at, key_word(own[item], word));
            }
        }
    }
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void onesweep(
    constant Number& slot [[buffer(0)]],
    constant Sort& sort [[buffer(1)]],
    device atomic_uint* state [[buffer(2)]],
    device atomic_uint* status [[buffer(3)]],
    device uint* status_next [[buffer(4)]],
    const device Key* keys_from [[buffer(5)]],
    device Key* keys_to [[buffer(6)]],
#if VALUES
    const device Value* values_from [[buffer(7)]],
    device Value* values_to [[buffer(8)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    // Counts first, then a slice of the tile's keys in their new order, then of its values, word by word.
    threadgroup atomic_uint board[BOARD];
    // Where each digit's keys go, less their position in the tile; counts of another tile before that.
    threadgroup atomic_uint offsets[RADIX];
    threadgroup uint sums[ROWS];
    threadgroup uint ticket;
    threadgroup atomic_uint missing;

    const Thread me = Thread{index, simdgroup, lane, KEYS};
    if (index == 0u) {
        ticket = atomic_fetch_add_explicit(state + STATE_TICKETS + slot.value, 1u, memory_order_relaxed);
        store_shared(&missing, 0u);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint tile = ticket;
    const uint keys = load(state + STATE_COUNT);
    if (slot.value >= passes(state) || tile >= tiles_of(keys)) {
        return;
    }
    const uint first = tile * TILE;
    const uint present = min(keys - first, TILE);
    const uint digit_index = scheduled(slot.value, state);
    const Digit digit = digit_at(digit_index, sort);
    const bool is_odd = (slot.value & 1u) != 0u;
    const bool is_blocked =
        tile >= sort.blocked.x && tile < sort.blocked.y && tile % sort.blocked.z == sort.blocked.w;
    for (uint i = index; i < RADIX; i += GROUP) {
        status_next[tile * RADIX + i] = 0u;
    }

    // The first pass reads the source and writes the scratch, the others go to and fro between scratch and home.
    const device Key* source = keys_from + (slot.value == 0u ? sort.keys_source : is_odd ? 0u : sort.keys_home);
    Key own[KEYS];
    uint items[KEYS];
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        // The last key stands for those that are not there: no load waits for a branch.
        own[item] = source[first + min(item_index(me, item), present - 1u)];
    }
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        items[item] = digit_of(own[item], digit);
    }
    Ranked ranked;
    count_tile(me, items, present, board, sums, ranked);
    if (owns_digits(me) && !is_blocked) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            publish(status, tile, index * DIGITS + i, (tile == 0u ? INCLUSIVE : AGGREGATE) | ranked.totals[i]);
        }
    }
    rank_tile(me, items, present, ranked, board);
    put_keys(me, own, items, 0u, present, board);

    // How many keys of each of the thread's digits lie in earlier tiles, and where its keys go.
    uint earlier[DIGITS];
    uint left[DIGITS];
    uint places[DIGITS];
#pragma unroll
    for (uint i = 0u; i < DIGITS; i++) {
        earlier[i] = 0u;
        places[i] = 0u;
        left[i] = tile;
    }
    bool is_first = true;
    for (;;) {
        if (owns_digits(me)) {
#pragma unroll
            for (uint i = 0u; i < DIGITS; i++) {
                const uint value = index * DIGITS + i;
                if (left[i] == 0u && !is_first) {
                    continue;
                }
                left[i] = look_back(status, value, left[i], earlier[i]);
                if (left[i] > 0u) {
                    atomic_fetch_max_explicit(&missing, left[i], memory_order_relaxed);
                    continue;
                }
                if (!is_blocked) {
                    publish(status, tile, value, INCLUSIVE | (earlier[i] + ranked.totals[i]));
                }
                const uint smaller = load(state + STATE_HISTOGRAM + digit_index * RADIX + value);
                places[i] = smaller + earlier[i] - ranked.starts[i];
            }
        }
        is_first = false;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint stuck = load_shared(&missing);
        if (stuck == 0u) {
            break;
        }
        // Counts that tile, a whole one, and publishes its counts.
        for (uint i = index; i < RADIX; i += GROUP) {
            store_shared(offsets + i, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (index == 0u) {
            store_shared(&missing, 0u);
            atomic_fetch_add_explicit(state + STATE_RECOUNTS, 1u, memory_order_relaxed);
        }
        for (uint i = index; i < TILE; i += GROUP) {
            const uint other = digit_of(source[(stuck - 1u) * TILE + i], digit);
            atomic_fetch_add_explicit(offsets + other, 1u, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = index; i < RADIX; i += GROUP) {
            publish(status, stuck - 1u, i, (stuck == 1u ? INCLUSIVE : AGGREGATE) | load_shared(offsets + i));
        }
    }
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            store_shared(offsets + index * DIGITS + i, places[i]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Neighbours are written together, slice by slice.
    device Key* target = keys_to + (is_odd ? sort.keys_home : 0u);
#if VALUES
    const device Value* value_source = values_from + (is_odd ? 0u : sort.values_home);
    device Value* value_target = values_to + (is_odd ? sort.values_home : 0u);
    Value values[KEYS];
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = first + min(item_index(me, item), present - 1u);
#if INDEXED
        values[item] = slot.value == 0u ? at : value_source[at];
#else
        values[item] = value_source[at];
#endif
    }
#endif
    for (uint slice_first = 0u; slice_first < TILE; slice_first += SLICE) {
        if (slice_first > 0u) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            put_keys(me, own, items, slice_first, present, board);
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        const uint here = min(present - min(present, slice_first), SLICE);
#if VALUES
        uint value_places[SLICE_KEYS];
#endif
#pragma unroll
        for (uint i = 0u; i < SLICE_KEYS; i++) {
            const uint at = i * GROUP + index;
            if (at < here) {
#if KEY_1
                const Key key = load_shared(board + at);
#endif
#if KEY_2
                const Key key = uint2(load_shared(board + at), load_shared(board + SLICE + at));
#endif
#if KEY_4
                const Key key = uint4(
                    load_shared(board + at), load_shared(board + SLICE + at), load_shared(board + 2u * SLICE + at), load_shared(board + 3u * SLICE + at));
#endif
                const uint place = load_shared(offsets + digit_of(key, digit)) + slice_first + at;
                target[place] = key;
#if VALUES
                value_places[i] = place;
#endif
            }
        }
#if VALUES
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint item = 0u; item < KEYS; item++) {
            const uint at = items[item] - slice_first;
            if (item_index(me, item) < present && at < SLICE) {
                threadgroup atomic_uint* place = board + at;
#if VALUE_1
                store_shared(place, values[item]);
#endif
#if VALUE_2
                store_shared(place, values[item].x);
                store_shared(place + SLICE, values[item].y);
#endif
#if VALUE_3
                store_shared(place, values[item].x);
                store_shared(place + SLICE, values[item].y);
                store_shared(place + 2u * SLICE, values[item].z);
#endif
#if VALUE_4
                store_shared(place, values[item].x);
                store_shared(place + SLICE, values[item].y);
                store_shared(place + 2u * SLICE, values[item].z);
                store_shared(place + 3u * SLICE, values[item].w);
#endif
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint i = 0u; i < SLICE_KEYS; i++) {
            const uint at = i * GROUP + index;
            if (at < here) {
                const threadgroup atomic_uint* place = board + at;
#if VALUE_1
                value_target[value_places[i]] = load_shared(place);
#endif
#if VALUE_2
                value_target[value_places[i]] = uint2(load_shared(place), load_shared(place + SLICE));
#endif
#if VALUE_3
                value_target[value_places[i]] =
                    packed_uint3(load_shared(place), load_shared(place + SLICE), load_shared(place + 2u * SLICE));
#endif
#if VALUE_4
                value_target[value_places[i]] = uint4(
                    load_shared(place), load_shared(place + SLICE), load_shared(place + 2u * SLICE), load_shared(place + 3u * SLICE));
#endif
            }
        }
#endif
    }
}
