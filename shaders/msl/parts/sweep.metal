// Moves the keys of one tile to their offsets in the order by one digit, with one read and one write of each key.
//
// A chain is a list of tiles that are sorted together: all tiles, or those of one bucket. Among the keys of a chain with
// the same digit value, those of an earlier tile come first. A tile counts its digits, publishes the counts, and adds up
// the counts of earlier tiles to find the offsets of its keys. This is decoupled look-back (Merrill and Garland, 2016)
// in a radix sort (Adinets and Merrill, "Onesweep", 2022).
//
// `status` has a word for each tile and digit value. Its two top bits are a flag, the rest is a count:
//
//   0           nothing is published yet
//   AGGREGATE   how many keys of the tile have the digit value
//   INCLUSIVE   how many keys of the tile and of all earlier tiles of the chain have it
//
// During a pass, a word only changes by an atomic maximum, and never becomes smaller. So it does not matter which
// threadgroup publishes it, or how often.
//
// Apple's GPUs do not promise that another threadgroup makes progress. A threadgroup that has waited too long for a
// tile therefore counts that tile itself, from the source, and publishes the counts.

#define AGGREGATE (1u << 30u)
#define INCLUSIVE (2u << 30u)
#define COUNT (AGGREGATE - 1u)

// What the tiles of a pass share in device memory.
struct Tiles {
    device atomic_uint* status;
    // The status words of the next pass. This pass clears them.
    device uint* status_next;
    // For each digit: how many keys of the chain have a smaller one.
    const device atomic_uint* smaller;
    // How many tiles were counted on behalf of others.
    device atomic_uint* recounts;
};

inline void publish(device atomic_uint* status, uint tile, uint digit, uint word) {
    atomic_fetch_max_explicit(status + tile * RADIX + digit, word, memory_order_relaxed);
}
#if WIDE

// The digits that a thread looks back for at a time.
#define TOGETHER LOOK_DIGITS

// Looks back for TOGETHER digits of the thread, from number `i` on. Adds the keys of the tiles that it sees to
// `earlier`, and lowers `before`, the end of the tiles that it has not seen. It reads one word for each digit at a
// time: a thread owns enough digits.
inline void look_back(
    const thread Thread& me,
    const device atomic_uint* status,
    uint first_tile,
    uint i,
    thread uint* before,
    thread uint* earlier) {
    bool waits = true;
    uint spins = 0u;
    while (waits && spins < SPIN_LIMIT) {
        uint words[TOGETHER];
#pragma unroll
        for (uint d = 0u; d < TOGETHER; d++) {
            words[d] = before[i + d] > first_tile ? load(status + (before[i + d] - 1u) * RADIX + owned_digit(me, i + d)) : 0u;
        }
        bool seen = false;
        waits = false;
#pragma unroll
        for (uint d = 0u; d < TOGETHER; d++) {
            if (words[d] >= AGGREGATE) {
                earlier[i + d] += words[d] & COUNT;
                before[i + d] = words[d] >= INCLUSIVE ? first_tile : before[i + d] - 1u;
                seen = true;
            }
            waits = waits || before[i + d] > first_tile;
        }
        spins = seen ? 0u : spins + 1u;
    }
}
#else

// The digits that a thread looks back for at a time.
#define TOGETHER 1u

// Looks back for digit number `i` of the thread. Adds the keys of the tiles that it sees to `earlier`, and lowers
// `before`, the end of the tiles that it has not seen.
inline void look_back(
    const thread Thread& me,
    const device atomic_uint* status,
    uint first_tile,
    uint i,
    thread uint* before,
    thread uint* earlier) {
    const device atomic_uint* column = status + owned_digit(me, i);
    uint left = before[i];
    uint sum = earlier[i];
    uint spins = 0u;
    while (left > first_tile && spins < SPIN_LIMIT) {
        // While it waits, the thread reads one word alone.
        if (spins > 0u && load(column + (left - 1u) * RADIX) < AGGREGATE) {
            spins += 1u;
            continue;
        }
        // Else the thread reads several words: the reads do not wait for each other. Before the first tile of the
        // chain, the sum is 0.
        uint words[LOOK];
#pragma unroll
        for (uint w = 0u; w < LOOK; w++) {
            words[w] = left > first_tile + w ? load(column + (left - w - 1u) * RADIX) : INCLUSIVE;
        }
        bool seen = true;
#pragma unroll
        for (uint w = 0u; w < LOOK; w++) {
            seen = seen && words[w] >= AGGREGATE;
            if (seen && left > first_tile) {
                sum += words[w] & COUNT;
                left = words[w] >= INCLUSIVE ? first_tile : left - 1u;
            }
        }
        spins = seen ? 0u : spins + 1u;
    }
    before[i] = left;
    earlier[i] = sum;
}
#endif

// Moves the tile's keys, of which there are `present`, stably.
inline void sweep(
    const thread Thread& me,
    uint tile,
    uint present,
    const thread Digit& digit,
    const thread Chain& chain,
    const thread Tiles& tiles,
    const thread Shared& shared,
    constant Sort& sort) {
    const uint first_tile = chain.first_tile;
    const uint first = (tile - first_tile) * TILE;
    const bool is_blocked =
        tile >= sort.blocked.x && tile < sort.blocked.y && tile % sort.blocked.z == sort.blocked.w;
    for (uint i = me.index; i < RADIX; i += GROUP) {
        tiles.status_next[tile * RADIX + i] = 0u;
    }

    Key own[KEYS];
    uint items[KEYS];
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        // Items past the last key repeat that key: no load waits for a branch.
        own[item] = chain.keys_from[first + min(item_index(me, item), present - 1u)];
    }
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        items[item] = digit_of(own[item], digit);
    }
    Ranked ranked;
    count_tile(me, items, present, shared.board, shared.sums, ranked);
    if (owns_digits(me) && !is_blocked) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            publish(tiles.status, tile, owned_digit(me, i), (tile == first_tile ? INCLUSIVE : AGGREGATE) | ranked.totals[i]);
        }
    }
    rank_tile(me, items, present, ranked, shared.board);
    put_keys(me, own, items, 0u, present, shared.board);

    // For each of the thread's digits: its keys in earlier tiles, the end of the tiles that the thread has not seen,
    // and where the tile's keys go.
    uint earlier[DIGITS];
    uint before[DIGITS];
    uint places[DIGITS];
#pragma unroll
    for (uint i = 0u; i < DIGITS; i++) {
        earlier[i] = 0u;
        places[i] = 0u;
        before[i] = tile;
    }
    for (;;) {
        if (owns_digits(me)) {
#pragma unroll
            for (uint i = 0u; i < DIGITS; i += TOGETHER) {
                look_back(me, tiles.status, first_tile, i, before, earlier);
            }
#pragma unroll
            for (uint i = 0u; i < DIGITS; i++) {
                const uint value = owned_digit(me, i);
                if (before[i] > first_tile) {
                    atomic_fetch_max_explicit(shared.missing, before[i], memory_order_relaxed);
                    continue;
                }
                if (!is_blocked) {
                    publish(tiles.status, tile, value, INCLUSIVE | (earlier[i] + ranked.totals[i]));
                }
                places[i] = load(tiles.smaller + value) + earlier[i] - ranked.starts[i];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint stuck = load_shared(shared.missing);
        if (stuck == 0u) {
            break;
        }
        // Counts that tile, which must be full, and publishes its counts.
        for (uint i = me.index; i < RADIX; i += GROUP) {
            store_shared(shared.offsets + i, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (me.index == 0u) {
            store_shared(shared.missing, 0u);
            atomic_fetch_add_explicit(tiles.recounts, 1u, memory_order_relaxed);
        }
        for (uint i = me.index; i < TILE; i += GROUP) {
            const uint other = digit_of(chain.keys_from[(stuck - 1u - first_tile) * TILE + i], digit);
            atomic_fetch_add_explicit(shared.offsets + other, 1u, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = me.index; i < RADIX; i += GROUP) {
            publish(tiles.status, stuck - 1u, i, (stuck - 1u == first_tile ? INCLUSIVE : AGGREGATE) | load_shared(shared.offsets + i));
        }
    }
    if (owns_digits(me)) {
#pragma unroll
        for (uint i = 0u; i < DIGITS; i++) {
            store_shared(shared.offsets + owned_digit(me, i), places[i]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    move_tile(me, own, items, first, present, digit, chain, shared);
}
