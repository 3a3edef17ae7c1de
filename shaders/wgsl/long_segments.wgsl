// Cuts long segments into tiles: makes the table of buckets of them, in one batch.
//
// in       sort; state: how many long segments there are, and their tiles; lists
// out      table: tiles and the batch; counts and tickets zero
// launch   any number of groups, which share the segments out
// does     nothing for segments that overlap so much that their tiles do not fit the table.

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
        // The end of the tiles is the start of those of the batch that there is not.
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

// As many as the table holds.
fn most_tiles() -> u32 {
    return (sort.max + TILE - 1u) / TILE + max(capacity(LONG_CLASS), 1u) - 1u;
}
