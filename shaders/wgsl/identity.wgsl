// Writes the permutation 0, 1, 2, … if the sort needs no pass.
//
// in       sort; state: the number of keys and the schedule
// out      indices_to: a word for each key, from sort.values_home on
// launch   at least keys / COPY_TILE workgroups, rounded up; each writes COPY_TILE indices

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> indices_to: array<u32>;

@compute @workgroup_size(GROUP)
fn identity(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (passes() > 0u) {
        return;
    }
    let keys = atomicLoad(&state[STATE_COUNT]);
    let first = (group_id.y * groups.x + group_id.x) * COPY_TILE;
    for (var i = first + thread; i < min(keys, first + COPY_TILE); i += GROUP) {
        indices_to[sort.values_home + i] = i;
    }
}
