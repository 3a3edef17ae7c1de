// Turns the numbers of keys of each value into those of smaller values of the same block.
//
// in       sort
// in, out  state: the numbers of keys of each value
// out      state: those of blocks
// launch   one group for each block, of a thread for each value

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
