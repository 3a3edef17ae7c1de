// Turns the counts of each digit into the number of keys with a smaller one, and finds the digits in which keys differ.
//
// in       sort
// in, out  state: its histogram; VARIES gets a bit for each digit of which not all keys have the same value
// launch   one group for each digit

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;

@compute @workgroup_size(RADIX)
fn scan(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group_id: vec3<u32>) {
    let slot = STATE_HISTOGRAM + group_id.x * RADIX + thread;
    let found = atomicLoad(&state[slot]);
    atomicStore(&state[slot], sum_up(thread, found) - found);
    let keys = sums[RADIX - 1u];
    if (found > 0u && found < keys) {
        atomicOr(&state[STATE_VARIES], 1u << group_id.x);
    }
}
