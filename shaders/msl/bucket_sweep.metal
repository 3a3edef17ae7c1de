// One pass over the buckets of a batch by one of the lower digits, each bucket by itself, in one read and one write of the keys.
//
// in       slot: which pass this is, 1 the first; batch; sort; state: the schedule; keys_from, values_from: a pass never writes them
// in, out  table: tiles and counts, and the tickets; status: all zero for the tiles of the batch before
// out      keys_to, values_to; status_next: all zero for these tiles, for the next pass
// launch   any number of groups: they take tiles until none of the batch is left; those of passes that are not scheduled leave at once
// does     Tiles are taken by ticket, so that the tiles before one's own have started, and swept: see the part of that name. A bucket is a
//          chain of its own. Tiles are counted from the first of the batch, so that all batches use the same status words.
// needs    simdgroups of 32 lanes; fewer than 2^30 keys

// A tile that was taken.
struct Ticket {
    // The tile, and the first of its bucket, counted from the first of the batch.
    uint tile;
    uint first_tile;
    // The first key of the tile, and its keys; none if there is no tile left.
    uint first;
    uint present;
    uint bucket;
};

inline Ticket take_ticket(uint slot, uint batch, device atomic_uint* table, constant Sort& sort) {
    device atomic_uint* row = table + batch_at(batch);
    const uint taken = atomic_fetch_add_explicit(row + BATCH_TICKETS + slot, 1u, memory_order_relaxed);
    const uint tiles_begin = load(row);
    if (taken >= load(row + BATCH_WORDS) - tiles_begin) {
        return Ticket{0u, 0u, 0u, 0u, 0u};
    }
    const device atomic_uint* found = table + tile_at(tiles_begin + taken, sort);
    return Ticket{taken, load(found + 2u) - tiles_begin, load(found), load(found + 1u), load(found + 3u)};
}

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
    threadgroup Ticket ticket;
    threadgroup atomic_uint missing;

    const uint sort_passes = passes(state);
    if (slot.value >= sort_passes) {
        return;
    }
    const Thread me = Thread{index, simdgroup, lane, KEYS};
    const Shared shared = Shared{board, offsets, sums, &missing};
    const uint digit_index = scheduled(slot.value - 1u, state);
    // The sort ends in one buffer. In the other, what is there after the partition is read once, and then a batch needs room for itself
    // alone: at the start, where no key is that has not been read, and no other batch's result.
    const bool is_odd = (slot.value & 1u) != 0u;
    const bool ends_here = (sort_passes - 1u - slot.value) % 2u == 0u;
    const uint batch_start = load(table + batch_at(batch.value) + 1u);
    const uint from_shift = ends_here && slot.value > 1u ? batch_start : 0u;
    const uint to_shift = ends_here ? 0u : batch_start;
    Chain chain;
    chain.digit = digit_at(digit_index, sort);
    for (;;) {
        if (index == 0u) {
            ticket = take_ticket(slot.value, batch.value, table, sort);
            store_shared(&missing, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const Ticket taken = ticket;
        if (taken.present == 0u) {
            break;
        }
        const uint start = taken.first - (taken.tile - taken.first_tile) * TILE;
        chain.first_tile = taken.first_tile;
        chain.keys_from = keys_from + ((is_odd ? 0u : sort.keys_home) + start - from_shift);
        chain.keys_to = keys_to + ((is_odd ? sort.keys_home : 0u) + start - to_shift);
#if VALUES
        chain.values_from = values_from + ((is_odd ? 0u : sort.values_home) + start - from_shift);
        chain.values_to = values_to + ((is_odd ? sort.values_home : 0u) + start - to_shift);
#endif
        const Tiles tiles =
            Tiles{status, status_next, table + smaller_at(taken.bucket, digit_index), state + STATE_RECOUNTS};
        sweep(me, taken.tile, taken.present, chain, tiles, shared, sort);
    }
}
