// Gathers elements: each output element is the element of the source that an index names.
//
// in       counted_at: the word of the state with the number of indices; width: words of an element; from_first,
//          indices_first, to_first: the index of the first word in words_from, indices and words_to; sort: sort.k is
//          the number of elements of the source; state; words_from; indices
// out      words_to: an element for each index. An index of sort.k or more gives an element of zeros
// launch   any number of workgroups; each writes COPY_TILE words at a time until none is left
// does     With PACKED, an element has 8 or 16 bits, and `width` is not used. Bytes past the last element stay as they
//          are.

@group(0) @binding(0) var<uniform> counted_at: Number;
@group(0) @binding(1) var<uniform> width: Number;
@group(0) @binding(2) var<uniform> from_first: Number;
@group(0) @binding(3) var<uniform> indices_first: Number;
@group(0) @binding(4) var<uniform> to_first: Number;
@group(0) @binding(5) var<uniform> sort: Sort;
@group(0) @binding(6) var<storage, read_write> state: array<atomic<u32>>;
#if ALIASED
// Some of the buffers are parts of one buffer: all of the bindings must be writable.
@group(0) @binding(7) var<storage, read_write> words_from: array<u32>;
@group(0) @binding(8) var<storage, read_write> indices: array<u32>;
#else
@group(0) @binding(7) var<storage, read> words_from: array<u32>;
@group(0) @binding(8) var<storage, read> indices: array<u32>;
#endif
@group(0) @binding(9) var<storage, read_write> words_to: array<u32>;

// The number of indices.
var<private> elements: u32;

@compute @workgroup_size(GROUP)
fn gather(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    elements = atomicLoad(&state[counted_at.value]);
#if PACKED
    let words = (elements + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
#else
    let words = elements * width.value;
#endif
    write_words(words, thread, group_id, groups);
}

// Returns a word of the output.
fn word_at(at: u32) -> u32 {
#if PACKED
    let present = min(elements - at * KEYS_PER_WORD, KEYS_PER_WORD);
    var packed = 0u;
    for (var k = 0u; k < present; k++) {
        let index = indices[indices_first.value + at * KEYS_PER_WORD + k];
        if (index < sort.k) {
            let word = words_from[from_first.value + index / KEYS_PER_WORD];
            let element = (word >> (index % KEYS_PER_WORD * KEY_BITS)) & ((1u << KEY_BITS) - 1u);
            packed |= element << (k * KEY_BITS);
        }
    }
    if (present < KEYS_PER_WORD) {
        packed |= (words_to[to_first.value + at] >> (present * KEY_BITS)) << (present * KEY_BITS);
    }
    return packed;
#else
    let index = indices[indices_first.value + at / width.value];
    if (index < sort.k) {
        return words_from[from_first.value + index * width.value + at % width.value];
    }
    return 0u;
#endif
}
