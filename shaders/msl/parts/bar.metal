// The threshold of a selection (`bar`): the known ordered bits of the last key to be selected. `known` has a 1 for
// each known bit.

#define BELOW 0u
#define SAME 1u
#define ABOVE 2u

// Compares a key with the threshold in the known bits.
inline uint compared(Key key, uint4 bar, uint4 known, constant Sort& sort) {
    uint order = SAME;
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        const uint bits = ordered_word(key, word, sort) & known[word];
        if (bits != bar[word]) {
            order = bits < bar[word] ? BELOW : ABOVE;
        }
    }
    return order;
}
