// Counts the digits of each bucket of a batch, with one read of the keys.
//
// The buckets are those of a partition, and the kernel counts the digits below the most significant one. With LISTS,
// the buckets are the long segments, and the kernel counts all digits.
//
// in       batch: the index of the batch; sort; state: the schedule; keys_from: the output of the partition, or with
//          LISTS all keys; values_from: all values (with COPIES)
// in, out  table: the batch and its tiles; word smaller_at(bucket, d) + v is 0 before. It becomes the number of the
//          bucket's keys whose digit `d` is below `v`
// out      status: RADIX words for each tile of the batch, all 0; keys_to, values_to: copies of the keys and values of
//          the tiles, which the first pass then reads (with COPIES)
// launch   any number of threadgroups of RADIX threads, which share the tiles
// does     Without LISTS, it returns if no pass follows the partition. For each digit, each tile adds its prefix sums to
//          those of its bucket.

[[max_total_threads_per_threadgroup(GROUP)]] kernel void bucket_histogram(
    constant Number& batch [[buffer(0)]],
    constant Sort& sort [[buffer(1)]],
    device atomic_uint* state [[buffer(2)]],
    device atomic_uint* table [[buffer(3)]],
    device uint* status [[buffer(4)]],
    const device Key* keys_from [[buffer(5)]],
#if COPIES
    device Key* keys_to [[buffer(6)]],
#if VALUES
    const device Value* values_from [[buffer(7)]],
    device Value* values_to [[buffer(8)]],
#endif
#endif
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup atomic_uint counts[SLOTS];
    threadgroup uint sums[SIMDGROUPS];

#if LISTS
    const device Key* source = keys_from + sort.keys_home;
#else
    if (passes(state) < 2u) {
        return;
    }
    const device Key* source = keys_from;
#endif
    const uint tiles_begin = load(table + batch_at(batch.value, sort));
    const uint tiles_end = load(table + batch_at(batch.value + 1u, sort));
    const uint digits = counted_digits(sort);
    for (uint tile = tiles_begin + group_index(group_id, groups); tile < tiles_end; tile += groups.x * groups.y) {
        for (uint i = index; i < SLOTS; i += GROUP) {
            store_shared(counts + i, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const device atomic_uint* found = table + tile_at(tile, sort);
        const uint first = load(found);
        const uint present = load(found + 1u);
        for (uint start = 0u; start < present; start += GROUP * BATCH) {
            Key keys[BATCH];
            // The thread loads all keys before it counts them: the loads do not wait for each other.
#pragma unroll
            for (uint k = 0u; k < BATCH; k++) {
                keys[k] = source[first + min(start + k * GROUP + index, present - 1u)];
            }
#pragma unroll
            for (uint k = 0u; k < BATCH; k++) {
                if (start + k * GROUP + index < present) {
                    count_digits(keys[k], digits, counts, sort);
                }
            }
#if COPIES
#pragma unroll
            for (uint k = 0u; k < BATCH; k++) {
                const uint i = start + k * GROUP + index;
                if (i < present) {
                    keys_to[first + i] = keys[k];
#if VALUES
                    values_to[first + i] = values_from[sort.values_home + first + i];
#endif
                }
            }
#endif
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint bucket = load(found + 3u);
        for (uint d = 0u; d < digits; d++) {
            const uint smaller = sums_before(simdgroup, lane, found_at(counts, d * RADIX + index), sums).x;
            if (smaller > 0u) {
                atomic_fetch_add_explicit(table + smaller_at(bucket, d) + index, smaller, memory_order_relaxed);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        status[(tile - tiles_begin) * RADIX + index] = 0u;
    }
}
