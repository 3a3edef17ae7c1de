// Counts the values of one digit in the keys that equal the threshold in all digits above it.
//
// in       level: the number of the digit, where 0 is the most significant; sort; state: the number of keys and the
//          threshold; keys_from: the source
// in, out  state: the counts of this digit, words STATE_HISTOGRAM + d * RADIX + v with d = sort.digit_count - 1 - level.
//          They must be 0; each becomes the number of such keys whose digit is `v`
// launch   at least keys / HISTOGRAM_TILE workgroups, rounded up; each counts HISTOGRAM_TILE keys. All return if the
//          threshold is settled, which means: all keys that equal it in the digits found so far belong to the selection
// does     Radix select (Alabi et al., "Fast k-selection algorithms for graphics processing units", 2012), by all
//          workgroups together.

@group(0) @binding(0) var<uniform> level: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
#if PACKED
@group(0) @binding(3) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(3) var<storage, read> keys_from: array<Key>;
#endif

var<workgroup> counts: array<atomic<u32>, RADIX>;
// The number of keys; 0 if the threshold is settled.
var<workgroup> work: u32;

@compute @workgroup_size(GROUP)
fn pick_count(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (thread == 0u) {
        work = select(atomicLoad(&state[STATE_COUNT]), 0u, atomicLoad(&state[STATE_SETTLED]) != 0u);
    }
    for (var i = thread; i < RADIX; i += GROUP) {
        atomicStore(&counts[i], 0u);
    }
    let keys = workgroupUniformLoad(&work);
    let first = (group_id.y * groups.x + group_id.x) * HISTOGRAM_TILE;
    if (first >= keys) {
        return;
    }
    let present = min(keys - first, HISTOGRAM_TILE);
    let bar = four_words(STATE_BAR);
    let known = four_words(STATE_KNOWN);
    let d = sort.digit_count - 1u - level.value;
    let digit = digit_at(d);
    for (var start = 0u; start < present; start += GROUP * BATCH) {
        var batch: array<Key, BATCH>;
#repeat k BATCH
        batch[k] = source_key(first + min(start + k * GROUP + thread, present - 1u));
#end
#repeat k BATCH
        if (start + k * GROUP + thread < present && compared(batch[k], bar, known) == SAME) {
            atomicAdd(&counts[digit_of(batch[k], digit)], 1u);
        }
#end
    }
    workgroupBarrier();
    for (var i = thread; i < RADIX; i += GROUP) {
        let found = atomicLoad(&counts[i]);
        if (found > 0u) {
            atomicAdd(&state[STATE_HISTOGRAM + d * RADIX + i], found);
        }
    }
}
