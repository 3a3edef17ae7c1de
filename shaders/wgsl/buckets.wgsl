// Cuts the buckets of a partition into tiles, and collects neighboring buckets in batches, each of which the passes
// sort in turn.
//
// in       sort; state: the number of keys, the schedule, and the scanned histogram of the partition's digit
// out      the whole table (see parts/bucket_table.wgsl); its counts and tickets become 0
// launch   any number of workgroups of RADIX threads, which share the table
// does     Returns if no pass follows the partition. Buckets of up to SMALL_BUCKET keys get no tiles: bucket_tile sorts
//          them. A bucket that starts at key `s` belongs to batch s / BATCH_KEYS. So there are at most keys / BATCH_KEYS
//          batches, rounded up, and some may be empty. A batch has more than BATCH_KEYS keys only if its last bucket
//          ends behind the batch's range.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> table: array<u32>;

// Where each bucket starts, and where the last one ends. `sums` holds, for each bucket, the tiles up to its end.
var<workgroup> starts: array<u32, RADIX + 1u>;

@compute @workgroup_size(GROUP)
fn buckets(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let follow = passes() > 1u;
    let histogram = STATE_HISTOGRAM + select(0u, top_scheduled(), follow) * RADIX;
    let keys = atomicLoad(&state[STATE_COUNT]);
    let start = atomicLoad(&state[histogram + thread]);
    let next = atomicLoad(&state[histogram + min(thread + 1u, RADIX - 1u)]);
    let end = select(next, keys, thread == RADIX - 1u);
    starts[thread] = start;
    if (thread == RADIX - 1u) {
        starts[RADIX] = keys;
    }
    // bucket_tile has sorted the small buckets: they have no tiles.
    sum_up(thread, select((end - start + TILE - 1u) / TILE, 0u, end - start <= SMALL_BUCKET));
    if (!follow) {
        return;
    }
    let first = group_id.x * GROUP + thread;
    let threads = groups.x * GROUP;
    for (var i = first; i < batch_at(0u); i += threads) {
        table[i] = 0u;
    }
    for (var i = first; i < sums[RADIX - 1u]; i += threads) {
        let bucket = bucket_of(i);
        let first_tile = tiles_before(bucket);
        let key = starts[bucket] + (i - first_tile) * TILE;
        let at = tile_at(i);
        table[at] = key;
        table[at + 1u] = min(starts[bucket + 1u] - key, TILE);
        table[at + 2u] = first_tile;
        table[at + 3u] = bucket;
    }
    for (var i = first; i <= batches(); i += threads) {
        let bucket = bucket_from(i * BATCH_KEYS);
        let at = batch_at(i);
        table[at] = tiles_before(bucket);
        table[at + 1u] = starts[bucket];
        for (var word = 2u; word < BATCH_WORDS; word++) {
            table[at + word] = 0u;
        }
    }
}

fn tiles_before(bucket: u32) -> u32 {
    return select(0u, sums[max(bucket, 1u) - 1u], bucket > 0u);
}

// Returns the bucket of a tile.
fn bucket_of(of_tile: u32) -> u32 {
    var low = 0u;
    var high = RADIX - 1u;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (sums[middle] <= of_tile) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

// Returns the first bucket that starts at this key or after it; RADIX if there is none.
fn bucket_from(key: u32) -> u32 {
    var low = 0u;
    var high = RADIX;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (starts[middle] < key) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}
