// Sorts the small buckets of the MSD hybrid by all digits below the one of the partition, with one read and one write of
// each key. One threadgroup sorts one bucket. The partition is pass 0; the passes after it sort the larger buckets.
//
// in       sort; state: the number of keys, the schedule, and the scanned histogram of the partition's digit; keys_scratch,
//          values_scratch: what the partition wrote
// out      keys_home, values_home: the sorted buckets, if the number of passes is even; the partition counts as a pass.
//          Else the sorted buckets replace those in keys_scratch, values_scratch
// launch   RADIX threadgroups. Threadgroup `b` sorts bucket `b`, and returns if this bucket has more than SMALL_BUCKET
//          keys, or if no pass follows the partition
// does     As in single_tile, each thread holds its share of the bucket's keys in registers, and the keys take their new
//          order digit by digit. Values move with their keys.
// needs    to run after the partition and before any later pass; simdgroups of 32 lanes

[[max_total_threads_per_threadgroup(GROUP)]] kernel void bucket_tile(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    device Key* keys_scratch [[buffer(2)]],
    device Key* keys_home [[buffer(3)]],
#if VALUES
    device Value* values_scratch [[buffer(4)]],
    device Value* values_home [[buffer(5)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint3 group_id [[threadgroup_position_in_grid]]) {
    threadgroup atomic_uint board[BOARD];
    threadgroup uint sums[ROW_SUMS];

    const uint bucket = group_id.x;
    const uint sort_passes = passes(state);
    if (sort_passes < 2u) {
        return;
    }
    const device atomic_uint* histogram = state + STATE_HISTOGRAM + top_scheduled(state) * RADIX;
    const uint first = load(histogram + bucket);
    const uint present = (bucket == RADIX - 1u ? load(state + STATE_COUNT) : load(histogram + bucket + 1u)) - first;
    if (present == 0u || present > SMALL_BUCKET) {
        return;
    }
    const Thread me = Thread{index, simdgroup, lane, (present + GROUP - 1u) / GROUP};
    Key keys[KEYS];
#if VALUES
    uint positions[KEYS];
    read_held(me, keys_scratch + first, present, positions, keys);
#else
    read_held(me, keys_scratch + first, present, keys);
#endif
    for (uint slot = 1u; slot < sort_passes; slot++) {
        const Digit digit = digit_at(scheduled(slot - 1u, state), sort);
#if VALUES
        sort_by_digit(me, keys, positions, present, digit, board, sums);
#else
        sort_by_digit(me, keys, present, digit, board, sums);
#endif
    }
    const bool ends_home = sort_passes % 2u == 0u;
    device Key* keys_to = (ends_home ? keys_home + sort.keys_home : keys_scratch) + first;
#if VALUES
    device Value* values_to = (ends_home ? values_home + sort.values_home : values_scratch) + first;
    write_held(me, keys, present, positions, values_scratch + first, values_to, keys_to);
#else
    write_held(me, keys, present, keys_to);
#endif
}
