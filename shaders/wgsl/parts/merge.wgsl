// What a merge is: the uniform of its kernels, the order of keys, and the points of the merge path.
//
// A point says how many keys of each run the beginning of the output has. The merge path goes from (0, 0) to the lengths of the
// runs: each step takes the next key of the first or of the second run. A diagonal is the set of all points with the same
// number of keys in the output. The number of keys in the output may exceed 32 bits and then wraps
// around; the kernels use only differences of such numbers, which are exact.

struct Merge {
    // XOR masks for each word of a key, least significant first. `clear` always applies; `flip` also applies if the
    // sign bit is set.
    clear: vec4<u32>,
    flip: vec4<u32>,
    // The bits of each word that the order goes by.
    window: vec4<u32>,
    // The parts of the two runs and of the output that are bound: the first key, and the key after the last.
    first_begin: u32,
    first_end: u32,
    second_begin: u32,
    second_end: u32,
    merged_begin: u32,
    merged_end: u32,
    // Where these parts start in their bindings, in words: the keys, and the values.
    first_keys_word: u32,
    second_keys_word: u32,
    merged_keys_word: u32,
    first_values_word: u32,
    second_values_word: u32,
    merged_values_word: u32,
    // The most keys of each run.
    first_max: u32,
    second_max: u32,
    // The keys before each run in the array whose number of keys is given.
    first_skip: u32,
    second_skip: u32,
    // The indices of the words with the numbers of keys, in the count buffers.
    first_count_index: u32,
    second_count_index: u32,
    // The number of the step. A merge has one step for each combination of parts that can be bound at a time.
    step: u32,
    unused: u32,
}

// Returns the index in `path` of the point at which step `step` begins. It is the end of the step before.
fn point_of(step: u32) -> u32 {
    return 2u * (step % 2u);
}

// Returns the number of tiles of a step that merges `length` keys, behind `made` keys of the output. Tiles start at whole
// words of packed keys.
fn tiles_of(made: u32, length: u32) -> u32 {
    return (made % KEYS_PER_WORD + length + TILE - 1u) / TILE;
}

// Returns how many of the step's keys come before its tile `tile`.
fn keys_before(tile: u32, made: u32, length: u32) -> u32 {
    let end = tile * TILE;
    return min(end - min(end, made % KEYS_PER_WORD), length);
}

// Returns all bits of a key, changed so that they compare as an unsigned number, word by word.
fn mapped(key: Key) -> Key {
    return masked(key, top_word(key));
}

// Returns the key with these mapped bits. `flip` has no sign bit, so that `clear` alone gives back the sign.
fn unmapped(bits: Key) -> Key {
    return masked(bits, top_word(bits) ^ merge.clear[KEY_WORDS - 1u]);
}

// Returns the XOR of a key, or of mapped bits, with the masks. `top` is the top word of the key, whose sign bit decides.
fn masked(key: Key, top: u32) -> Key {
    let sign = 0u - (top >> 31u);
#if KEY_1
    return key ^ merge.clear.x ^ (merge.flip.x & sign);
#endif
#if KEY_2
    return key ^ merge.clear.xy ^ (merge.flip.xy & vec2(sign));
#endif
#if KEY_4
    return key ^ merge.clear ^ (merge.flip & vec4(sign));
#endif
}

// Returns the mapped bits that the order goes by.
fn in_window(bits: Key) -> Key {
#if KEY_1
    return bits & merge.window.x;
#endif
#if KEY_2
    return bits & merge.window.xy;
#endif
#if KEY_4
    return bits & merge.window;
#endif
}

// Returns the bits of a key that the order goes by.
fn ordered(key: Key) -> Key {
    return in_window(mapped(key));
}

// Returns whether the first of two ordered keys is smaller.
fn is_less(one: Key, other: Key) -> bool {
#if KEY_1
    return one < other;
#endif
#if KEY_2
    return select(one.y < other.y, one.x < other.x, one.y == other.y);
#endif
#if KEY_4
    let low = select(one.y < other.y, one.x < other.x, one.y == other.y);
    let middle = select(one.z < other.z, low, one.z == other.z);
    return select(one.w < other.w, middle, one.w == other.w);
#endif
}
