// Cuts the long segments into tiles. Each long segment is a bucket of the table, and all are in one batch.
//
// in       sort; state: the number of long segments, and the number of all their tiles; lists: the first key and the
//          number of keys of each, and its first tile
// out      table: the batch, and a record for each tile (see parts/bucket_table.wgsl); its counts and tickets become 0
// launch   any number of workgroups, which share the segments
// does     If segments overlap, which they must not, their tiles may not fit the table. Then the batch gets no tiles,
//          and the long segments stay unsorted.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read_write> table: array<u32>;

@compute @workgroup_size(GROUP)
fn long_segments(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let all_tiles = atomicLoad(&state[STATE_TILES]);
    let is_counted = atomicLoad(&state[STATE_OVERFLOWS]) == 0u && atomicLoad(&state[STATE_LISTED + LONG_CLASS]) <= capacity(LONG_CLASS);
    let fit = is_counted && all_tiles <= most_tiles();
    if (group_id.x == 0u && thread < 2u * BATCH_WORDS) {
        // The second record is that of no batch. Its first tile is the end of the batch's tiles.
        table[batch_at(0u) + thread] = select(0u, all_tiles, fit && thread == BATCH_WORDS);
    }
    if (!fit) {
        return;
    }
    let list = list_at(LONG_CLASS);
    let there = listed(LONG_CLASS);
    for (var segment = group_id.x; segment < there; segment += groups.x) {
        let begin = lists[list + 2u * segment];
        let keys = lists[list + 2u * segment + 1u];
        let first_tile = lists[first_tile_at(segment)];
        for (var i = thread; i < KEY_DIGITS * RADIX; i += GROUP) {
            table[smaller_at(segment, 0u) + i] = 0u;
        }
        for (var t = thread; t * TILE < keys; t += GROUP) {
            let at = tile_at(first_tile + t);
            table[at] = begin + t * TILE;
            table[at + 1u] = min(keys - t * TILE, TILE);
            table[at + 2u] = first_tile;
            table[at + 3u] = segment;
        }
    }
}

// Returns how many tiles the table holds.
fn most_tiles() -> u32 {
    return (sort.max + TILE - 1u) / TILE + max(capacity(LONG_CLASS), 1u) - 1u;
}
