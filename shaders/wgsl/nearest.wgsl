// Writes the distances and slots of the selected candidates.
//
// in       search; positions: search.selected entries, each the position of a candidate or NOTHING; distances, slots: of each
//          candidate, by its position, the distance and the slot, which is the number of its vector in the store
// out      near_distances, near_slots: for each entry of positions the distance and the slot of its candidate; infinity and
//          NOTHING where the entry is NOTHING
// launch   at least search.selected / GROUP workgroups, rounded up; each thread writes at most one result

@group(0) @binding(0) var<uniform> search: Search;
@group(0) @binding(1) var<storage, read> positions: array<u32>;
@group(0) @binding(2) var<storage, read> distances: array<u32>;
@group(0) @binding(3) var<storage, read> slots: array<u32>;
@group(0) @binding(4) var<storage, read_write> near_distances: array<u32>;
@group(0) @binding(5) var<storage, read_write> near_slots: array<u32>;

@compute @workgroup_size(GROUP)
fn nearest(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let index = (group_id.y * groups.x + group_id.x) * GROUP + thread;
    if (index >= search.selected) {
        return;
    }
    let position = positions[index];
    if (position == NOTHING) {
        near_distances[index] = INFINITY_BITS;
        near_slots[index] = NOTHING;
    } else {
        near_distances[index] = distances[position];
        near_slots[index] = slots[position];
    }
}
