// Packs keys of 8 or 16 bits, after passes in which each key lay in the top bits of a word.
//
// in       sort; state: the number of keys and the schedule; even, odd: buffers with one key in each word. The keys are in
//          `even` after an even number of scheduled passes, in `odd` after an odd number
// out      keys_to: packed keys, from key sort.packed_first on. Bytes before the first key and past the last one stay as
//          they are
// launch   at least packed words / COPY_TILE workgroups, rounded up; each writes COPY_TILE packed words

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> even: array<u32>;
@group(0) @binding(3) var<storage, read> odd: array<u32>;
@group(0) @binding(4) var<storage, read_write> keys_to: array<u32>;

@compute @workgroup_size(GROUP)
fn narrow(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let is_odd = passes() % 2u == 1u;
    let keys = atomicLoad(&state[STATE_COUNT]);
    let words = (keys + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    let first = (group_id.y * groups.x + group_id.x) * COPY_TILE;
    for (var i = first + thread; i < min(words, first + COPY_TILE); i += GROUP) {
        let present = min(keys - i * KEYS_PER_WORD, KEYS_PER_WORD);
        let at = sort.packed_first / KEYS_PER_WORD + i;
        var packed = 0u;
        for (var k = 0u; k < present; k++) {
            var key = 0u;
            if (is_odd) {
                key = odd[i * KEYS_PER_WORD + k];
            } else {
                key = even[i * KEYS_PER_WORD + k];
            }
            packed |= (key >> (32u - KEY_BITS)) << (k * KEY_BITS);
        }
        if (present < KEYS_PER_WORD) {
            packed |= (keys_to[at] >> (present * KEY_BITS)) << (present * KEY_BITS);
        }
        keys_to[at] = packed;
    }
}
