// Writes each index of 32 bits as a number of 64 bits.
//
// in       count_low, count_middle, count_high, count: the number of indices, in the four parts that the kernel begin takes;
//          with SEGMENTED, the number of segments, each of which has sort.k indices; to_first: the first word of the
//          result; sort; indices
// out      words_to: two words for each index: the index, and 0
// launch   any number of threadgroups; each writes COPY_TILE words at a time until none is left

// What the words of the result are made of.
struct Words {
    const device uint* indices;
};

// Returns a word of the result: an index, or its upper word.
inline uint word_at(uint at, const thread Words& words) {
    return at % 2u == 0u ? words.indices[at / 2u] : 0u;
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void widen_indices(
    constant Number& count_low [[buffer(0)]],
    constant Number& count_middle [[buffer(1)]],
    constant Number& count_high [[buffer(2)]],
    constant Number& to_first [[buffer(3)]],
    constant Sort& sort [[buffer(4)]],
    const device uint* count [[buffer(5)]],
    const device uint* indices [[buffer(6)]],
    device uint* words_to [[buffer(7)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const uint there = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
#if SEGMENTED
    const uint all = 2u * there * sort.k;
#else
    const uint all = 2u * there;
#endif
    write_words(all, Words{indices}, words_to + to_first.value, index, group_index(group_id, groups), groups.x * groups.y);
}
