// What every kernel knows of the sort: its masks, its digits, and the state that the kernels of one sort share.

struct Sort {
    // Per word of the key, least significant first: what to flip, and what to flip besides if the sign is set.
    clear: vec4<u32>,
    flip: vec4<u32>,
    // The bits of each word that are sorted by.
    window: vec4<u32>,
    // Per digit: word, shift, mask, whether keys that agree in all digits are the same.
    digits: array<vec4<u32>, MAX_DIGITS>,
    digit_count: u32,
    // The most keys that the buffers hold.
    max: u32,
    // Where the number of keys lies in the count buffer.
    count_index: u32,
    // Where the data starts in its binding, in elements: keys of 8 or 16 bits, those that the first pass reads, those that an even
    // number of passes leaves, values.
    packed_first: u32,
    keys_source: u32,
    keys_home: u32,
    values_home: u32,
    // How many keys to select, where not all are sorted; the most segments, where these are.
    k: u32,
    // The tiles that publish nothing, for tests: from, until, every, phase.
    blocked: vec4<u32>,
}

// The ordered bits of one word of a key.
fn ordered_word(key: Key, word: u32) -> u32 {
    let sign = 0u - (top_word(key) >> 31u);
    return key_word(key, word) ^ sort.clear[word] ^ (sort.flip[word] & sign);
}

// A digit, with its part of the masks of its word.
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
