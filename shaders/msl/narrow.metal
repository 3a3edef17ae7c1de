// Packs keys of 8 or 16 bits, after passes in which each key lay in the top bits of a word.
//
// in       sort; state: the number of keys and the schedule; even, odd: buffers with one key in each word. The keys are in
//          `even` after an even number of scheduled passes, in `odd` after an odd number
// out      keys_to: packed keys, from key sort.packed_first on. Bytes before the first key and past the last one stay as
//          they are
// launch   at least packed words / COPY_TILE threadgroups, rounded up; each writes COPY_TILE packed words

[[max_total_threads_per_threadgroup(GROUP)]] kernel void narrow(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint* even [[buffer(2)]],
    const device uint* odd [[buffer(3)]],
    device uint* keys_to [[buffer(4)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const device uint* keys_from = passes(state) % 2u == 1u ? odd : even;
    const uint keys = load(state + STATE_COUNT);
    const uint words = (keys + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    const uint first = group_index(group_id, groups) * COPY_TILE;
    for (uint i = first + index; i < min(words, first + COPY_TILE); i += GROUP) {
        const uint present = min(keys - i * KEYS_PER_WORD, KEYS_PER_WORD);
        const uint at = sort.packed_first / KEYS_PER_WORD + i;
        uint packed = 0u;
        for (uint k = 0u; k < present; k++) {
            packed |= (keys_from[i * KEYS_PER_WORD + k] >> (32u - KEY_BITS)) << (k * KEY_BITS);
        }
        if (present < KEYS_PER_WORD) {
            packed |= (keys_to[at] >> (present * KEY_BITS)) << (present * KEY_BITS);
        }
        keys_to[at] = packed;
    }
}
