// Sorts segments of medium length, with one read and one write of each key. One workgroup sorts one segment at a time.
// Such a segment has more than NETWORK keys, and at most as many as one workgroup sorts: see segments.
//
// in       sort; state: the number of such segments; lists: the first key and the number of keys of each
// in, out  keys_home, values_home: the segments, sorted in place
// launch   any number of workgroups, which share the segments
// does     As in single_tile, each thread holds its share of the segment's keys in registers, and the keys take their
//          new order digit by digit.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read_write> keys_home: array<Key>;
#if VALUES
@group(0) @binding(4) var<storage, read_write> values_home: array<Value>;
#endif

// The first key of the segment, and its number of keys: 0 if there is no segment left.
var<workgroup> work: vec2<u32>;

var<private> first: u32;

@compute @workgroup_size(GROUP)
fn segment_tile(
    @builtin(local_invocation_index) thread_id: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
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
    for (var segment = group_id.x; ; segment += groups.x) {
        if (thread == 0u) {
            work = segment_work(segment);
        }
        let todo = workgroupUniformLoad(&work);
        if (todo.y == 0u) {
            break;
        }
        first = todo.x;
        sort_held(todo.y, sort.digit_count);
    }
}

fn segment_work(segment: u32) -> vec2<u32> {
    if (segment >= listed(SMALL_CLASS)) {
        return vec2(0u);
    }
    let at = list_at(SMALL_CLASS) + 2u * segment;
    return vec2(lists[at], lists[at + 1u]);
}

fn held_digit(d: u32) -> Digit {
    return digit_at(d);
}

fn held_key(index: u32) -> Key {
    return keys_home[sort.keys_home + first + index];
}

fn put_key_home(index: u32, key: Key) {
    keys_home[sort.keys_home + first + index] = key;
}
#if VALUES

fn held_value(index: u32) -> Value {
    return values_home[sort.values_home + first + index];
}

fn put_value_home(index: u32, value: Value) {
    values_home[sort.values_home + first + index] = value;
}
#endif
