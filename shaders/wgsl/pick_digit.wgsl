// Finds one digit of the threshold, which is the last key to be selected.
//
// in       level: which digit, 0 the most significant; sort; state: the number of keys, and the counts of this digit
// in, out  state: the threshold, which of its bits are known, and how many keys that equal it are selected (see
//          parts/pick.wgsl)
// out      at level 0: picked_count: one word, the number of selected keys; indices_to: NOTHING from that number to
//          sort.k
// launch   one workgroup of RADIX threads

@group(0) @binding(0) var<uniform> level: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> indices_to: array<u32>;
@group(0) @binding(4) var<storage, read_write> picked_count: array<u32>;

// How many of the counted keys are to be selected; 0 if the threshold is settled.
var<workgroup> work: u32;

@compute @workgroup_size(GROUP)
fn pick_digit(@builtin(local_invocation_index) thread: u32) {
    let there = min(sort.k, atomicLoad(&state[STATE_COUNT]));
    if (thread == 0u) {
        work = there;
        if (level.value > 0u) {
            work = select(atomicLoad(&state[STATE_LEFT]), 0u, atomicLoad(&state[STATE_SETTLED]) != 0u);
        } else {
            picked_count[0] = there;
        }
    }
    if (level.value == 0u) {
        for (var i = there + thread; i < sort.k; i += GROUP) {
            indices_to[sort.values_home + i] = NOTHING;
        }
    }
    let wanted = workgroupUniformLoad(&work);
    if (wanted == 0u) {
        return;
    }
    if (sort.digit_count == 0u) {
        // All keys are equal: the first ones are selected.
        if (thread == 0u) {
            atomicStore(&state[STATE_LEFT], wanted);
        }
        return;
    }
    let d = sort.digit_count - 1u - level.value;
    let found = atomicLoad(&state[STATE_HISTOGRAM + d * RADIX + thread]);
    let end = sum_up(thread, found);
    if (end - found < wanted && wanted <= end) {
        let digit = digit_at(d);
        let left = wanted - (end - found);
        atomicStore(&state[STATE_LEFT], left);
        atomicStore(&state[STATE_SETTLED], u32(left == found));
        atomicOr(&state[STATE_BAR + digit.word], thread << digit.shift);
        atomicOr(&state[STATE_KNOWN + digit.word], digit.mask << digit.shift);
    }
}
