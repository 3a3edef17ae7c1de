// Counts of the values of keys of 8 or 16 bits, in `state`, in the sort's order. VALUE_BLOCK neighboring values are a
// block. First there is the number of keys of each block, in room for VALUE_BLOCK blocks; then that of each value.

#define BLOCKS (RADIX / VALUE_BLOCK)
#define VALUE_MASK (RADIX - 1u)
#define STATE_BLOCKS STATE_HISTOGRAM
#define STATE_VALUES (STATE_HISTOGRAM + VALUE_BLOCK)

// Returns a key's index in the order of all possible keys, or the key with this index: both apply the same masks.
// `sign` is the key's sign bit.
inline uint toggled(uint value, constant Sort& sort, uint sign) {
    return value ^ ((sort.clear.x ^ (sort.flip.x & (0u - sign))) >> (32u - KEY_BITS));
}

inline uint ordered_of(uint raw, constant Sort& sort) {
    return toggled(raw, sort, raw >> (KEY_BITS - 1u));
}

inline uint raw_of(uint ordered, constant Sort& sort) {
    return toggled(ordered, sort, (ordered >> (KEY_BITS - 1u)) ^ (sort.clear.x >> 31u));
}
