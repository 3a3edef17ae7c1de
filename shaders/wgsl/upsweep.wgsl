// Counts the values of one digit in each tile, for a pass of the reduce-then-scan sort.
//
// in       slot: the number of the pass; sort; state: the number of keys and the schedule; keys_from
// out      status: word v * tiles + t counts the keys of tile `t` whose digit is `v`
// launch   at least one workgroup for each tile; those without a tile return, and all if the pass is not scheduled
// does     The first of the three steps of a pass: upsweep, spine, downsweep. In none of them does a workgroup wait for
//          another (Merrill and Grimshaw, "High Performance and Scalable Radix Sorting", 2011).

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> status: array<u32>;
@group(0) @binding(4) var<storage, read> keys_from: array<Key>;

var<workgroup> counts: array<atomic<u32>, RADIX>;
// The number of keys, the index of the digit, and 1 if there is anything to do.
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
