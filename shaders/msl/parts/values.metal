// The values of keys of 8 or 16 bits, and where the state has how many keys there are of each: first the numbers of keys in blocks of values,
// then those of values, of which those of a block follow each other.

#define BLOCKS (RADIX / VALUE_BLOCK)
#define VALUE_MASK (RADIX - 1u)
#define STATE_BLOCKS STATE_HISTOGRAM
#define STATE_VALUES (STATE_HISTOGRAM + VALUE_BLOCK)

// The bits between a key, as it lies, and its place in the order of all that there can be: the masks agree in the sign.
inline uint toggled(uint value, constant Sort& sort, uint sign) {
    return value ^ ((sort.clear.x ^ (sort.flip.x & (0u - sign))) >> (32u - KEY_BITS));
}

inline uint ordered_of(uint raw, constant Sort& sort) {
    return toggled(raw, sort, raw >> (KEY_BITS - 1u));
}

inline uint raw_of(uint ordered, constant Sort& sort) {
    return toggled(ordered, sort, (ordered >> (KEY_BITS - 1u)) ^ (sort.clear.x >> 31u));
}
