// One pass of a least-significant-digit radix sort, in one read and one write of the keys.
//
// in       slot: which pass this is; sort; keys_from, values_from: a pass never writes them
// in, out  state: the schedule, and the tickets; status: all zero before
// out      keys_to, values_to; status_next: all zero, for the next pass
// launch   any groups; those of passes that are not scheduled leave at once
// does     Tiles are taken by ticket until there are none left, so that whoever has the tiles before one's own is at work on them, and swept: see
//          the part of that name.
// needs    simdgroups of 32 lanes; fewer than 2^30 keys

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
    threadgroup atomic_uint board[BOARD];
#if WIDE
    // Behind the slice on the board.
    threadgroup atomic_uint* offsets = board + (BOARD - RADIX);
#else
    threadgroup atomic_uint offsets[RADIX];
#endif
    threadgroup uint sums[ROW_SUMS];
    threadgroup uint ticket;
    threadgroup atomic_uint missing;

    const Thread me = Thread{index, simdgroup, lane, KEYS};
    if (slot.value >= passes(state)) {
        return;
    }
    const uint keys = load(state + STATE_COUNT);
#if PARTITIONS
    const uint digit_index = top_scheduled(state);
#else
    const uint digit_index = scheduled(slot.value, state);
#endif
    const Digit digit = digit_at(digit_index, sort);
    const bool is_odd = (slot.value & 1u) != 0u;
    // All tiles are one chain. The first pass reads the source and writes the scratch, the others go to and fro between scratch and home.
    Chain chain;
    chain.first_tile = 0u;
    chain.keys_from = keys_from + (slot.value == 0u ? sort.keys_source : is_odd ? 0u : sort.keys_home);
    chain.keys_to = keys_to + (is_odd ? sort.keys_home : 0u);
#if VALUES
    chain.values_from = values_from + (is_odd ? 0u : sort.values_home);
    chain.values_to = values_to + (is_odd ? sort.values_home : 0u);
#if INDEXED
    chain.is_first = slot.value == 0u;
#endif
#endif
    const Tiles tiles = Tiles{status, status_next, state + STATE_HISTOGRAM + digit_index * RADIX, state + STATE_RECOUNTS};
    const Shared shared = Shared{board, offsets, sums, &missing};
    while (true) {
        if (index == 0u) {
            ticket = atomic_fetch_add_explicit(state + STATE_TICKETS + slot.value, 1u, memory_order_relaxed);
            store_shared(&missing, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint tile = ticket;
        if (tile >= (keys + TILE - 1u) / TILE) {
            return;
        }
        sweep(me, tile, min(keys - tile * TILE, TILE), digit, chain, tiles, shared, sort);
    }
}
