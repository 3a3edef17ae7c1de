// Starts a sort: stores the number of keys in `state`, and clears the rest of it.
//
// in       count_low, count_middle, count_high: the number of keys as three digits of eleven bits. If the highest is
//          COUNT_ON_DEVICE, the number is count[sort.count_index], but at most sort.max; count; sort
// out      state: STATE_WORDS words; word STATE_COUNT is the number of keys, all others are 0
// launch   one threadgroup
// needs    at most sort.max keys, if the number comes as digits

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
