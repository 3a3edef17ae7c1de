// Cuts the long segments into tiles. Each long segment is a bucket of the table, and all are in one batch.
//
// in       sort; state: the number of long segments, and the number of all their tiles; lists: the first key and the
//          number of keys of each, and its first tile
// out      table: the batch, and a record for each tile (see parts/bucket_table.metal); its counts and tickets become 0
// launch   any number of threadgroups, which share the segments
// does     If segments overlap, which they must not, their tiles may not fit the table. Then the batch gets no tiles,
//          and the long segments stay unsorted.

// Returns how many tiles the table holds.
inline uint most_tiles(constant Sort& sort) {
    return (sort.max + TILE - 1u) / TILE + max(capacity(LONG_CLASS, sort), 1u) - 1u;
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void long_segments(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint* lists [[buffer(2)]],
    device uint* table [[buffer(3)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const uint all_tiles = load(state + STATE_TILES);
    const bool is_counted =
        load(state + STATE_OVERFLOWS) == 0u && load(state + STATE_LISTED + LONG_CLASS) <= capacity(LONG_CLASS, sort);
    const bool fit = is_counted && all_tiles <= most_tiles(sort);
    if (group_id.x == 0u && index < 2u * BATCH_WORDS) {
        // The second record is that of no batch. Its first tile is the end of the batch's tiles.
        table[batch_at(0u, sort) + index] = fit && index == BATCH_WORDS ? all_tiles : 0u;
    }
    if (!fit) {
        return;
    }
    const uint list = list_at(LONG_CLASS, sort);
    const uint there = listed(LONG_CLASS, state, sort);
    for (uint segment = group_id.x; segment < there; segment += groups.x) {
        const uint begin = lists[list + 2u * segment];
        const uint keys = lists[list + 2u * segment + 1u];
        const uint first_tile = lists[first_tile_at(segment, sort)];
        for (uint i = index; i < KEY_DIGITS * RADIX; i += GROUP) {
            table[smaller_at(segment, 0u) + i] = 0u;
        }
        for (uint t = index; t * TILE < keys; t += GROUP) {
            const uint at = tile_at(first_tile + t, sort);
            table[at] = begin + t * TILE;
            table[at + 1u] = min(keys - t * TILE, TILE);
            table[at + 2u] = first_tile;
            table[at + 3u] = segment;
        }
    }
}
