// Writes the bounds of the segments in which a selection selects. A bound above the maximum number of keys counts as this
// number, and an end before the begin of its segment counts as this begin.
//
// in       count_low, count_middle, count_high, count: the number of segments, in the four parts that the kernel begin
//          takes; begins_first, ends_first: the index in `begins`, and in `ends`, of the word of the first segment; sort;
//          state: the maximum number of keys; begins, ends: as the caller wrote them, for each segment the index of its
//          first key, and the index after its last key
// out      bounds: for each segment these two indices
// launch   any number of workgroups, which share the segments

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> begins_first: Number;
@group(0) @binding(4) var<uniform> ends_first: Number;
@group(0) @binding(5) var<uniform> sort: Sort;
@group(0) @binding(6) var<storage, read> count: array<u32>;
@group(0) @binding(7) var<storage, read> state: array<u32>;
@group(0) @binding(8) var<storage, read> begins: array<u32>;
@group(0) @binding(9) var<storage, read> ends: array<u32>;
@group(0) @binding(10) var<storage, read_write> bounds: array<vec2<u32>>;

@compute @workgroup_size(GROUP)
fn segment_bounds(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let there = called_count();
    let keys = state[STATE_COUNT];
    for (var i = group_id.x * GROUP + thread; i < there; i += groups.x * GROUP) {
        let begin = min(begins[begins_first.value + i], keys);
        bounds[i] = vec2(begin, max(begin, min(ends[ends_first.value + i], keys)));
    }
}
