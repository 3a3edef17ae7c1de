// The workgroup memory in which a tile is sorted. The same words hold three things at different times: first the histograms
// of the subgroups, then a slice of the tile's keys in their new order, then the values of that slice, and so on for each
// slice.
//
// Every word is atomic: lanes add to the histograms at the same time, and WGSL cannot view one array both
// as atomic and as plain words.

var<workgroup> board: array<atomic<u32>, BOARD>;

fn put_word(index: u32, word: u32) {
    atomicStore(&board[index], word);
}

fn word_at(index: u32) -> u32 {
    return atomicLoad(&board[index]);
}

// Keys and values are stored word by word: word `w` of element `i` is board[w * SLICE + i].
#if KEY_1
fn put_key(index: u32, key: Key) {
    put_word(index, key);
}

fn key_at(index: u32) -> Key {
    return word_at(index);
}
#endif
#if KEY_2
fn put_key(index: u32, key: Key) {
    put_word(index, key.x);
    put_word(SLICE + index, key.y);
}

fn key_at(index: u32) -> Key {
    return vec2(word_at(index), word_at(SLICE + index));
}
#endif
#if KEY_4
fn put_key(index: u32, key: Key) {
    put_word(index, key.x);
    put_word(SLICE + index, key.y);
    put_word(2u * SLICE + index, key.z);
    put_word(3u * SLICE + index, key.w);
}

fn key_at(index: u32) -> Key {
    return vec4(word_at(index), word_at(SLICE + index), word_at(2u * SLICE + index), word_at(3u * SLICE + index));
}
#endif

#if VALUE_1
fn put_value(index: u32, value: Value) {
    put_word(index, value);
}

fn value_at(index: u32) -> Value {
    return word_at(index);
}
#endif
#if VALUE_2
fn put_value(index: u32, value: Value) {
    put_word(index, value.x);
    put_word(SLICE + index, value.y);
}

fn value_at(index: u32) -> Value {
    return vec2(word_at(index), word_at(SLICE + index));
}
#endif
#if VALUE_3
fn put_value(index: u32, value: Value) {
    put_word(index, value.x);
    put_word(SLICE + index, value.y);
    put_word(2u * SLICE + index, value.z);
}

fn value_at(index: u32) -> Value {
    return Value(word_at(index), word_at(SLICE + index), word_at(2u * SLICE + index));
}
#endif
#if VALUE_4
fn put_value(index: u32, value: Value) {
    put_word(index, value.x);
    put_word(SLICE + index, value.y);
    put_word(2u * SLICE + index, value.z);
    put_word(3u * SLICE + index, value.w);
}

fn value_at(index: u32) -> Value {
    return vec4(word_at(index), word_at(SLICE + index), word_at(2u * SLICE + index), word_at(3u * SLICE + index));
}
#endif
