// Sorts segments of medium length, with one read and one write of each key. One threadgroup sorts one segment at a time.
// Such a segment has more than NETWORK keys, and at most as many as one threadgroup sorts: see segments.
//
// in       sort; state: the number of such segments; lists: the first key and the number of keys of each
// in, out  keys_home, values_home: the segments, sorted in place
// launch   any number of threadgroups, which share the segments
// does     As in single_tile, each thread holds its share of the segment's keys in registers, and the keys take their
//          new order digit by digit.
// needs    simdgroups of 32 lanes

[[max_total_threads_per_threadgroup(GROUP)]] kernel void segment_tile(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint* lists [[buffer(2)]],
    device Key* keys_home [[buffer(3)]],
#if VALUES
    device Value* values_home [[buffer(4)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup atomic_uint board[BOARD];
    threadgroup uint sums[ROW_SUMS];

    const uint there = listed(SMALL_CLASS, state, sort);
    const uint list = list_at(SMALL_CLASS, sort);
    for (uint segment = group_id.x; segment < there; segment += groups.x) {
        const uint first = lists[list + 2u * segment];
        const uint present = lists[list + 2u * segment + 1u];
        const Thread me = Thread{index, simdgroup, lane, (present + GROUP - 1u) / GROUP};
        device Key* home = keys_home + (sort.keys_home + first);
        Key keys[KEYS];
#if VALUES
        device Value* value_home = values_home + (sort.values_home + first);
        uint positions[KEYS];
        read_held(me, home, present, positions, keys);
#else
        read_held(me, home, present, keys);
#endif
        for (uint d = 0u; d < sort.digit_count; d++) {
            const Digit digit = digit_at(d, sort);
#if VALUES
            sort_by_digit(me, keys, positions, present, digit, board, sums);
#else
            sort_by_digit(me, keys, present, digit, board, sums);
#endif
        }
#if VALUES
        write_held(me, keys, present, positions, value_home, value_home, home);
#else
        write_held(me, keys, present, home);
#endif
    }
}
