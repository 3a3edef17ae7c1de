// Replaces each value's count by the number of keys with smaller values of the same block.
//
// in       sort
// in, out  state: the RADIX words from STATE_VALUES on
// out      state: word STATE_BLOCKS + b is the number of keys of block `b`
// launch   one workgroup of VALUE_BLOCK threads for each block of VALUE_BLOCK values

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;

@compute @workgroup_size(GROUP)
fn scan_values(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group_id: vec3<u32>) {
    let at = STATE_VALUES + group_id.x * VALUE_BLOCK + thread;
    let found = state[at];
    let with_smaller = sum_up(thread, found);
    state[at] = with_smaller - found;
    if (thread == GROUP - 1u) {
        state[STATE_BLOCKS + group_id.x] = with_smaller;
    }
}
