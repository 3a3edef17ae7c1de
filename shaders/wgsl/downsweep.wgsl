// Moves each tile's keys and values to their places in the order of the digit, stably.
//
// in       slot: the number of the pass; sort; state: the number of keys and the schedule; status: where each tile's
//          keys with each digit start in the output; keys_from, values_from
// out      keys_to, values_to: the keys and values in the order of the digit
// launch   at least one workgroup for each tile; those without a tile return, and all if the pass is not scheduled
// does     The third step of a pass: see upsweep.

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> status: array<u32>;
@group(0) @binding(4) var<storage, read> keys_from: array<Key>;
@group(0) @binding(5) var<storage, read_write> keys_to: array<Key>;
#if VALUES
@group(0) @binding(6) var<storage, read> values_from: array<Value>;
@group(0) @binding(7) var<storage, read_write> values_to: array<Value>;
#endif

// The number of keys, the index of the digit, and 1 if there is anything to do.
var<workgroup> work: vec3<u32>;

var<private> tile: u32;
var<private> tiles: u32;

@compute @workgroup_size(GROUP)
fn downsweep(
    @builtin(local_invocation_index) thread_id: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    thread = thread_id;
    tile = group_id.y * groups.x + group_id.x;
    if (thread == 0u) {
        work = pass_work(tile);
    }
    let todo = workgroupUniformLoad(&work);
    if (todo.z == 0u) {
        return;
    }
    tiles = (todo.x + TILE - 1u) / TILE;
    let digit = digit_at(todo.y);
    let first = tile * TILE;
    let present = min(todo.x - first, TILE);
    let source = keys_from_first() + first;

    var keys: array<Key, KEYS>;
    var items: array<u32, KEYS>;
#repeat item KEYS
        keys[item] = keys_from[source + min(item_index(item, KEYS), present - 1u)];
        items[item] = select(RADIX - 1u, digit_of(keys[item], digit), item_index(item, KEYS) < present);
#end
    rank_tile(&items, present, KEYS, true);
    put_keys(&keys, &items, 0u);
    workgroupBarrier();
    move_tile(&keys, &items, digit, first, present);
}

fn counted(i: u32, digit: u32, start: u32, total: u32) {
    set_offset(digit, keys_to_first() + status[digit * tiles + tile] - start);
}
