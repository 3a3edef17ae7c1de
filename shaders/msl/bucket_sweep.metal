// Sorts each bucket of a batch by one of the lower digits, stably. It writes each key once, and reads it once, or again
// where a waiting threadgroup counts the tile of the key. With LISTS, the buckets are long segments.
//
// in       slot: the number of the pass (the hybrid's partition is pass 0); batch: the number of the batch; sort;
//          state: the schedule; table: tiles and counts; keys_from, values_from: the keys and values, which nothing
//          writes during the pass
// in, out  table: the ticket of this pass in the batch's record, 0 before; status: RADIX words for each tile of the
//          batch, all 0 before; state: STATE_RECOUNTS grows by the number of tiles that a waiting threadgroup counted
//          itself
// out      keys_to, values_to: the keys and values of the batch; status_next: RADIX words for each tile of the batch,
//          all 0, for the next pass
// launch   any number of threadgroups; they take tiles of the batch until none is left. If the pass is not scheduled,
//          they return
// does     A threadgroup takes the next tile by a ticket, and moves it: see parts/sweep.metal. So the tiles before it
//          have been taken. Each bucket is a chain. The number of a tile counts from the first of the batch: all
//          batches use the same status words.
// needs    simdgroups of 32 lanes; fewer than 2^30 keys

#if LISTS
// Returns the number of the first pass. Odd passes read the scratch and write home, and the last pass writes home.
inline uint first_slot(constant Sort& sort) {
    return 2u - sort.digit_count % 2u;
}

inline uint pass_digit(uint slot, const device atomic_uint*, constant Sort& sort) {
    return slot - first_slot(sort);
}

inline uint slots_end(const device atomic_uint*, constant Sort& sort) {
    return first_slot(sort) + sort.digit_count;
}
#else
inline uint pass_digit(uint slot, const device atomic_uint* state, constant Sort&) {
    return scheduled(slot - 1u, state);
}

inline uint slots_end(const device atomic_uint* state, constant Sort&) {
    return passes(state);
}
#endif

[[max_total_threads_per_threadgroup(GROUP)]] kernel void bucket_sweep(
    constant Number& slot [[buffer(0)]],
    constant Number& batch [[buffer(1)]],
    constant Sort& sort [[buffer(2)]],
    device atomic_uint* state [[buffer(3)]],
    device atomic_uint* table [[buffer(4)]],
    device atomic_uint* status [[buffer(5)]],
    device uint* status_next [[buffer(6)]],
    const device Key* keys_from [[buffer(7)]],
    device Key* keys_to [[buffer(8)]],
#if VALUES
    const device Value* values_from [[buffer(9)]],
    device Value* values_to [[buffer(10)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint board[BOARD];
    threadgroup atomic_uint offsets[RADIX];
    threadgroup uint sums[ROW_SUMS];
    // The number of the tile, from the first of the batch, and the tile's record in the table.
    threadgroup uint ticket;
    threadgroup uint4 row;
    threadgroup atomic_uint missing;

    const uint passes_end = slots_end(state, sort);
    if (slot.value >= passes_end) {
        return;
    }
    const Thread me = Thread{index, simdgroup, lane, KEYS};
    const Shared shared = Shared{board, offsets, sums, &missing};
    const uint digit_index = pass_digit(slot.value, state, sort);
    const Digit digit = digit_at(digit_index, sort);
    const bool is_odd = (slot.value & 1u) != 0u;
    device atomic_uint* batch_row = table + batch_at(batch.value, sort);
    const uint tiles_begin = load(batch_row);
    const uint tiles_end = load(batch_row + BATCH_WORDS);
#if LISTS
    const uint from_shift = 0u;
    const uint to_shift = 0u;
#else
    // The last pass writes its result to one buffer. In the other one, the first pass over a batch reads what the
    // partition has left; after that, the batch only needs room for itself, and takes it at the start of the buffer.
    // All keys that lay there have been read, and no result of another batch lies there.
    const bool ends_here = (passes_end - 1u - slot.value) % 2u == 0u;
    const uint batch_start = load(batch_row + 1u);
    const uint from_shift = ends_here && slot.value > 1u ? batch_start : 0u;
    const uint to_shift = ends_here ? 0u : batch_start;
#endif
    Chain chain;
    for (;;) {
        if (index == 0u) {
            const uint taken = atomic_fetch_add_explicit(batch_row + BATCH_TICKETS + slot.value, 1u, memory_order_relaxed);
            const device atomic_uint* found = table + tile_at(tiles_begin + taken, sort);
            ticket = taken;
            if (tiles_begin + taken < tiles_end) {
                row = uint4(load(found), load(found + 1u), load(found + 2u), load(found + 3u));
            }
            store_shared(&missing, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint tile = ticket;
        if (tiles_begin + tile >= tiles_end) {
            break;
        }
        const uint4 found = row;
        chain.first_tile = found.z - tiles_begin;
        const uint start = found.x - (tile - chain.first_tile) * TILE;
#if LISTS
        chain.last = sort.max - 1u - start;
#endif
        chain.keys_from = keys_from + ((is_odd ? 0u : sort.keys_home) + start - from_shift);
        chain.keys_to = keys_to + ((is_odd ? sort.keys_home : 0u) + start - to_shift);
#if VALUES
        chain.values_from = values_from + ((is_odd ? 0u : sort.values_home) + start - from_shift);
        chain.values_to = values_to + ((is_odd ? sort.values_home : 0u) + start - to_shift);
#endif
        const Tiles tiles = Tiles{status, status_next, table + smaller_at(found.w, digit_index), state + STATE_RECOUNTS};
        sweep(me, tile, found.y, digit, chain, tiles, shared, sort);
    }
}
