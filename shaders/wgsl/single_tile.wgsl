// Sorts everything, if it fits one tile, in one launch.
//
// in       count_low, count_middle, count_high, count: as for begin; sort
// in, out  keys_from, values_to: sorted in place; of an argsort the keys stay, and values_to are the indices
// launch   one group
// does     The keys stay where they are while their positions are sorted digit by digit; then all are read, and only then written.
// needs    at most TILE keys

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> sort: Sort;
@group(0) @binding(4) var<storage, read> count: array<u32>;
#if PACKED
@group(0) @binding(5) var<storage, read_write> keys_from: array<u32>;
#else
@group(0) @binding(5) var<storage, read_write> keys_from: array<Key>;
#endif
#if VALUES
@group(0) @binding(6) var<storage, read_write> values_to: array<Value>;
#endif

var<workgroup> keys_there: u32;

@compute @workgroup_size(GROUP)
fn single_tile(
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
    if (thread == 0u) {
        keys_there = called_count();
    }
    let present = workgroupUniformLoad(&keys_there);
    for (var i = thread; i < TILE; i += GROUP) {
        positions[i] = i;
    }
    workgroupBarrier();

    sort_positions(present);
    move_all(present);
}

// Reads everything in its new order, and writes it once all is read.
fn move_all(present: u32) {
#if INDEXED
    for (var i = thread; i < present; i += GROUP) {
        values_to[sort.values_home + i] = positions[i];
    }
#else
#if PACKED
    let words = (present + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    let home = sort.packed_first / KEYS_PER_WORD;
    var packed: array<u32, KEYS>;
#repeat i KEYS
        let index = i * GROUP + thread;
        if (index < words) {
            packed[i] = packed_word(index, present);
        }
#end
    storageBarrier();
    workgroupBarrier();
#repeat i KEYS
        let index = i * GROUP + thread;
        if (index < words) {
            keys_from[home + index] = packed[i];
        }
#end
#else
    var keys: array<Key, KEYS>;
#repeat i KEYS
        let index = i * GROUP + thread;
        if (index < present) {
            keys[i] = source_key(positions[index]);
        }
#end
    storageBarrier();
    workgroupBarrier();
#repeat i KEYS
        let index = i * GROUP + thread;
        if (index < present) {
            keys_from[sort.keys_source + index] = keys[i];
        }
#end
#endif
#if VALUES
    var values: array<Value, KEYS>;
#repeat i KEYS
        let index = i * GROUP + thread;
        if (index < present) {
            values[i] = values_to[sort.values_home + positions[index]];
        }
#end
    storageBarrier();
    workgroupBarrier();
#repeat i KEYS
        let index = i * GROUP + thread;
        if (index < present) {
            values_to[sort.values_home + index] = values[i];
        }
#end
#endif
#endif
}
#if PACKED

// A word of keys in their new order. Bytes past the last key stay as they are.
fn packed_word(index: u32, present: u32) -> u32 {
    let first = index * KEYS_PER_WORD;
    let full = min(present - first, KEYS_PER_WORD);
    var packed = 0u;
    for (var k = 0u; k < full; k++) {
        packed |= (source_key(positions[first + k]) >> (32u - KEY_BITS)) << (k * KEY_BITS);
    }
    if (full < KEYS_PER_WORD) {
        packed |= (keys_from[sort.packed_first / KEYS_PER_WORD + index] >> (full * KEY_BITS)) << (full * KEY_BITS);
    }
    return packed;
}
#endif
