// Writes the bounds of the segments in which a selection selects. A bound above the maximum number of keys counts as this
// number, and an end before the begin of its segment counts as this begin.
//
// in       count_low, count_middle, count_high, count: the number of segments, in the four parts that the kernel begin
//          takes; begins_first, ends_first: the index in `begins`, and in `ends`, of the word of the first segment; sort;
//          state: the maximum number of keys; begins, ends: as the caller wrote them, for each segment the index of its
//          first key, and the index after its last key
// out      bounds: for each segment these two indices
// launch   any number of threadgroups, which share the segments

[[max_total_threads_per_threadgroup(GROUP)]] kernel void segment_bounds(
    constant Number& count_low [[buffer(0)]],
    constant Number& count_middle [[buffer(1)]],
    constant Number& count_high [[buffer(2)]],
    constant Number& begins_first [[buffer(3)]],
    constant Number& ends_first [[buffer(4)]],
    constant Sort& sort [[buffer(5)]],
    const device uint* count [[buffer(6)]],
    const device uint* state [[buffer(7)]],
    const device uint* begins [[buffer(8)]],
    const device uint* ends [[buffer(9)]],
    device uint2* bounds [[buffer(10)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const uint there = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
    const uint keys = state[STATE_COUNT];
    for (uint i = group_id.x * GROUP + index; i < there; i += groups.x * GROUP) {
        const uint begin = min(begins[begins_first.value + i], keys);
        bounds[i] = uint2(begin, max(begin, min(ends[ends_first.value + i], keys)));
    }
}
