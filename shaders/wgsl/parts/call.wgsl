// The number of keys of this call, or of segments: recorded as three digits of ten bits, or read from the caller's buffer.

fn called_count() -> u32 {
    if (count_high.value == COUNT_ON_DEVICE) {
#if LISTS
        return min(count[sort.count_index], sort.k);
#else
        return min(count[sort.count_index], sort.max);
#endif
    }
    return count_low.value | (count_middle.value << COUNT_DIGIT_BITS) | (count_high.value << (2u * COUNT_DIGIT_BITS));
}
