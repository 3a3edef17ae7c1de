// For each tile and each value of the digit, `status` has the number of the tile's keys with that value. This kernel
// replaces the number by the position in the output of the first of these keys.
//
// in       slot: the number of the pass; state: the number of keys, the schedule and the scanned histogram
// in, out  status: for each of RADIX values of the digit a word for each tile
// launch   RADIX workgroups; workgroup `v` scans the words of value `v`. All return if the pass is not scheduled
// does     The second step of a pass: see upsweep.

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;

// The number of keys, the index of the digit, and 1 if there is anything to do.
var<workgroup> work: vec3<u32>;

@compute @workgroup_size(GROUP)
fn spine(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group_id: vec3<u32>) {
    if (thread == 0u) {
        work = pass_work(0u);
    }
    let todo = workgroupUniformLoad(&work);
    if (todo.z == 0u) {
        return;
    }
    let tiles = (todo.x + TILE - 1u) / TILE;
    let row = group_id.x * tiles;
    var start = atomicLoad(&state[STATE_HISTOGRAM + todo.y * RADIX + group_id.x]);
    for (var first = 0u; first < tiles; first += GROUP) {
        var found = 0u;
        if (first + thread < tiles) {
            found = status[row + first + thread];
        }
        let before = sum_up(thread, found) - found;
        if (first + thread < tiles) {
            status[row + first + thread] = start + before;
        }
        start += sums[GROUP - 1u];
        workgroupBarrier();
    }
}
