// What a sort is: the uniform of its kernels, and how they take ordered words and digits from keys.

struct Sort {
    // XOR masks for each word of a key, least significant first. `clear` always applies; `flip` also applies if the
    // sign bit is set.
    clear: vec4<u32>,
    flip: vec4<u32>,
    // The bits of each word that the order goes by.
    window: vec4<u32>,
    digit_count: u32,
    // The largest number of keys that the buffers hold, or of segments to select from.
    max: u32,
    // The index of the word of `count` with the number of keys.
    count_index: u32,
    // The first elements in their bindings, in elements: of packed keys of 8 or 16 bits, of the keys that the first
    // pass reads, and of the keys and values that an even number of passes leaves.
    packed_first: u32,
    keys_source: u32,
    keys_home: u32,
    values_home: u32,
    // The number of keys to select, the largest number of segments, or the number of elements to gather from; 0 if there
    // are none of these.
    k: u32,
    // First the keys before these in the array whose number of keys `count` has. The others are unused.
    portion: vec4<u32>,
    // The tiles that publish nothing, for tests: from, until, every, phase.
    blocked: vec4<u32>,
    // For each digit: its word, its shift, its mask, and 1 if keys that agree in all digits are identical, else 0.
    digits: array<vec4<u32>, MAX_DIGITS>,
}

// Returns one word of a key with the masks applied. Such words compare as unsigned numbers in the key's order.
fn ordered_word(key: Key, word: u32) -> u32 {
    let sign = 0u - (top_word(key) >> 31u);
    return key_word(key, word) ^ sort.clear[word] ^ (sort.flip[word] & sign);
}

// A digit, with the masks that apply to its bits.
struct Digit {
    word: u32,
    shift: u32,
    mask: u32,
    clear: u32,
    flip: u32,
}

fn digit_at(index: u32) -> Digit {
    let place = sort.digits[index];
    let masks = (vec2(sort.clear[place.x], sort.flip[place.x]) >> vec2(place.y)) & vec2(place.z);
    return Digit(place.x, place.y, place.z, masks.x, masks.y);
}

fn digit_of(key: Key, digit: Digit) -> u32 {
    let sign = 0u - (top_word(key) >> 31u);
    return ((key_word(key, digit.word) >> digit.shift) & digit.mask) ^ digit.clear ^ (digit.flip & sign);
}
