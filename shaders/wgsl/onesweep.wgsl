// One pass of a least-significant-digit radix sort, in one read and one write of the keys.
//
// in       slot: which pass this is; sort; keys_from, values_from: a pass never writes them
// in, out  state: the schedule, and the tickets; status: all zero before
// out      keys_to, values_to; status_next: all zero, for the next pass
// launch   any groups; those of passes that are not scheduled leave at once
// does     Tiles are taken by ticket until there are none left, so that whoever has the tiles before one's own is at work on them or on earlier
//          ones, and swept: see the part of that name.
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
var<private> next_tile: u32;

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
        ticket = first_ticket();
        atomicStore(&missing, 0u);
    }
    loop {
        let taken = workgroupUniformLoad(&ticket);
        if (taken.w == 0u) {
            break;
        }
        tile = taken.x;
        digit_index = taken.z;
        let present = min(taken.y - taken.x * TILE, TILE);
        // The first pass may put keys that are equal in any order, but none before one that is there.
        sweep(present, slot.value > 0u || sort.digits[0].w == 0u || present < TILE);
        if (thread == 0u) {
            ticket.x = next_tile;
            ticket.w = u32(next_tile < tiles_of(taken.y));
            atomicStore(&missing, 0u);
        }
    }
}

// All at once: nothing of it waits for the rest.
fn first_ticket() -> vec4<u32> {
    let taken = take_tile();
    let keys = atomicLoad(&state[STATE_COUNT]);
    let due = slot.value < passes();
#if PARTITIONS
    let digit = top_scheduled();
#else
    let digit = scheduled(slot.value);
#endif
    return vec4(taken, keys, digit, u32(due && taken < tiles_of(keys)));
}

fn take_tile() -> u32 {
    return atomicAdd(&state[STATE_TICKETS + slot.value], 1u);
}

// The next tile is taken early, so that nothing waits for it, but not before this one's counts are published: others wait for those of the next.
fn placed() {
    if (thread == 0u) {
        next_tile = take_tile();
    }
}

fn tiles_of(count: u32) -> u32 {
    return (count + TILE - 1u) / TILE;
}

// Where a tile's keys start in the source.
fn tile_start(of_tile: u32) -> u32 {
    return of_tile * TILE;
}

// How many keys have a smaller digit: they go before all of this one.
fn smaller_keys(digit: u32) -> u32 {
    return atomicLoad(&state[STATE_HISTOGRAM + digit_index * RADIX + digit]);
}
