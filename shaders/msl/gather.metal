// Gathers elements: each output element is the element of the source that an index names.
//
// in       counted_at: the word of the state with the number of indices; width: words of an element; from_first,
//          indices_first, to_first: the index of the first word in words_from, indices and words_to; sort: sort.k is
//          the number of elements of the source; state; words_from; indices
// out      words_to: an element for each index. An index of sort.k or more gives an element of zeros
// launch   any number of threadgroups; each writes COPY_TILE words at a time until none is left
// does     With PACKED, an element has 8 or 16 bits, and `width` is not used. Bytes past the last element stay as they
//          are.

// What the words of the output are made of.
struct Words {
    const device uint* from;
    const device uint* indices;
    // The number of elements of the source, and of indices.
    uint there;
    uint elements;
    uint width;
};

#if PACKED
// Returns a word of the output, with zeros past the last element.
inline uint word_at(uint at, const thread Words& words) {
    const uint first = at * KEYS_PER_WORD;
    const uint present = min(words.elements - first, KEYS_PER_WORD);
    uint packed = 0u;
    for (uint k = 0u; k < present; k++) {
        const uint i = words.indices[first + k];
        if (i < words.there) {
            const uint element = words.from[i / KEYS_PER_WORD] >> (i % KEYS_PER_WORD * KEY_BITS);
            packed |= (element & ((1u << KEY_BITS) - 1u)) << (k * KEY_BITS);
        }
    }
    return packed;
}
#else
inline uint word_at(uint at, const thread Words& words) {
    const uint i = words.indices[at / words.width];
    return i < words.there ? words.from[i * words.width + at % words.width] : 0u;
}
#endif

[[max_total_threads_per_threadgroup(GROUP)]] kernel void gather(
    constant Number& counted_at [[buffer(0)]],
    constant Number& width [[buffer(1)]],
    constant Number& from_first [[buffer(2)]],
    constant Number& indices_first [[buffer(3)]],
    constant Number& to_first [[buffer(4)]],
    constant Sort& sort [[buffer(5)]],
    device atomic_uint* state [[buffer(6)]],
    const device uint* words_from [[buffer(7)]],
    const device uint* indices [[buffer(8)]],
    device uint* words_to [[buffer(9)]],
    uint index [[thread_index_in_threadgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    const uint elements = load(state + counted_at.value);
    device uint* to = words_to + to_first.value;
    const Words words =
        Words{words_from + from_first.value, indices + indices_first.value, sort.k, elements, width.value};
    const uint group = group_index(group_id, groups);
#if PACKED
    // The last word may be full only in part. One thread writes it, and keeps the other bytes.
    const uint full = elements / KEYS_PER_WORD;
    const uint rest = elements % KEYS_PER_WORD * KEY_BITS;
    if (rest > 0u && group == 0u && index == 0u) {
        to[full] = word_at(full, words) | ((to[full] >> rest) << rest);
    }
    write_words(full, words, to, index, group, groups.x * groups.y);
#else
    write_words(elements * width.value, words, to, index, group, groups.x * groups.y);
#endif
}
