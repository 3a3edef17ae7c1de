// Starts a search for runs of equal keys: stores the number of keys in `state`, and clears the status words.
//
// in       count_low, count_middle, count_high, count: the number of keys, as for begin; offsets_first, count_first: the
//          indices of the first words to write in offsets and in run_count; sort
// out      state: word STATE_COUNT is the number of keys, all others before the histogram are 0; status: the words of
//          all tiles are 0. Without keys: run_count is 0, and so is the only offset (with OFFSETS)
// launch   any number of workgroups, which share the status words
// needs    at most sort.max keys, if the number comes as digits

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> offsets_first: Number;
@group(0) @binding(4) var<uniform> count_first: Number;
@group(0) @binding(5) var<uniform> sort: Sort;
@group(0) @binding(6) var<storage, read> count: array<u32>;
@group(0) @binding(7) var<storage, read_write> state: array<u32>;
@group(0) @binding(8) var<storage, read_write> status: array<u32>;
@group(0) @binding(9) var<storage, read_write> offsets: array<u32>;
@group(0) @binding(10) var<storage, read_write> run_count: array<u32>;

@compute @workgroup_size(GROUP)
fn begin_runs(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let keys = called_count();
    let words = (keys + TILE - 1u) / TILE * STATUS_WORDS;
    for (var i = group_id.x * GROUP + thread; i < words; i += groups.x * GROUP) {
        status[i] = 0u;
    }
    if (group_id.x > 0u) {
        return;
    }
    for (var i = thread; i < STATE_HISTOGRAM; i += GROUP) {
        state[i] = select(0u, keys, i == STATE_COUNT);
    }
    if (keys == 0u && thread == 0u) {
        run_count[count_first.value] = 0u;
#if OFFSETS
        offsets[offsets_first.value] = 0u;
#endif
    }
}
