// `board` is the threadgroup memory in which a tile is sorted. It holds three things in turn, each from word 0
// on: the histograms of the simdgroups, then a slice of the tile's keys in their new order, then the values of that slice.
//
// Keys and values are stored word by word: word `w` of element `i` is board[w * SLICE + i].

inline void put_key(threadgroup atomic_uint* place, Key key) {
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        store_shared(place + word * SLICE, key_word(key, word));
    }
}

inline Key key_at(const threadgroup atomic_uint* place) {
#if KEY_1
    return load_shared(place);
#endif
#if KEY_2
    return uint2(load_shared(place), load_shared(place + SLICE));
#endif
#if KEY_4
    return uint4(load_shared(place), load_shared(place + SLICE), load_shared(place + 2u * SLICE), load_shared(place + 3u * SLICE));
#endif
}
#if VALUES

inline void put_value(threadgroup atomic_uint* place, Value value) {
#if VALUE_1
    store_shared(place, value);
#else
    store_shared(place, value.x);
    store_shared(place + SLICE, value.y);
#endif
#if VALUE_3
    store_shared(place + 2u * SLICE, value.z);
#endif
#if VALUE_4
    store_shared(place + 2u * SLICE, value.z);
    store_shared(place + 3u * SLICE, value.w);
#endif
}

inline Value value_at(const threadgroup atomic_uint* place) {
#if VALUE_1
    return load_shared(place);
#endif
#if VALUE_2
    return uint2(load_shared(place), load_shared(place + SLICE));
#endif
#if VALUE_3
    return packed_uint3(load_shared(place), load_shared(place + SLICE), load_shared(place + 2u * SLICE));
#endif
#if VALUE_4
    return uint4(load_shared(place), load_shared(place + SLICE), load_shared(place + 2u * SLICE), load_shared(place + 3u * SLICE));
#endif
}
#endif
