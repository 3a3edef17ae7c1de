// Returns the number of keys, or of segments, of this call. The host records it as three digits of eleven bits each. If the
// most significant digit is COUNT_ON_DEVICE, the number is in the caller's buffer `count`. For a portion of an array, that
// is the number of keys in the whole array, from which this function subtracts the keys before the portion,
// sort.portion.x. The result is limited to what the sort's buffers hold.

fn called_count() -> u32 {
    if (count_high.value == COUNT_ON_DEVICE) {
#if LISTS
        return min(count[sort.count_index], sort.k);
#else
        let all = count[sort.count_index];
        return min(all - min(all, sort.portion.x), sort.max);
#endif
    }
    return count_low.value | (count_middle.value << COUNT_DIGIT_BITS) | (count_high.value << (2u * COUNT_DIGIT_BITS));
}
