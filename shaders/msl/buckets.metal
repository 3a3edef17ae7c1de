// Cuts the buckets of a partition into tiles, and puts buckets that start close together into one batch.
//
// in       sort; state: count, schedule, and the histogram of the digit that keys are partitioned by
// out      table: tiles and batches; tickets and counts zero
// launch   any number of groups of RADIX threads, which share out the table
// does     nothing if no passes follow the partition. Buckets of up to SMALL_BUCKET keys have no tiles. A bucket belongs to the batch of number
//          start / BATCH_KEYS: as none starts after the end of all keys, there are as many batches as that leaves, some of them empty. A batch
//          is no larger than BATCH_KEYS and its last bucket.

// The first of `count` rising numbers that is not below `bound`, or `count`.
inline uint first_from(const threadgroup uint* numbers, uint count, uint bound) {
    uint low = 0u;
    uint high = count;
    while (low < high) {
        const uint middle = (low + high) / 2u;
        if (numbers[middle] < bound) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void buckets(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    device uint* table [[buffer(2)]],
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    // Where each bucket starts, and the tiles before it; then the ends of both.
    threadgroup uint starts[RADIX + 1u];
    threadgroup uint tiles[RADIX + 1u];
    threadgroup uint sums[SIMDGROUPS];

    if (passes(state) < 2u) {
        return;
    }
    const device atomic_uint* histogram = state + STATE_HISTOGRAM + top_scheduled(state) * RADIX;
    const uint keys = load(state + STATE_COUNT);
    const uint start = load(histogram + index);
    const uint end = index == RADIX - 1u ? keys : load(histogram + index + 1u);
    // One group has sorted a small bucket: there are no tiles of it.
    const uint own = end - start <= SMALL_BUCKET ? 0u : (end - start + TILE - 1u) / TILE;
    const uint before = sums_before(simdgroup, lane, own, sums).x;
    starts[index] = start;
    tiles[index] = before;
    if (index == RADIX - 1u) {
        starts[RADIX] = keys;
        tiles[RADIX] = before + own;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint first = group_id.x * GROUP + index;
    const uint threads = groups.x * GROUP;
    for (uint i = first; i < batch_at(0u); i += threads) {
        table[i] = 0u;
    }
    for (uint i = first; i < tiles[RADIX]; i += threads) {
        // The last bucket whose tiles start there, or before: those without any come first.
        const uint bucket = first_from(tiles, RADIX + 1u, i + 1u) - 1u;
        const uint key = starts[bucket] + (i - tiles[bucket]) * TILE;
        const uint at = tile_at(i, sort);
        table[at] = key;
        table[at + 1u] = min(starts[bucket + 1u] - key, TILE);
        table[at + 2u] = tiles[bucket];
        table[at + 3u] = bucket;
    }
    for (uint i = first; i <= batches(sort); i += threads) {
        const uint bucket = first_from(starts, RADIX, i * BATCH_KEYS);
        const uint at = batch_at(i);
        table[at] = tiles[bucket];
        table[at + 1u] = starts[bucket];
        for (uint word = 2u; word < BATCH_WORDS; word++) {
            table[at + word] = 0u;
        }
    }
}
