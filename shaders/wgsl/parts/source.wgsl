// Returns a key of the source. Keys of 8 or 16 bits are packed there, several in a word.

fn source_key(index: u32) -> Key {
#if PACKED
    let at = sort.packed_first + index;
    let word = keys_from[at / KEYS_PER_WORD];
    return (word >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS);
#else
    return keys_from[sort.keys_source + index];
#endif
}
