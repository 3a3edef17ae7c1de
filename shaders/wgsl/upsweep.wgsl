// Counts the digits of each tile, for a pass of the reduce-then-scan sort.
//
// in       slot: which pass this is; sort; state: the schedule; keys_from
// out      status: the counts, for each digit those of all tiles
// launch   at least as many groups as tiles; groups of passes that are not scheduled, and of tiles beyond the last, leave at once
// does     The first of the three steps of a pass that waits for no other group: upsweep, spine, downsweep (Merrill and Grimshaw, "High
//          Performance and Scalable Radix Sorting", 2011).

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> status: array<u32>;
@group(0) @binding(4) var<storage, read> keys_from: array<Key>;

var<workgroup> counts: array<atomic<u32>, RADIX>;
// Keys, digit, whether there is anything to do.
var<workgroup> work: vec3<u32>;

@compute @workgroup_size(GROUP)
fn upsweep(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let tile = group_id.y * groups.x + group_id.x;
    if (thread == 0u) {
        work = pass_work(tile);
    }
    for (var i = thread; i < RADIX; i += GROUP) {
        atomicStore(&counts[i], 0u);
    }
    let todo = workgroupUniformLoad(&work);
    if (todo.z == 0u) {
        return;
    }
    let digit = digit_at(todo.y);
    let first = tile * TILE;
    let present = min(todo.x - first, TILE);
    let source = keys_from_first() + first;
    for (var i = thread; i < present; i += GROUP) {
        atomicAdd(&counts[digit_of(keys_from[source + i], digit)], 1u);
    }
    workgroupBarrier();
    let tiles = (todo.x + TILE - 1u) / TILE;
    for (var i = thread; i < RADIX; i += GROUP) {
        status[i * tiles + tile] = atomicLoad(&counts[i]);
    }
}
