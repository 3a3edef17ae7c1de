// Sorts the buckets that are small by all of the lower digits, each in one group, in one read and one write of the keys.
//
// in       sort; state: count, schedule, and the histogram of the digit that keys are partitioned by; keys_scratch, values_scratch: what
//          the partition wrote
// out      keys_home, values_home; or the scratch, if the sort ends there
// launch   one group for each bucket; those of buckets of more than SMALL_BUCKET keys leave at once, all if no passes follow the partition
// does     As single_tile: each thread holds as many keys as it takes for all to be held.
// needs    that nothing has been written where buckets lie in the scratch since the partition

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> keys_scratch: array<Key>;
@group(0) @binding(3) var<storage, read_write> keys_home: array<Key>;
#if VALUES
@group(0) @binding(4) var<storage, read_write> values_scratch: array<Value>;
@group(0) @binding(5) var<storage, read_write> values_home: array<Value>;
#endif

// The first key of the bucket, its keys if it is small, and the passes of the sort.
var<workgroup> work: vec4<u32>;

@compute @workgroup_size(GROUP)
fn bucket_tile(
    @builtin(local_invocation_index) thread_id: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(subgroup_id) subgroup_id: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) lane_id: u32,
) {
    thread = thread_id;
    subgroup = subgroup_id;
    lanes = subgroup_size;
    lane = lane_id;
    if (thread == 0u) {
        work = bucket_work(group_id.x);
    }
    let todo = workgroupUniformLoad(&work);
    let first = todo.x;
    let present = todo.y;
    if (present == 0u) {
        return;
    }
    let held = (present + GROUP - 1u) / GROUP;
    var keys: array<Key, KEYS>;
#if VALUES
    var positions: array<u32, KEYS>;
#endif
    // The last key stands for those that are absent.
#repeat item KEYS
        if (item < held) {
            let index = item_index(item, held);
            keys[item] = keys_scratch[first + min(index, present - 1u)];
#if VALUES
            positions[item] = index;
#endif
        }
#end
    for (var pass_slot = 1u; pass_slot < todo.z; pass_slot++) {
#if VALUES
        sort_by_digit(&keys, &positions, present, held, digit_at(scheduled(pass_slot - 1u)));
#else
        sort_by_digit(&keys, present, held, digit_at(scheduled(pass_slot - 1u)));
#endif
    }
#if VALUES
    var values: array<Value, KEYS>;
#repeat item KEYS
        if (item < held && item_index(item, held) < present) {
            values[item] = values_scratch[first + positions[item]];
        }
#end
#endif
    // All is read before any is written.
    storageBarrier();
    let ends_home = todo.z % 2u == 0u;
#repeat item KEYS
        let index = item_index(item, held);
        if (item < held && index < present) {
            if (ends_home) {
                keys_home[sort.keys_home + first + index] = keys[item];
            } else {
                keys_scratch[first + index] = keys[item];
            }
#if VALUES
            if (ends_home) {
                values_home[sort.values_home + first + index] = values[item];
            } else {
                values_scratch[first + index] = values[item];
            }
#endif
        }
#end
}

fn bucket_work(bucket: u32) -> vec4<u32> {
    let sort_passes = passes();
    if (sort_passes < 2u) {
        return vec4(0u);
    }
    let histogram = STATE_HISTOGRAM + top_scheduled() * RADIX;
    let start = atomicLoad(&state[histogram + bucket]);
    let next = atomicLoad(&state[histogram + min(bucket + 1u, RADIX - 1u)]);
    let keys = select(next, atomicLoad(&state[STATE_COUNT]), bucket == RADIX - 1u) - start;
    return vec4(start, select(0u, keys, keys <= SMALL_BUCKET), sort_passes, 0u);
}
