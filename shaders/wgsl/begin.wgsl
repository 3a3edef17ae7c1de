// Starts a sort: stores the number of keys in `state`, and clears the rest of it.
//
// in       count_low, count_middle, count_high: the number of keys as three digits of eleven bits. If the highest is
//          COUNT_ON_DEVICE, the number is count[sort.count_index], but at most sort.max; count; sort
// out      state: STATE_WORDS words; word STATE_COUNT is the number of keys, all others are 0
// launch   one workgroup
// needs    at most sort.max keys, if the number comes as digits

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> sort: Sort;
@group(0) @binding(4) var<storage, read> count: array<u32>;
@group(0) @binding(5) var<storage, read_write> state: array<u32>;

@compute @workgroup_size(GROUP)
fn begin(@builtin(local_invocation_index) thread: u32) {
    for (var i = thread; i < STATE_WORDS; i += GROUP) {
        var word = 0u;
        if (i == STATE_COUNT) {
            word = called_count();
        }
        state[i] = word;
    }
}
