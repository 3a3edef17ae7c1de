// Counts, for each tile, the keys below the threshold, and the keys that equal it.
//
// in       sort; state: the number of keys and the threshold; keys_from: the source
// out      status: two words for each tile: its keys below the threshold, and those that equal it
// launch   at least keys / PICK_TILE workgroups, rounded up; each counts PICK_TILE keys

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
#if PACKED
@group(0) @binding(3) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(3) var<storage, read> keys_from: array<Key>;
#endif

var<workgroup> below: atomic<u32>;
var<workgroup> same: atomic<u32>;

@compute @workgroup_size(GROUP)
fn pick_tally(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (thread == 0u) {
        atomicStore(&below, 0u);
        atomicStore(&same, 0u);
    }
    workgroupBarrier();
    let keys = atomicLoad(&state[STATE_COUNT]);
    let tile = group_id.y * groups.x + group_id.x;
    let first = min(tile * PICK_TILE, keys);
    let present = min(keys - first, PICK_TILE);
    let bar = four_words(STATE_BAR);
    let known = four_words(STATE_KNOWN);
    var all_below = 0u;
    var all_same = 0u;
    for (var start = 0u; start < present; start += GROUP * BATCH) {
        var batch: array<Key, BATCH>;
#repeat k BATCH
        batch[k] = source_key(first + min(start + k * GROUP + thread, present - 1u));
#end
#repeat k BATCH
        let order_@ = select(ABOVE, compared(batch[k], bar, known), start + k * GROUP + thread < present);
        all_below += u32(order_@ == BELOW);
        all_same += u32(order_@ == SAME);
#end
    }
    if (all_below > 0u) {
        atomicAdd(&below, all_below);
    }
    if (all_same > 0u) {
        atomicAdd(&same, all_same);
    }
    workgroupBarrier();
    if (thread == 0u && present > 0u) {
        status[2u * tile] = atomicLoad(&below);
        status[2u * tile + 1u] = atomicLoad(&same);
    }
}
