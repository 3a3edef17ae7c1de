// Sorts all keys by one digit, stably: one pass of a least-significant-digit radix sort, or, with PARTITIONS, the first
// pass of an MSD hybrid. It writes each key once, and reads it once; twice if a threadgroup that waits for the counts
// of a tile counts this tile itself.
//
// in       slot: the number of the pass, from 0 on; sort; state: the number of keys, the schedule and the scanned
//          histogram; keys_from, values_from: the keys and values; nothing may write them during the pass
// in, out  state: STATE_TICKETS + slot, 0 before the launch, counts the tiles that are taken; STATE_RECOUNTS grows by the
//          number of tiles that a waiting threadgroup counted itself; status: RADIX words for each tile, all 0 before the
//          launch
// out      keys_to, values_to: the keys and values in the order of the digit; status_next: RADIX words for each tile,
//          all 0, for the next pass
// launch   any number of threadgroups; they take tiles until none is left. If the schedule has no pass `slot`, they return
//          at once
// does     A threadgroup takes the next tile by a ticket, and moves it (see parts/sweep.metal). Tickets ascend, so each
//          earlier tile is finished, or a threadgroup that has started works on it. The digit is that of the schedule;
//          with PARTITIONS, it is the most significant one that differs between keys.
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
    // The offsets lie in `board`, behind the slice.
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
    // All tiles are one chain. Pass 0 reads the source and writes the scratch. Odd passes read the scratch and write
    // home, even ones read home and write the scratch.
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
