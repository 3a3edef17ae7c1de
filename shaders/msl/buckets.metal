// Cuts the buckets of a partition into tiles, and collects neighboring buckets in batches, each of which the passes
// sort in turn.
//
// in       sort; state: the number of keys, the schedule, and the scanned histogram of the partition's digit
// out      the whole table (see parts/bucket_table.metal); its counts and tickets become 0
// launch   any number of threadgroups of RADIX threads, which share the table
// does     Returns if no pass follows the partition. Buckets of up to SMALL_BUCKET keys get no tiles: bucket_tile sorts
//          them. A bucket that starts at key `s` belongs to batch s / BATCH_KEYS. So there are at most keys / BATCH_KEYS
//          batches, rounded up, and some may be empty. A batch has more than BATCH_KEYS keys only if its last bucket
//          ends behind the batch's range.

// Returns the index of the first of `count` ascending numbers that is not below `bound`, or `count`.
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
    // Where each bucket starts, and the tiles before it. The last words are the ends of both.
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
    // bucket_tile has sorted the small buckets: they have no tiles.
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
    for (uint i = first; i < batch_at(0u, sort); i += threads) {
        table[i] = 0u;
    }
    for (uint i = first; i < tiles[RADIX]; i += threads) {
        // The last bucket whose tiles start at tile `i` or before. Buckets without tiles come before it.
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
        const uint at = batch_at(i, sort);
        table[at] = tiles[bucket];
        table[at + 1u] = starts[bucket];
        for (uint word = 2u; word < BATCH_WORDS; word++) {
            table[at + word] = 0u;
        }
    }
}
