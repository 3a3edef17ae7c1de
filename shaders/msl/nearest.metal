// Writes the distances and slots of the selected candidates.
//
// in       search; positions: search.selected entries, each the position of a candidate or NOTHING; distances, slots: of each
//          candidate, by its position, the distance and the slot, which is the number of its vector in the store
// out      near_distances, near_slots: for each entry of positions the distance and the slot of its candidate; infinity and
//          NOTHING where the entry is NOTHING
// launch   at least search.selected / GROUP threadgroups, rounded up; each thread writes at most one result

[[max_total_threads_per_threadgroup(GROUP)]] kernel void nearest(
    constant Search& search [[buffer(0)]],
    const device uint* positions [[buffer(1)]],
    const device uint* distances [[buffer(2)]],
    const device uint* slots [[buffer(3)]],
    device uint* near_distances [[buffer(4)]],
    device uint* near_slots [[buffer(5)]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]]) {
    const uint at = group_index(group_id, groups) * GROUP + index;
    if (at >= search.selected) {
        return;
    }
    const uint position = positions[at];
    if (position == NOTHING) {
        near_distances[at] = INFINITY_BITS;
        near_slots[at] = NOTHING;
    } else {
        near_distances[at] = distances[position];
        near_slots[at] = slots[position];
    }
}
