// Writes the bounds of the segments to select from. A bound that is larger than the largest number of keys
// counts as this number, and an end that is smaller than its first key counts as the first key.
//
// in       count_low, count_middle, count_high, count: the number of segments, as for begin; begins_first, ends_first:
//          the first words of the segments' bounds; sort; state: the largest number of keys; begins, ends: for each
//          segment, its first key and the end of its keys
// out      bounds: for each segment, its first key and the end of its keys
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
