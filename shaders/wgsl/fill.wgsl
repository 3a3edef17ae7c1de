// Writes keys of 8 bits in order, from their histogram alone. Bytes past the last key stay as they are.
//
// in       sort: one digit, the whole key; state: count, schedule, the number of keys below each
// out      keys_to: packed
// launch   groups of COPY_TILE words each, at least as many as that takes

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> keys_to: array<u32>;

var<workgroup> starts: array<u32, RADIX>;

@compute @workgroup_size(GROUP)
fn fill(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    for (var i = thread; i < RADIX; i += GROUP) {
        starts[i] = atomicLoad(&state[STATE_HISTOGRAM + i]);
    }
    workgroupBarrier();
    let keys = atomicLoad(&state[STATE_COUNT]);
    let words = (keys + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    let first = (group_id.y * groups.x + group_id.x) * COPY_TILE;
    for (var i = first + thread; i < min(words, first + COPY_TILE); i += GROUP) {
        let present = min(keys - i * KEYS_PER_WORD, KEYS_PER_WORD);
        var ordered = last_start(i * KEYS_PER_WORD);
        var packed = 0u;
        for (var k = 0u; k < present; k++) {
            while (ordered + 1u < RADIX && starts[ordered + 1u] <= i * KEYS_PER_WORD + k) {
                ordered += 1u;
            }
            packed |= raw_of(ordered) << (k * KEY_BITS);
        }
        let at = sort.packed_first / KEYS_PER_WORD + i;
        if (present < KEYS_PER_WORD) {
            packed |= (keys_to[at] >> (present * KEY_BITS)) << (present * KEY_BITS);
        }
        keys_to[at] = packed;
    }
}

// The last digit that starts at or before a position: the one that lies there.
fn last_start(position: u32) -> u32 {
    var low = 0u;
    var high = RADIX;
    while (high - low > 1u) {
        let middle = (low + high) / 2u;
        if (starts[middle] <= position) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// The key whose ordered bits these are: the masks agree in the sign.
fn raw_of(ordered: u32) -> u32 {
    let top = ordered << 24u;
    let sign = 0u - ((top ^ sort.clear.x) >> 31u);
    return (top ^ sort.clear.x ^ (sort.flip.x & sign)) >> 24u;
}
