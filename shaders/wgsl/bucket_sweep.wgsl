// One pass over the buckets of a batch by one of the lower digits, each bucket by itself, in one read and one write of the keys.
//
// in       slot: which pass this is, 1 the first of the hybrid's; batch; sort; state: the schedule; keys_from, values_from: a pass never writes them
// in, out  table: tiles and counts, and the tickets; status: all zero for the tiles of the batch before
// out      keys_to, values_to; status_next: all zero for these tiles, for the next pass
// launch   any number of groups: they take tiles until none of the batch is left; those of passes that are not scheduled leave at once
// does     Tiles are taken by ticket, so that the tiles before one's own have started, and swept: see the part of that name. A bucket is a
//          chain of its own. Tiles are counted from the first of the batch, so that all batches use the same status words.
// needs    fewer than 2^30 keys

@group(0) @binding(0) var<uniform> slot: Number;
@group(0) @binding(1) var<uniform> batch: Number;
@group(0) @binding(2) var<uniform> sort: Sort;
@group(0) @binding(3) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> table: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> status: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> status_next: array<u32>;
@group(0) @binding(7) var<storage, read> keys_from: array<Key>;
@group(0) @binding(8) var<storage, read_write> keys_to: array<Key>;
#if VALUES
@group(0) @binding(9) var<storage, read> values_from: array<Value>;
@group(0) @binding(10) var<storage, read_write> values_to: array<Value>;
#endif

struct Ticket {
    // The tile, and the first of its bucket, counted from the first of the batch.
    tile: u32,
    first_tile: u32,
    // The first key of the tile, and its keys; none if there is no tile left.
    first: u32,
    present: u32,
    bucket: u32,
    digit: u32,
    // The first key of the batch.
    batch_start: u32,
    // The passes that follow this one.
    left: u32,
}

var<workgroup> ticket: Ticket;

var<private> first_tile: u32;
var<private> bucket: u32;
var<private> bucket_start: u32;

@compute @workgroup_size(GROUP)
fn bucket_sweep(
    @builtin(local_invocation_index) thread_id: u32,
#if SUBGROUPS
    @builtin(subgroup_id) subgroup_id: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) lane_id: u32,
#endif
) {
    thread = thread_id;
#if SUBGROUPS
    subgroup = subgroup_id;
    lanes = subgroup_size;
    lane = lane_id;
#endif
    loop {
        if (thread == 0u) {
            ticket = take_ticket();
            atomicStore(&missing, 0u);
        }
        let taken = workgroupUniformLoad(&ticket);
        if (taken.present == 0u) {
            break;
        }
        tile = taken.tile;
        first_tile = taken.first_tile;
        digit_index = taken.digit;
        bucket = taken.bucket;
        bucket_start = taken.first - (tile - first_tile) * TILE;
#if LISTS
        let is_first = slot.value == first_slot();
#else
        // The sort ends in one buffer. In the other, what is there after the partition is read once, and then a batch needs room for itself
        // alone: at the start, where no key is that has not been read, and no other batch's result.
        let ends_here = taken.left % 2u == 0u;
        to_shift = select(taken.batch_start, 0u, ends_here);
        from_shift = select(0u, taken.batch_start, ends_here && slot.value > 1u);
        let is_first = slot.value == 1u;
#endif
        // The first pass over a bucket may put it in any order where keys that agree in all digits are equal.
        sweep(taken.present, !is_first || sort.digits[0].w == 0u || taken.present < TILE);
    }
}
#if LISTS

// The first pass: those of odd number read the scratch, and the last one writes home.
fn first_slot() -> u32 {
    return 2u - sort.digit_count % 2u;
}

fn pass_digit() -> u32 {
    return slot.value - first_slot();
}

fn slots_end() -> u32 {
    return first_slot() + sort.digit_count;
}
#else

fn pass_digit() -> u32 {
    return scheduled(slot.value - 1u);
}

fn slots_end() -> u32 {
    return passes();
}
#endif

fn placed() {}

fn take_ticket() -> Ticket {
    let passes_end = slots_end();
    if (slot.value >= passes_end) {
        return Ticket();
    }
    let at = batch_at(batch.value);
    let taken = atomicAdd(&table[at + BATCH_TICKETS + slot.value], 1u);
    let tiles_begin = atomicLoad(&table[at]);
    if (taken >= atomicLoad(&table[at + BATCH_WORDS]) - tiles_begin) {
        return Ticket();
    }
    let found = tile_at(tiles_begin + taken);
    return Ticket(
        taken,
        atomicLoad(&table[found + 2u]) - tiles_begin,
        atomicLoad(&table[found]),
        atomicLoad(&table[found + 1u]),
        atomicLoad(&table[found + 3u]),
        pass_digit(),
        atomicLoad(&table[at + 1u]),
        passes_end - 1u - slot.value,
    );
}

// Where a tile's keys start, before keys are read from elsewhere.
fn tile_start(of_tile: u32) -> u32 {
    return bucket_start + (of_tile - first_tile) * TILE;
}

// How many keys go before all of this digit in the bucket: those of earlier buckets, and those of smaller digits.
fn smaller_keys(digit: u32) -> u32 {
    return bucket_start + atomicLoad(&table[smaller_at(bucket, digit_index) + digit]);
}
