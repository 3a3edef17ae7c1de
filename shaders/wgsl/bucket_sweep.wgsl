// Sorts each bucket of a batch by one of the lower digits, stably. It writes each key once, and reads it once, or again
// where a waiting workgroup counts the tile of the key. With LISTS, the buckets are long segments.
//
// in       slot: the number of the pass (the hybrid's partition is pass 0); batch: the number of the batch; sort;
//          state: the schedule; table: tiles and counts; keys_from, values_from: the keys and values, which nothing
//          writes during the pass
// in, out  table: the ticket of this pass in the batch's record, 0 before; status: RADIX words for each tile of the
//          batch, all 0 before; state: STATE_RECOUNTS grows by the number of tiles that a waiting workgroup counted
//          itself
// out      keys_to, values_to: the keys and values of the batch; status_next: RADIX words for each tile of the batch,
//          all 0, for the next pass
// launch   any number of workgroups; they take tiles of the batch until none is left. If the pass is not scheduled,
//          they return
// does     A workgroup takes the number of its tile from a ticket, so other workgroups have taken all tiles with smaller
//          numbers. It moves the tile: see parts/sweep.wgsl. Each bucket is a chain. Tiles are numbered from the first tile of the batch, so that all
//          batches can use the same status words, one batch after the other.
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
    // The tile, and the first tile of its bucket. Both count from the first tile of the batch.
    tile: u32,
    first_tile: u32,
    // The first key of the tile, and its number of keys: 0 if there is no tile left.
    first: u32,
    present: u32,
    bucket: u32,
    digit: u32,
    // The first key of the batch.
    batch_start: u32,
    // How many passes follow this one.
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
        // The last pass writes its result to one buffer. In the other one, the first pass over a batch reads what the
        // partition has left; after that, the batch only needs room for itself, and takes it at the start of the
        // buffer. All keys that lay there have been read, and no result of another batch lies there.
        let ends_here = taken.left % 2u == 0u;
        to_shift = select(taken.batch_start, 0u, ends_here);
        from_shift = select(0u, taken.batch_start, ends_here && slot.value > 1u);
        let is_first = slot.value == 1u;
#endif
        // In the first pass over a bucket, keys with the same digit may change their order. That needs keys that are
        // identical if they agree in all digits.
        sweep(taken.present, !is_first || sort.digits[0].w == 0u || taken.present < TILE);
    }
}
#if LISTS

// Returns the number of the first pass. Odd passes read the scratch and write home, and the last pass writes home.
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

// Returns where a tile's keys start, before from_shift is subtracted.
fn tile_start(of_tile: u32) -> u32 {
    return bucket_start + (of_tile - first_tile) * TILE;
}

// Returns where the bucket's keys with this digit start: behind the earlier buckets, and behind the bucket's keys with
// smaller digits.
fn smaller_keys(digit: u32) -> u32 {
    return bucket_start + atomicLoad(&table[smaller_at(bucket, digit_index) + digit]);
}
