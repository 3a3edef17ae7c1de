// Begins a sort: notes how many keys there are, and forgets the sort before.
//
// in       count_low, count_middle, count_high: the number of keys, or that it lies in `count`; sort
// out      state
// launch   one group
// needs    a number of keys of at most sort.max, if it was recorded

[[max_total_threads_per_threadgroup(GROUP)]] kernel void begin(
    constant Number& count_low [[buffer(0)]],
    constant Number& count_middle [[buffer(1)]],
    constant Number& count_high [[buffer(2)]],
    constant Sort& sort [[buffer(3)]],
    const device uint* count [[buffer(4)]],
    device uint* state [[buffer(5)]],
    uint index [[thread_index_in_threadgroup]]) {
    for (uint i = index; i < STATE_WORDS; i += GROUP) {
        uint word = 0u;
        if (i == STATE_COUNT) {
            word = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
        }
        state[i] = word;
    }
}
