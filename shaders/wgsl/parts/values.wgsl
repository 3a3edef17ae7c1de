// Counts of the values of keys of 8 or 16 bits, in `state`, in the sort's order. VALUE_BLOCK neighboring values are a
// block. First there is the number of keys of each block, in room for VALUE_BLOCK blocks; then that of each value.

const BLOCKS: u32 = RADIX / VALUE_BLOCK;
const VALUE_MASK: u32 = RADIX - 1u;
const STATE_BLOCKS: u32 = STATE_HISTOGRAM;
const STATE_VALUES: u32 = STATE_HISTOGRAM + VALUE_BLOCK;

// Returns the index of a key in the order of all possible keys.
fn ordered_of(raw: u32) -> u32 {
    return ordered_word(raw << (32u - KEY_BITS), 0u) >> (32u - KEY_BITS);
}

// Returns the key with this index. `flip` has no sign bit, so that `clear` alone gives back the sign.
fn raw_of(ordered: u32) -> u32 {
    let top = ordered << (32u - KEY_BITS);
    let sign = 0u - ((top ^ sort.clear.x) >> 31u);
    return (top ^ sort.clear.x ^ (sort.flip.x & sign)) >> (32u - KEY_BITS);
}
