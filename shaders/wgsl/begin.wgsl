// Begins a sort: notes how many keys there are, and forgets the sort before.
//
// in       count_low, count_middle, count_high: the number of keys, or that it lies in `count`; sort
// out      state
// launch   one group
// needs    a number of keys of at most sort.max, if it was recorded

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
