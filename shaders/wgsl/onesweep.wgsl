// One pass of a least-significant-digit radix sort, in one read and one write of the keys.
//
// in       slot: which pass this is; sort; keys_from, values_from: a pass never writes them
// in, out  state: the schedule, and the tickets; status: all zero in the half of this pass
// out      keys_to, values_to; status: all zero in the half of the next pass
// launch   at least as many groups as tiles; groups of passes that are not scheduled, and of tiles beyond the last, leave at once
// does     Tiles are taken by ticket, so that the tiles before one's own have started. A tile counts its digits, publishes the counts, and
//          looks back over the counts of earlier tiles for where its keys go: decoupled look-back (Merrill and Garland, 2016) in a radix
//          sort (Adinets and Merrill, "Onesweep", 2022). A status word holds a count and a flag: empty, the count of a tile, or of all
//          tiles up to it. It only ever grows, by atomicMax, so it does not matter who publishes it, or how often. No device promises that
//          other groups make progress: who waits too long for a tile counts it itself, from the source, and publishes that.
// needs    subgroups; fewer than 2^30 keys

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> status: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> keys_from: array<Key>;
@group(0) @binding(5) var<storage, read_write> keys_to: array<Key>;
#if VALUES
@group(0) @binding(6) var<storage, read> values_from: array<Value>;
@group(0) @binding(7) var<storage, read_write> values_to: array<Value>;
#endif

const AGGREGATE: u32 = 1u << 30u;
const INCLUSIVE: u32 = 2u << 30u;
const COUNT: u32 = AGGREGATE - 1u;

// Tile, keys, digit, whether there is anything to do.
var<workgroup> ticket: vec4<u32>;
var<workgroup> missing: atomic<u32>;
var<workgroup> recounts: array<atomic<u32>, RADIX>;

var<private> tile: u32;
var<private> status_first: u32;
// Of this thread's digits: keys in the tile, and their start in it.
var<private> totals_of: array<u32, DIGITS>;
var<private> starts_of: array<u32, DIGITS>;

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
    }
    let taken = workgroupUniformLoad(&ticket);
    if (taken.w == 0u) {
        return;
    }
    tile = taken.x;
    let digit_index = taken.z;
    let digit = sort.digits[digit_index];
    let first = tile * TILE;
    let present = min(taken.y - first, TILE);
    let half = RADIX * tiles_of(sort.max);
    status_first = (slot.value & 1u) * half;
    for (var i = thread; i < RADIX; i += GROUP) {
        atomicStore(&status[half - status_first + tile * RADIX + i], 0u);
    }

    var keys: array<Key, KEYS>;
    var items: array<u32, KEYS>;
    let source = keys_from_first() + first;
    for (var item = 0u; item < KEYS; item++) {
        let index = item_index(item);
        if (index < present) {
            keys[item] = keys_from[source + index];
        }
    }
    for (var item = 0u; item < KEYS; item++) {
        items[item] = digit_of(keys[item], digit);
    }
    rank_tile(&items, present);
    put_keys(&keys, &items, present);
    look_back(digit_index, digit);
    workgroupBarrier();
    move_tile(&items, digit, first, present);
}

fn tiles_of(count: u32) -> u32 {
    return (count + TILE - 1u) / TILE;
}

fn take_ticket() -> vec4<u32> {
    if (slot.value >= passes()) {
        return vec4(0u);
    }
    let keys = atomicLoad(&state[STATE_COUNT]);
    let taken = atomicAdd(&state[STATE_TICKETS + slot.value], 1u);
    return vec4(taken, keys, scheduled(slot.value), select(0u, 1u, taken < tiles_of(keys)));
}

fn is_blocked() -> bool {
    return tile >= sort.blocked.x && tile < sort.blocked.y && tile % sort.blocked.z == sort.blocked.w;
}

fn publish(of_tile: u32, digit: u32, word: u32) {
    atomicMax(&status[status_first + of_tile * RADIX + digit], word);
}

// Publishes the tile's own counts as soon as they are known.
fn counted(i: u32, digit: u32, start: u32, total: u32) {
    starts_of[i] = start;
    totals_of[i] = total;
    if (!is_blocked()) {
        publish(tile, digit, select(AGGREGATE, INCLUSIVE, tile == 0u) | total);
    }
}

// Finds how many keys of each of the thread's digits lie in earlier tiles, publishes that, and sets `offsets`.
fn look_back(digit_index: u32, digit: vec4<u32>) {
    var earlier: array<u32, DIGITS>;
    // The tiles that are not yet counted in `earlier`.
    var left: array<u32, DIGITS>;
    for (var i = 0u; i < DIGITS; i++) {
        earlier[i] = 0u;
        left[i] = tile;
    }
    loop {
        if (thread == 0u) {
            atomicStore(&missing, 0u);
        }
        workgroupBarrier();
        for (var i = 0u; i < DIGITS; i++) {
            let column = status_first + thread * DIGITS + i;
            var before = left[i];
            var sum = earlier[i];
            var spins = 0u;
            while (before > 0u && spins < SPIN_LIMIT) {
                // Four at once: the reads do not wait for each other. Before the first tile there is nothing.
                var words: array<u32, 4>;
                for (var w = 0u; w < 4u; w++) {
                    words[w] = INCLUSIVE;
                    if (before > w) {
                        words[w] = atomicLoad(&status[column + (before - 1u - w) * RADIX]);
                    }
                }
                var seen = true;
                for (var w = 0u; w < 4u; w++) {
                    seen = seen && words[w] >= AGGREGATE;
                    if (seen && before > 0u) {
                        sum += words[w] & COUNT;
                        before = select(before - 1u, 0u, words[w] >= INCLUSIVE);
                    }
                }
                spins = select(spins + 1u, 0u, seen);
            }
            left[i] = before;
            earlier[i] = sum;
            if (before > 0u) {
                atomicMax(&missing, before);
            }
        }
        workgroupBarrier();
        let stuck = workgroupUniformLoad(&missing);
        if (stuck == 0u) {
            break;
        }
        recount(stuck - 1u, digit);
    }
    for (var i = 0u; i < DIGITS; i++) {
        let value = thread * DIGITS + i;
        if (tile > 0u && !is_blocked()) {
            publish(tile, value, INCLUSIVE | (earlier[i] + totals_of[i]));
        }
        let smaller = atomicLoad(&state[STATE_HISTOGRAM + digit_index * RADIX + value]);
        offsets[value] = smaller + earlier[i] - starts_of[i];
    }
}

// Counts another tile, a whole one, and publishes its counts.
fn recount(of_tile: u32, digit: vec4<u32>) {
    for (var i = thread; i < RADIX; i += GROUP) {
        atomicStore(&recounts[i], 0u);
    }
    workgroupBarrier();
    let source = keys_from_first() + of_tile * TILE;
    for (var i = thread; i < TILE; i += GROUP) {
        atomicAdd(&recounts[digit_of(keys_from[source + i], digit)], 1u);
    }
    workgroupBarrier();
    for (var i = thread; i < RADIX; i += GROUP) {
        publish(of_tile, i, select(AGGREGATE, INCLUSIVE, of_tile == 0u) | atomicLoad(&recounts[i]));
    }
    if (thread == 0u) {
        atomicAdd(&state[STATE_RECOUNTS], 1u);
    }
}
