// Writes the words of an output. A kernel with this part defines `Words`, the arguments of `word_at`, and
// `word_at`, which returns a word of the output.

struct Words;
inline uint word_at(uint at, const thread Words& words);

// Writes the first `count` words, COPY_TILE of them at a time.
inline void write_words(uint count, const thread Words& words, device uint* words_to, uint index, uint group, uint groups) {
    for (uint first = group * COPY_TILE; first < count; first += groups * COPY_TILE) {
        const uint end = min(count, first + COPY_TILE);
        for (uint start = first + index; start < end; start += BATCH * GROUP) {
            uint held[BATCH];
            // The thread reads all words before it writes them: the reads do not wait for each other.
#pragma unroll
            for (uint k = 0u; k < BATCH; k++) {
                held[k] = word_at(min(start + k * GROUP, end - 1u), words);
            }
#pragma unroll
            for (uint k = 0u; k < BATCH; k++) {
                if (start + k * GROUP < end) {
                    words_to[start + k * GROUP] = held[k];
                }
            }
        }
    }
}
