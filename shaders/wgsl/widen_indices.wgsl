// Writes each index of 32 bits as a number of 64 bits.
//
// in       count_low, count_middle, count_high, count: the number of indices, in the four parts that the kernel begin takes;
//          with SEGMENTED, the number of segments, each of which has sort.k indices; to_first: the first word of the
//          result; sort; indices
// out      words_to: two words for each index: the index, and 0
// launch   any number of workgroups; each writes COPY_TILE words at a time until none is left

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> to_first: Number;
@group(0) @binding(4) var<uniform> sort: Sort;
@group(0) @binding(5) var<storage, read> count: array<u32>;
@group(0) @binding(6) var<storage, read> indices: array<u32>;
@group(0) @binding(7) var<storage, read_write> words_to: array<u32>;

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
    write_words(words, thread, group_id, groups);
}

// Returns a word of the result: an index, or its upper word.
fn word_at(at: u32) -> u32 {
    return select(0u, indices[at / 2u], at % 2u == 0u);
}
