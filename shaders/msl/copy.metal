// Copies elements, if the number of scheduled passes is odd or even as `when` asks.
//
// in       when: COPY_ODD (copy after an odd number of passes), COPY_EVEN (after an even one) or COPY_ALWAYS; width:
//          the number of words of an element; from_first, to_first: the index of the first word in words_from and in words_to; state:
//          the number of elements and the schedule; words_from
// out      words_to: (number of elements) * width words, from word to_first on
// launch   any number of threadgroups; each copies COPY_TILE words at a time until no words are left

[[max_total_threads_per_threadgroup(GROUP)]] kernel void copy(
    constant Number& when [[buffer(0)]],
    constant Number& width [[buffer(1)]],
    constant Number& from_first [[buffer(2)]],
    constant Number& to_first [[buffer(3)]],
    device atomic_uint* state [[buffer(4)]],
    const device uint* words_from [[buffer(5)]],
    device uint* words_to [[buffer(6)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const uint parity = passes(state) % 2u == 1u ? COPY_ODD : COPY_EVEN;
    if (when.value != COPY_ALWAYS && when.value != parity) {
        return;
    }
    const uint words = load(state + STATE_COUNT) * width.value;
    for (uint first = group_index(group_id, groups) * COPY_TILE; first < words; first += groups.x * groups.y * COPY_TILE) {
        for (uint i = first + index; i < min(words, first + COPY_TILE); i += GROUP) {
            words_to[to_first.value + i] = words_from[from_first.value + i];
        }
    }
}
