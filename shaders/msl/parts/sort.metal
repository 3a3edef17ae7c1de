// What the kernels share: the sort, its keys and values, and the schedule.

// A small number that the host chose when it recorded the launch.
struct Number {
    uint value;
};

struct Sort {
    // Per word of the key, least significant first: what to flip, and what to flip besides if the sign is set.
    uint4 clear;
    uint4 flip;
    // The bits of each word that are sorted by.
    uint4 window;
    // Per digit: word, shift, mask, whether keys that agree in all digits are the same.
    uint4 digits[MAX_DIGITS];
    uint digit_count;
    // The most keys that the buffers hold.
    uint max;
    // Where the number of keys lies in the count buffer.
    uint count_index;
    // Where the data starts in its binding, in elements: keys of 8 or 16 bits, those that the first pass reads, those that an even
    // number of passes leaves, values.
    uint packed_first;
    uint keys_source;
    uint keys_home;
    uint values_home;
    uint k;
    // The tiles that publish nothing, for tests: from, until, every, phase.
    uint4 blocked;
};

// A key of KEY_WORDS words of 32 bits. A key of 8 or 16 bits is the top of one word.
#if KEY_1
typedef uint Key;

inline uint key_word(Key key, uint) {
    return key;
}

inline uint top_word(Key key) {
    return key;
}

inline Key with_word(Key, uint, uint value) {
    return value;
}
#endif
#if KEY_2
typedef uint2 Key;

inline uint key_word(Key key, uint word) {
    return word == 1u ? key.y : key.x;
}

inline uint top_word(Key key) {
    return key.y;
}

inline Key with_word(Key key, uint word, uint value) {
    return word == 1u ? uint2(key.x, value) : uint2(value, key.y);
}
#endif
#if KEY_4
typedef uint4 Key;

inline uint key_word(Key key, uint word) {
    return key[word];
}

inline uint top_word(Key key) {
    return key.w;
}

inline Key with_word(Key key, uint word, uint value) {
    key[word] = value;
    return key;
}
#endif

// A value of VALUE_WORDS words of 32 bits.
#if VALUE_1
typedef uint Value;
#endif
#if VALUE_2
typedef uint2 Value;
#endif
#if VALUE_3
typedef packed_uint3 Value;
#endif
#if VALUE_4
typedef uint4 Value;
#endif

inline uint load(const device atomic_uint* word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

inline void store(device atomic_uint* word, uint value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}

inline uint load_shared(const threadgroup atomic_uint* word) {
    return atomic_load_explicit(word, memory_order_relaxed);
}

inline void store_shared(threadgroup atomic_uint* word, uint value) {
    atomic_store_explicit(word, value, memory_order_relaxed);
}

// The ordered bits of one word of a key.
inline uint ordered_word(Key key, uint word, constant Sort& sort) {
    const uint sign = 0u - (top_word(key) >> 31u);
    return key_word(key, word) ^ sort.clear[word] ^ (sort.flip[word] & sign);
}

// A digit, with the masks of its word.
struct Digit {
    uint word;
    uint shift;
    uint mask;
    uint clear;
    uint flip;
};

inline Digit digit_at(uint index, constant Sort& sort) {
    const uint4 place = sort.digits[index];
    return Digit{place.x, place.y, place.z, sort.clear[place.x], sort.flip[place.x]};
}

inline uint digit_of(Key key, const thread Digit& digit) {
    const uint sign = 0u - (top_word(key) >> 31u);
    return ((key_word(key, digit.word) ^ digit.clear ^ (digit.flip & sign)) >> digit.shift) & digit.mask;
}

// The number of keys of this call: recorded as three digits of ten bits, or read from the caller's buffer.
inline uint called_count(uint low, uint middle, uint high, const device uint* count, constant Sort& sort) {
    if (high == COUNT_ON_DEVICE) {
        return min(count[sort.count_index], sort.max);
    }
    return low | (middle << COUNT_DIGIT_BITS) | (high << (2u * COUNT_DIGIT_BITS));
}

// The schedule: how many passes there are. Digits that all keys share are left out, and all of them if the keys are in order already.
inline uint passes(const device atomic_uint* state) {
    return popcount(load(state + STATE_VARIES)) * min(load(state + STATE_DESCENTS), 1u);
}

// The index of the digit that pass `slot` sorts by: the `slot`-th set bit of VARIES. There is one.
inline uint scheduled(uint slot, const device atomic_uint* state) {
    uint digits = load(state + STATE_VARIES);
    for (uint i = 0u; i < slot; i++) {
        digits &= digits - 1u;
    }
    return ctz(digits);
}
#if BUCKETS

// The index of the most significant digit in which keys differ: that of the first pass, if it partitions. There is one.
inline uint top_scheduled(const device atomic_uint* state) {
    return 31u - clz(load(state + STATE_VARIES));
}
#endif

#if PACKED
// A key of the source, where keys of 8 or 16 bits lie packed in words.
inline Key source_key(const device uint* keys_from, uint index, constant Sort& sort) {
    const uint at = sort.packed_first + index;
    return (keys_from[at / KEYS_PER_WORD] >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS);
}
#else
inline Key source_key(const device Key* keys_from, uint index, constant Sort& sort) {
    return keys_from[sort.keys_source + index];
}
#endif
