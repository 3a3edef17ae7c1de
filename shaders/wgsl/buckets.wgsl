// Cuts the buckets of a partition into tiles, and puts buckets that start close together into one batch.
//
// in       sort; state: count, schedule, and the histogram of the digit that keys are partitioned by
// out      table: the table of them, its tickets and counts zero
// launch   one group for each bucket
// does     nothing if no passes follow the partition. A bucket belongs to the batch of number start / BATCH_KEYS: as no key lies at or after
//          the end of all, there are as many batches as that leaves, some of them empty. No batch is larger than BATCH_KEYS and its last
//          bucket.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> table: array<u32>;

// Of this bucket: the start of the one before it, its own, its end, and the tiles of all up to it.
var<workgroup> bucket_found: vec4<u32>;

@compute @workgroup_size(GROUP)
fn buckets(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group_id: vec3<u32>) {
    let bucket = group_id.x;
    // Each thread has a bucket.
    let keys = atomicLoad(&state[STATE_COUNT]);
    let follow = passes() > 1u;
    let digit = select(0u, top_scheduled(), follow);
    let start_of = start_at(digit, thread);
    let end_of = select(start_at(digit, min(thread + 1u, RADIX - 1u)), keys, thread == RADIX - 1u);
    let tiles_up_to = sum_up(thread, tiles_of(end_of - start_of));
    if (thread == bucket) {
        bucket_found = vec4(start_at(digit, max(bucket, 1u) - 1u), start_of, end_of, tiles_up_to);
    }
    let found = workgroupUniformLoad(&bucket_found);
    if (!follow) {
        return;
    }
    let start = found.y;
    let end = found.z;
    let tiles_end = found.w;
    let first_tile = tiles_end - tiles_of(end - start);

    for (var i = thread; i < LOWER_DIGITS * RADIX; i += GROUP) {
        table[smaller_at(bucket, 0u) + i] = 0u;
    }
    for (var t = first_tile + thread; t < tiles_end; t += GROUP) {
        let key = start + (t - first_tile) * TILE;
        let at = tile_at(t);
        table[at] = key;
        table[at + 1u] = min(end - key, TILE);
        table[at + 2u] = first_tile;
        table[at + 3u] = bucket;
    }
    // The batches for which this is the first bucket that is not before them; and those that are after all buckets.
    let last = bucket == RADIX - 1u;
    let batches_begin = select(found.x / BATCH_KEYS + 1u, 0u, bucket == 0u);
    let own_end = start / BATCH_KEYS + 1u;
    let batches_end = select(own_end, batches() + 1u, last);
    for (var i = batches_begin * BATCH_WORDS + thread; i < batches_end * BATCH_WORDS; i += GROUP) {
        let is_after = i >= own_end * BATCH_WORDS;
        var word = 0u;
        if (i % BATCH_WORDS == 0u) {
            word = select(first_tile, tiles_end, is_after);
        } else if (i % BATCH_WORDS == 1u) {
            word = select(start, end, is_after);
        }
        table[batch_at(0u) + i] = word;
    }
}

fn start_at(digit: u32, bucket: u32) -> u32 {
    return atomicLoad(&state[STATE_HISTOGRAM + digit * RADIX + bucket]);
}

fn tiles_of(count: u32) -> u32 {
    return (count + TILE - 1u) / TILE;
}
