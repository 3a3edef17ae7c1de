// Writes the words of an output. A kernel with this part binds `to_first` and `words_to`, and has a function `word_at`, which returns a word of the
// output.

// Writes the first `words` words, COPY_TILE of them at a time.
fn write_words(words: u32, thread: u32, group_id: vec3<u32>, groups: vec3<u32>) {
    let step = groups.x * groups.y * COPY_TILE;
    for (var first = (group_id.y * groups.x + group_id.x) * COPY_TILE; first < words; first += step) {
        let end = min(words, first + COPY_TILE);
        for (var start = first + thread; start < end; start += BATCH * GROUP) {
            // The thread reads BATCH words before it writes them: the reads do not wait for each other.
            var held: array<u32, BATCH>;
#repeat k BATCH
            held[k] = word_at(min(start + k * GROUP, end - 1u));
#end
#repeat k BATCH
            if (start + k * GROUP < end) {
                words_to[to_first.value + start + k * GROUP] = held[k];
            }
#end
        }
    }
}
