// Writes each index of 32 bits as a number of 64 bits.
//
// in       count_low, count_middle, count_high, count: the number of indices, in the four parts that the kernel begin takes;
//          with SEGMENTED, the number of segments, each of which has sort.k indices; to_first: the first word of the
//          result; sort; indices
// out      wide_to: two words for each index: the index, and 0
// launch   any number of workgroups; each writes COPY_TILE words at a time until none is left

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> to_first: Number;
@group(0) @binding(4) var<uniform> sort: Sort;
@group(0) @binding(5) var<storage, read> count: array<u32>;
@group(0) @binding(6) var<storage, read> indices: array<u32>;
@group(0) @binding(7) var<storage, read_write> wide_to: array<u32>;

@compute @workgroup_size(GROUP)
fn widen_indices(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
#if SEGMENTED
    let words = 2u * called_count() * sort.k;
#else
    let words = 2u * called_count();
#endif
    let step = groups.x * groups.y * COPY_TILE;
    for (var first = (group_id.y * groups.x + group_id.x) * COPY_TILE; first < words; first += step) {
        let end = min(words, first + COPY_TILE);
        for (var start = first + thread; start < end; start += BATCH * GROUP) {
            // The thread reads BATCH words before it writes them: the reads do not wait for each other.
            var held: array<u32, BATCH>;
#repeat k BATCH
            held[k] = indices[min(start + k * GROUP, end - 1u) / 2u];
#end
#repeat k BATCH
            if (start + k * GROUP < end) {
                wide_to[to_first.value + start + k * GROUP] = select(0u, held[k], (start + k * GROUP) % 2u == 0u);
            }
#end
        }
    }
}
