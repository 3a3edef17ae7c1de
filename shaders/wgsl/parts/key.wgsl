// A key is KEY_WORDS words of 32 bits, least significant first. A key of 8 or 16 bits is the top bits of one word.

#if KEY_1
alias Key = u32;

fn key_word(key: Key, word: u32) -> u32 {
    return key;
}

fn with_word(key: Key, word: u32, value: u32) -> Key {
    return value;
}

fn top_word(key: Key) -> u32 {
    return key;
}
#endif
#if KEY_2
alias Key = vec2<u32>;

fn key_word(key: Key, word: u32) -> u32 {
    return select(key.x, key.y, word == 1u);
}

fn with_word(key: Key, word: u32, value: u32) -> Key {
    return select(key, vec2(value), vec2(0u, 1u) == vec2(word));
}

fn top_word(key: Key) -> u32 {
    return key.y;
}
#endif
#if KEY_4
alias Key = vec4<u32>;

fn key_word(key: Key, word: u32) -> u32 {
    return key[word];
}

fn with_word(key: Key, word: u32, value: u32) -> Key {
    return select(key, vec4(value), vec4(0u, 1u, 2u, 3u) == vec4(word));
}

fn top_word(key: Key) -> u32 {
    return key.w;
}
#endif
