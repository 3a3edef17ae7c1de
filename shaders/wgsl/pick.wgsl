// Writes the selected keys and their positions, in the order of the positions.
//
// in       sort; state: the number of keys, the threshold, and how many keys that equal it are selected; keys_from: the
//          source; status: for each tile, how many keys of earlier tiles lie below the threshold, and how many equal it
// out      indices_to, from sort.values_home on, and picked: a position and a key for each selected key
// launch   at least keys / PICK_TILE workgroups, rounded up; each looks at PICK_TILE keys
// does     The workgroup marks the keys below the threshold, and those that equal it, with a bit each. Then each thread
//          writes the keys of one word of marks.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> status: array<u32>;
#if ALIASED
// keys_from and indices_to are parts of one buffer: both bindings must be writable.
#if PACKED
@group(0) @binding(3) var<storage, read_write> keys_from: array<u32>;
#else
@group(0) @binding(3) var<storage, read_write> keys_from: array<Key>;
#endif
#else
#if PACKED
@group(0) @binding(3) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(3) var<storage, read> keys_from: array<Key>;
#endif
#endif
@group(0) @binding(4) var<storage, read_write> indices_to: array<u32>;
@group(0) @binding(5) var<storage, read_write> picked: array<Key>;

var<workgroup> marks: array<atomic<u32>, 2u * GROUP>;

@compute @workgroup_size(GROUP)
fn pick(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    atomicStore(&marks[thread], 0u);
    atomicStore(&marks[GROUP + thread], 0u);
    workgroupBarrier();
    let keys = atomicLoad(&state[STATE_COUNT]);
    let tile = group_id.y * groups.x + group_id.x;
    let first = min(tile * PICK_TILE, keys);
    let present = min(keys - first, PICK_TILE);
    let bar = four_words(STATE_BAR);
    let known = four_words(STATE_KNOWN);
    for (var start = thread; start < present; start += GROUP * BATCH) {
        var batch: array<Key, BATCH>;
#repeat k BATCH
        batch[k] = source_key(first + min(start + k * GROUP, present - 1u));
#end
#repeat k BATCH
        let order_@ = compared(batch[k], bar, known);
        if (start + k * GROUP < present && order_@ != ABOVE) {
            let index_@ = start + k * GROUP;
            atomicOr(&marks[select(0u, GROUP, order_@ == SAME) + index_@ / 32u], 1u << (index_@ % 32u));
        }
#end
    }
    workgroupBarrier();
    let below = atomicLoad(&marks[thread]);
    let same = atomicLoad(&marks[GROUP + thread]);
    // One sum carries both counts: neither exceeds PICK_TILE.
    let counts = countOneBits(below) | (countOneBits(same) << 16u);
    let before = sum_up(thread, counts) - counts;
    if (present == 0u) {
        return;
    }
    let wanted = atomicLoad(&state[STATE_LEFT]);
    var below_before = status[2u * tile] + (before & 0xffffu);
    var same_before = status[2u * tile + 1u] + (before >> 16u);
    for (var left = below | same; left != 0u; left &= left - 1u) {
        let bit = countTrailingZeros(left);
        let is_below = ((below >> bit) & 1u) != 0u;
        if (is_below || same_before < wanted) {
            let place = below_before + min(same_before, wanted);
            let position = first + thread * 32u + bit;
            indices_to[sort.values_home + place] = position;
            picked[place] = source_key(position);
        }
        below_before += u32(is_below);
        same_before += u32(!is_below);
    }
}
