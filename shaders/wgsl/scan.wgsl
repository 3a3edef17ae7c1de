// Replaces each count of the histogram by the number of keys with a smaller digit. Finds the digits in which keys
// differ.
//
// in       sort
// in, out  state: the RADIX words of each digit of the histogram; STATE_VARIES gets bit `d` if not all keys have the
//          same digit `d`
// launch   one workgroup for each digit of the sort
// does     Each thread sums up the counts of DIGITS neighboring values. The workgroup then sums up these sums.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;

@compute @workgroup_size(GROUP)
fn scan(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group_id: vec3<u32>) {
    let first = STATE_HISTOGRAM + group_id.x * RADIX + thread * DIGITS;
    var found: array<u32, DIGITS>;
    var sum = 0u;
    for (var i = 0u; i < DIGITS; i++) {
        found[i] = atomicLoad(&state[first + i]);
        sum += found[i];
    }
    var before = sum_up(thread, sum) - sum;
    let keys = sums[GROUP - 1u];
    for (var i = 0u; i < DIGITS; i++) {
        atomicStore(&state[first + i], before);
        before += found[i];
        if (found[i] > 0u && found[i] < keys) {
            atomicOr(&state[STATE_VARIES], 1u << group_id.x);
        }
    }
}
