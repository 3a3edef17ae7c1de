// Turns each tile's count of a digit into the place of its first key of that digit in the output.
//
// in       slot: which pass this is; state: the schedule, and where each digit starts
// in, out  status: for each digit, the counts of all tiles
// launch   one group for each of the RADIX values of a digit
// does     The second step of a pass: see upsweep.

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;

// Keys, digit, whether there is anything to do.
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
