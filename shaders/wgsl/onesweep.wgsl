// One pass of a least-significant-digit radix sort, in one read and one write of the keys.
//
// in       slot: which pass this is; sort; keys_from, values_from: a pass never writes them
// in, out  state: the schedule, and the tickets; status: all zero before
// out      keys_to, values_to; status_next: all zero, for the next pass
// launch   at least as many groups as tiles; groups of passes that are not scheduled, and of tiles beyond the last, leave at once
// does     Tiles are taken by ticket, so that the tiles before one's own have started, and swept: see the part of that name.
// needs    subgroups; fewer than 2^30 keys

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> status: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> status_next: array<u32>;
@group(0) @binding(5) var<storage, read> keys_from: array<Key>;
@group(0) @binding(6) var<storage, read_write> keys_to: array<Key>;
#if VALUES
@group(0) @binding(7) var<storage, read> values_from: array<Value>;
@group(0) @binding(8) var<storage, read_write> values_to: array<Value>;
#endif

// Tile, keys, digit, whether there is anything to do.
var<workgroup> ticket: vec4<u32>;

// All tiles are one chain.
const first_tile: u32 = 0u;

@compute @workgroup_size(GROUP)
fn onesweep(
    @builtin(local_invocation_index) thread_id: u32,
    @builtin(subgroup_id) subgroup_id: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) lane_id: u32,
) {
    thread = thread_id;
    subgroup = subgroup_id;
    lanes = subgroup_size;
    lane = lane_id;
    if (thread == 0u) {
        ticket = take_ticket();
        atomicStore(&missing, 0u);
    }
    let taken = workgroupUniformLoad(&ticket);
    if (taken.w == 0u) {
        return;
    }
    tile = taken.x;
    digit_index = taken.z;
    let present = min(taken.y - taken.x * TILE, TILE);
    // The first pass may put keys that are equal in any order, but none before one that is there.
    sweep(present, slot.value > 0u || sort.digits[0].w == 0u || present < TILE);
}

fn tiles_of(count: u32) -> u32 {
    return (count + TILE - 1u) / TILE;
}

fn take_ticket() -> vec4<u32> {
    // All at once: nothing of it waits for the rest.
    let taken = atomicAdd(&state[STATE_TICKETS + slot.value], 1u);
    let keys = atomicLoad(&state[STATE_COUNT]);
    let due = slot.value < passes();
#if PARTITIONS
    let digit = top_scheduled();
#else
    let digit = scheduled(slot.value);
#endif
    return vec4(taken, keys, digit, select(0u, 1u, due && taken < tiles_of(keys)));
}

// Where a tile's keys start in the source.
fn tile_start(of_tile: u32) -> u32 {
    return of_tile * TILE;
}

// How many keys have a smaller digit: they go before all of this one.
fn smaller_keys(digit: u32) -> u32 {
    return atomicLoad(&state[STATE_HISTOGRAM + digit_index * RADIX + digit]);
}
