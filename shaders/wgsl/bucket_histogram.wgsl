// Counts the digits of each bucket of a batch, with one read of the keys.
//
// The buckets are those of a partition, and the kernel counts the digits below the most significant one. With LISTS,
// the buckets are the long segments, and the kernel counts all digits.
//
// in       batch: the index of the batch; sort; state: the schedule; keys_from: the output of the partition, or with
//          LISTS all keys; values_from: all values (with COPIES)
// in, out  table: the batch and its tiles; word smaller_at(bucket, d) + v is 0 before. It becomes the number of the
//          bucket's keys whose digit `d` is below `v`
// out      status: RADIX words for each tile of the batch, all 0; keys_to, values_to: copies of the keys and values of
//          the tiles, which the first pass then reads (with COPIES)
// launch   any number of workgroups of RADIX threads, which share the tiles
// does     Without LISTS, it returns if no pass follows the partition. For each digit, each tile adds its prefix sums to
//          those of its bucket.

@group(0) @binding(0) var<uniform> batch: Number;
@group(0) @binding(1) var<uniform> sort: Sort;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> table: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> status: array<u32>;
@group(0) @binding(5) var<storage, read> keys_from: array<Key>;
#if COPIES
@group(0) @binding(6) var<storage, read_write> keys_to: array<Key>;
#if VALUES
@group(0) @binding(7) var<storage, read> values_from: array<Value>;
@group(0) @binding(8) var<storage, read_write> values_to: array<Value>;
#endif
#endif

// The first tile of the batch, and the end of its tiles.
var<workgroup> work: vec2<u32>;

@compute @workgroup_size(GROUP)
fn bucket_histogram(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (thread == 0u) {
        work = vec2(0u);
#if LISTS
        let follow = true;
#else
        let follow = passes() > 1u;
#endif
        if (follow) {
            work = vec2(atomicLoad(&table[batch_at(batch.value)]), atomicLoad(&table[batch_at(batch.value + 1u)]));
        }
    }
    let todo = workgroupUniformLoad(&work);
    for (var tile = todo.x + group_id.y * groups.x + group_id.x; tile < todo.y; tile += groups.x * groups.y) {
        count_tile(thread, tile);
        status[(tile - todo.x) * RADIX + thread] = 0u;
    }
}

fn count_tile(thread: u32, tile: u32) {
    for (var i = thread; i < SLOTS; i += GROUP) {
        atomicStore(&counts[i], 0u);
    }
    workgroupBarrier();
    let first = atomicLoad(&table[tile_at(tile)]);
    let present = atomicLoad(&table[tile_at(tile) + 1u]);
    let is_whole = digits_are_whole();
#if LISTS
    let source = sort.keys_home + first;
#else
    let source = first;
#endif
    for (var start = 0u; start < present; start += GROUP * BATCH) {
        var keys: array<Key, BATCH>;
#repeat k BATCH
        keys[k] = keys_from[source + min(start + k * GROUP + thread, present - 1u)];
#end
        if (is_whole && start + GROUP * BATCH <= present) {
#repeat k BATCH
            count_whole(keys[k]);
#end
        } else {
#repeat k BATCH
            if (start + k * GROUP + thread < present) {
                count_digits(keys[k], counted_digits());
            }
#end
        }
#if COPIES
#repeat k BATCH
        let index = start + k * GROUP + thread;
        if (index < present) {
            keys_to[first + index] = keys[k];
#if VALUES
            values_to[first + index] = values_from[sort.values_home + first + index];
#endif
        }
#end
#endif
    }
    workgroupBarrier();
    let bucket = atomicLoad(&table[tile_at(tile) + 3u]);
    for (var d = 0u; d < counted_digits(); d++) {
        let found = found_at(d * RADIX + thread);
        let smaller = sum_up(thread, found) - found;
        if (smaller > 0u) {
            atomicAdd(&table[smaller_at(bucket, d) + thread], smaller);
        }
        workgroupBarrier();
    }
}
