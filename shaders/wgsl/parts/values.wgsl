// The values of keys of 8 or 16 bits, and where the state has how many keys there are of each: first the numbers of keys in blocks of values,
// then those of values, of which those of a block follow each other.

const BLOCKS: u32 = RADIX / VALUE_BLOCK;
const VALUE_MASK: u32 = RADIX - 1u;
const STATE_BLOCKS: u32 = STATE_HISTOGRAM;
const STATE_VALUES: u32 = STATE_HISTOGRAM + VALUE_BLOCK;

// The place of a key in the order of all that there can be.
fn ordered_of(raw: u32) -> u32 {
    return ordered_word(raw << (32u - KEY_BITS), 0u) >> (32u - KEY_BITS);
}

// The key that has it: the masks agree in the sign.
fn raw_of(ordered: u32) -> u32 {
    let top = ordered << (32u - KEY_BITS);
    let sign = 0u - ((top ^ sort.clear.x) >> 31u);
    return (top ^ sort.clear.x ^ (sort.flip.x & sign)) >> (32u - KEY_BITS);
}
