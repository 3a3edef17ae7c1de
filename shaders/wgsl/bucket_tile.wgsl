// Sorts the small buckets of the MSD hybrid by all digits below the one of the partition, with one read and one write of
// each key. One workgroup sorts one bucket. The partition is pass 0; the passes after it sort the larger buckets.
//
// in       sort; state: the number of keys, the schedule, and the scanned histogram of the partition's digit; keys_scratch,
//          values_scratch: what the partition wrote
// out      keys_home, values_home: the sorted buckets, if the number of passes is even; the partition counts as a pass.
//          Else the sorted buckets replace those in keys_scratch, values_scratch
// launch   RADIX workgroups. Workgroup `b` sorts bucket `b`, and returns if this bucket has more than SMALL_BUCKET keys, or
//          if no pass follows the partition
// does     As in single_tile, each thread holds its share of the bucket's keys in registers, and the keys take their new
//          order digit by digit. Values move with their keys.
// needs    to run after the partition and before any later pass

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> keys_scratch: array<Key>;
@group(0) @binding(3) var<storage, read_write> keys_home: array<Key>;
#if VALUES
@group(0) @binding(4) var<storage, read_write> values_scratch: array<Value>;
@group(0) @binding(5) var<storage, read_write> values_home: array<Value>;
#endif

// The first key of the bucket, its number of keys (0 if it is not small), and the passes of the sort.
var<workgroup> work: vec4<u32>;

var<private> first: u32;
var<private> ends_home: bool;

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
    if (todo.y == 0u) {
        return;
    }
    first = todo.x;
    ends_home = todo.z % 2u == 0u;
    sort_held(todo.y, todo.z - 1u);
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

fn held_digit(d: u32) -> Digit {
    return digit_at(scheduled(d));
}

fn held_key(index: u32) -> Key {
    return keys_scratch[first + index];
}

fn put_key_home(index: u32, key: Key) {
    if (ends_home) {
        keys_home[sort.keys_home + first + index] = key;
    } else {
        keys_scratch[first + index] = key;
    }
}
#if VALUES

fn held_value(index: u32) -> Value {
    return values_scratch[first + index];
}

fn put_value_home(index: u32, value: Value) {
    if (ends_home) {
        values_home[sort.values_home + first + index] = value;
    } else {
        values_scratch[first + index] = value;
    }
}
#endif
