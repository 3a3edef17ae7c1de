// Marks each key below the threshold of a selection, and each key equal to the threshold, with one bit.

// What the threadgroup selects from.
struct Source {
    const device Key* keys;
#if NESTED
    const device uint* candidates;
#endif
};

// Returns the position in the source of a key of the segment.
inline uint position_of(uint index, const thread Source& source) {
#if NESTED
    return source.candidates[index];
#else
    return index;
#endif
}

// Marks the keys of a chunk: 32 * 32 keys, from index `first` on, up to index `end`. Each lane gets the marks of 32
// neighboring keys, from key 32 * lane of the chunk on. The first word marks the keys below the threshold, the second word
// those that equal it.
inline uint2 marks_of(
    const thread Thread& me,
    const thread Source& source,
    uint first,
    uint end,
    uint4 bar,
    uint4 known,
    constant Sort& sort) {
    uint2 marks = uint2(0u, 0u);
    // In each step, the lanes look at 32 neighboring keys. The lane with the number of the step keeps their marks.
    for (uint start = 0u; start < LANES && first + start * LANES < end; start += BATCH) {
        Key batch[BATCH];
        // The lane loads all keys before it compares them: the loads do not wait for each other.
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            const uint at = min(first + (start + k) * LANES + me.lane, end - 1u);
            batch[k] = source_key(source.keys, position_of(at, source), sort);
        }
#pragma unroll
        for (uint k = 0u; k < BATCH; k++) {
            const uint step = start + k;
            uint order = ABOVE;
            if (first + step * LANES + me.lane < end) {
                order = compared(batch[k], bar, known, sort);
            }
            const uint below = ballot(order == BELOW);
            const uint same = ballot(order == SAME);
            if (me.lane == step) {
                marks = uint2(below, same);
            }
        }
    }
    return marks;
}
