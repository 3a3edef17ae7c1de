// Counts of whole keys of 8 or 16 bits, in `state`: VALUE_BLOCK words for the numbers of keys in blocks of VALUE_BLOCK
// values, then a word for each value, in the sort's order.

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
