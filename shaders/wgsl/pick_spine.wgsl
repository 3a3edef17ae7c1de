// Replaces the two counts of each tile by their sums over all tiles before it.
//
// in       state: the number of keys
// in, out  status: two words for each tile
// launch   one workgroup; each thread owns a run of neighboring tiles

@group(0) @binding(0) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read_write> status: array<u32>;

@compute @workgroup_size(GROUP)
fn pick_spine(@builtin(local_invocation_index) thread: u32) {
    let tiles = (atomicLoad(&state[STATE_COUNT]) + PICK_TILE - 1u) / PICK_TILE;
    let run = (tiles + GROUP - 1u) / GROUP;
    let first = min(thread * run, tiles);
    let end = min(first + run, tiles);
    var below = 0u;
    var same = 0u;
    for (var tile = first; tile < end; tile++) {
        below += status[2u * tile];
        same += status[2u * tile + 1u];
    }
    below = sum_up(thread, below) - below;
    workgroupBarrier();
    same = sum_up(thread, same) - same;
    for (var tile = first; tile < end; tile++) {
        let tile_below = status[2u * tile];
        let tile_same = status[2u * tile + 1u];
        status[2u * tile] = below;
        status[2u * tile + 1u] = same;
        below += tile_below;
        same += tile_same;
    }
}
