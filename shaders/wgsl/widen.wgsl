// Unpacks keys of 8 or 16 bits: each becomes the top bits of a word, with zeros below.
//
// in       sort; state: the number of keys; keys_from: packed keys, from key sort.packed_first on
// out      keys_to: a word for each key
// launch   at least keys / COPY_TILE workgroups, rounded up; each unpacks COPY_TILE keys

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> keys_from: array<u32>;
@group(0) @binding(3) var<storage, read_write> keys_to: array<u32>;

@compute @workgroup_size(GROUP)
fn widen(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let keys = atomicLoad(&state[STATE_COUNT]);
    let first = (group_id.y * groups.x + group_id.x) * COPY_TILE;
    for (var i = first + thread; i < min(keys, first + COPY_TILE); i += GROUP) {
        keys_to[i] = source_key(i);
    }
}
