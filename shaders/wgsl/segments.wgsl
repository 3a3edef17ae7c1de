// Puts each segment of at least two keys on the list of its class. The length of a segment decides its class.
//
// in       count_low, count_middle, count_high, count: the number of segments, as the kernel `begin` gets that of keys;
//          begins_first, ends_first: the index in `begins`, and in `ends`, of the bound of the first segment; sort; begins, ends: for each segment, its first key and the end of
//          its keys
// in, out  state, these words 0 before: STATE_LISTED + class counts the segments of each class, STATE_TILES the tiles of
//          long segments; STATE_OVERFLOWS becomes 1 if one of these counts exceeds a word
// out      lists: the lists of all classes, each in any order (see parts/lists.wgsl)
// launch   any number of workgroups, which share the segments
// does     A bound that is larger than sort.max counts as sort.max.

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> begins_first: Number;
@group(0) @binding(4) var<uniform> ends_first: Number;
@group(0) @binding(5) var<uniform> sort: Sort;
@group(0) @binding(6) var<storage, read> count: array<u32>;
@group(0) @binding(7) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(8) var<storage, read> begins: array<u32>;
@group(0) @binding(9) var<storage, read> ends: array<u32>;
@group(0) @binding(10) var<storage, read_write> lists: array<u32>;

// Of the segments that the workgroup looks at: how many belong to each class, and the tiles of the long ones. `firsts`
// says where these start on the lists, and among all tiles.
var<workgroup> found: array<atomic<u32>, CLASSES + 1u>;
var<workgroup> firsts: array<u32, CLASSES + 1u>;
var<workgroup> segments_there: u32;

@compute @workgroup_size(GROUP)
fn segments(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    if (thread == 0u) {
        segments_there = called_count();
    }
    let there = workgroupUniformLoad(&segments_there);
    for (var block = group_id.x * GROUP; block < there; block += groups.x * GROUP) {
        if (thread <= CLASSES) {
            atomicStore(&found[thread], 0u);
        }
        workgroupBarrier();
        var begin = 0u;
        var keys = 0u;
        if (block + thread < there) {
            begin = min(begins[begins_first.value + block + thread], sort.max);
            keys = max(min(ends[ends_first.value + block + thread], sort.max), begin) - begin;
        }
        let kind = class_of(keys);
        var place = 0u;
        var tile = 0u;
        if (keys > 1u) {
            place = atomicAdd(&found[kind], 1u);
        }
        if (kind == LONG_CLASS) {
            tile = atomicAdd(&found[CLASSES], (keys + TILE - 1u) / TILE);
        }
        workgroupBarrier();
        if (thread <= CLASSES) {
            let more = atomicLoad(&found[thread]);
            if (more > 0u) {
                firsts[thread] = atomicAdd(&state[STATE_LISTED + thread], more);
                if (firsts[thread] + more < more) {
                    atomicStore(&state[STATE_OVERFLOWS], 1u);
                }
            }
        }
        workgroupBarrier();
        if (keys > 1u) {
            place += firsts[kind];
            if (place < capacity(kind)) {
                let at = list_at(kind) + 2u * place;
                lists[at] = begin;
                lists[at + 1u] = keys;
                if (kind == LONG_CLASS) {
                    lists[first_tile_at(place)] = firsts[CLASSES] + tile;
                }
            }
        }
        workgroupBarrier();
    }
}

fn class_of(keys: u32) -> u32 {
    if (keys > NETWORK) {
        return select(LONG_CLASS, SMALL_CLASS, keys <= SMALL_BUCKET);
    }
    // From class to class of the network, the team of a segment doubles.
    return 32u - countLeadingZeros((max(keys, 1u) - 1u) / NETWORK_KEYS);
}
