// The table of buckets: where buckets lie, their tiles, and the batches that they are sorted in.
//
//   smaller   for each bucket and each digit but the highest: how many keys of the bucket have a smaller one, for each value
//   batches   for each batch, and one more: its first tile, its first key, tickets; the tiles end where those of the next one start
//   tiles     bucket by bucket, each tile: its first key, its keys, the first tile of its bucket, its bucket

#define LOWER_DIGITS (KEY_DIGITS - 1u)

inline uint smaller_at(uint bucket, uint digit) {
    return (bucket * LOWER_DIGITS + digit) * RADIX;
}

inline uint batch_at(uint batch) {
    return smaller_at(RADIX, 0u) + batch * BATCH_WORDS;
}

// The launches that there are for batches.
inline uint batches(constant Sort& sort) {
    return (max(sort.max, 1u) + BATCH_KEYS - 1u) / BATCH_KEYS;
}

inline uint tile_at(uint tile, constant Sort& sort) {
    return batch_at(batches(sort) + 1u) + tile * TILE_WORDS;
}
