// What a sort is: the uniform of its kernels, their keys and values, and the schedule.

// A small number that the host chose when it recorded the launch.
struct Number {
    uint value;
};

struct Sort {
    // XOR masks for each word of a key, least significant first. `clear` always applies; `flip` also applies if the
    // sign bit is set.
    uint4 clear;
    uint4 flip;
    // The bits of each word that the order goes by.
    uint4 window;
    uint digit_count;
    // The largest number of keys that the buffers hold, or of segments to select from.
    uint max;
    // The index of the word of `count` with the number of keys.
    uint count_index;
    // The first elements in their bindings, in elements: of packed keys of 8 or 16 bits, of the keys that the first
    // pass reads, and of the keys and values that an even number of passes leaves.
    uint packed_first;
    uint keys_source;
    uint keys_home;
    uint values_home;
    // The number of keys to select, the largest number of segments, or the number of elements to gather from; 0 if there
    // are none of these.
    uint k;
    // First the keys before these in the array whose number of keys `count` has. The others are unused.
    uint4 portion;
    // The tiles that publish nothing, for tests: from, until, every, phase.
    uint4 blocked;
    // For each digit: its word, its shift, its mask, and 1 if keys that agree in all digits are identical, else 0.
    uint4 digits[MAX_DIGITS];
};

// A key is KEY_WORDS words of 32 bits, least significant first. A key of 8 or 16 bits is the top bits of one word.
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

// A value is VALUE_WORDS words of 32 bits.
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

// Returns one word of a key with the masks applied. Such words compare as unsigned numbers in the key's order.
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

// Returns the number of keys, or of segments, of this call. The host records it as three digits of eleven bits. If the
// highest of them is COUNT_ON_DEVICE, the number is in the caller's buffer `count`; it is then limited to what the
// sort's buffers hold.
inline uint called_count(uint low, uint middle, uint high, const device uint* count, constant Sort& sort) {
    if (high == COUNT_ON_DEVICE) {
#if LISTS
        return min(count[sort.count_index], sort.k);
#else
        const uint all = count[sort.count_index];
        return min(all - min(all, sort.portion.x), sort.max);
#endif
    }
    return low | (middle << COUNT_DIGIT_BITS) | (high << (2u * COUNT_DIGIT_BITS));
}

// Returns how many passes are scheduled. Digits that all keys share need no pass, and keys that are already in order
// need none at all.
inline uint passes(const device atomic_uint* state) {
    return popcount(load(state + STATE_VARIES)) * min(load(state + STATE_DESCENTS), 1u);
}

// Returns the index of the digit that pass `slot` sorts by: of the `slot`-th set bit of VARIES, which must exist.
inline uint scheduled(uint slot, const device atomic_uint* state) {
    uint digits = load(state + STATE_VARIES);
    for (uint i = 0u; i < slot; i++) {
        digits &= digits - 1u;
    }
    return ctz(digits);
}
#if BUCKETS

// Returns the index of the most significant digit in which keys differ. A pass that partitions sorts by it.
inline uint top_scheduled(const device atomic_uint* state) {
    return 31u - clz(load(state + STATE_VARIES));
}
#endif

#if PACKED
// Returns a key of the source. Keys of 8 or 16 bits are packed there, several in a word.
inline Key source_key(const device uint* keys_from, uint index, constant Sort& sort) {
    const uint at = sort.packed_first + index;
    return (keys_from[at / KEYS_PER_WORD] >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS);
}
#else
inline Key source_key(const device Key* keys_from, uint index, constant Sort& sort) {
    return keys_from[sort.keys_source + index];
}
#endif
