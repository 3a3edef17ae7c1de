// Sorts all keys by one digit: one pass of a least-significant-digit radix sort, or, with PARTITIONS, the first pass of
// an MSD hybrid. It writes each key once, and reads it once; twice if a workgroup that waits for the counts of a tile
// counts this tile itself.
//
// in       slot: the number of the pass, from 0 on; sort; state: the number of keys, the schedule and the scanned
//          histogram; keys_from, values_from: the keys and values; nothing may write them during the pass
// in, out  state: STATE_TICKETS + slot, 0 before the launch, counts the tiles that are taken; STATE_RECOUNTS grows by the
//          number of tiles that a waiting workgroup counted itself; status: RADIX words for each tile, all 0 before the
//          launch
// out      keys_to, values_to: the keys and values in the order of the digit; status_next: RADIX words for each tile,
//          all 0, for the next pass
// launch   any number of workgroups; they take tiles until none is left. If the schedule has no pass `slot`, they return
//          at once
// does     A workgroup takes the next tile by a ticket, and moves it (see parts/sweep.wgsl). Tickets ascend, so each
//          earlier tile is finished, or a workgroup that has started works on it, or on one before it that it waits
//          for. The digit is that of the schedule; with PARTITIONS, it is the most significant one that differs between
//          keys. The pass is stable, with one exception: in a sort of keys without values by all their bits, the first
//          pass may swap keys that have the same digit. Keys that compare equal in such a sort are identical, so this
//          does no harm.
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

// The tile, the number of keys, the index of the digit, and 1 if there is a tile to move.
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
        // In the first pass, keys with the same digit may change their order. That needs keys that are identical if
        // they agree in all digits. A tile that is not full needs the stable order: it keeps the missing items behind
        // the keys.
        sweep(present, slot.value > 0u || sort.digits[0].w == 0u || present < TILE);
        if (thread == 0u) {
            ticket.x = next_tile;
            ticket.w = u32(next_tile < tiles_of(taken.y));
            atomicStore(&missing, 0u);
        }
    }
}

// Takes a tile, and reads what the pass must know. These reads do not wait for each other.
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

// Takes the next tile while this one is being written, so that its number is there in time. Not earlier: once a tile is
// taken, others wait for its counts, and this workgroup must have published those of its present tile.
fn placed() {
    if (thread == 0u) {
        next_tile = take_tile();
    }
}

fn tiles_of(count: u32) -> u32 {
    return (count + TILE - 1u) / TILE;
}

// Returns where a tile's keys start in the source.
fn tile_start(of_tile: u32) -> u32 {
    return of_tile * TILE;
}

// Returns how many keys have a smaller digit. They go before all keys with this one.
fn smaller_keys(digit: u32) -> u32 {
    return atomicLoad(&state[STATE_HISTOGRAM + digit_index * RADIX + digit]);
}
