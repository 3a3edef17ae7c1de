// The bucket table: where buckets, their tiles, and the batches of buckets lie. It has three parts, in words:
//
//   smaller   RADIX words for each bucket and each digit but the highest: word `v` counts the keys of the bucket whose digit is
//             less than `v`
//   batches   BATCH_WORDS words for each batch: its first tile, its first key, and a ticket for each pass from 1 on. One more
//             record follows the last batch: the tiles of a batch end where those of the next record start
//   tiles     TILE_WORDS words for each tile, bucket by bucket: its first key, its number of keys, the first tile of its bucket,
//             its bucket

#define LOWER_DIGITS (KEY_DIGITS - 1u)

inline uint smaller_at(uint bucket, uint digit) {
    return (bucket * LOWER_DIGITS + digit) * RADIX;
}

inline uint batch_at(uint batch) {
    return smaller_at(RADIX, 0u) + batch * BATCH_WORDS;
}

// Returns for how many batches the host records launches.
inline uint batches(constant Sort& sort) {
    return (max(sort.max, 1u) + BATCH_KEYS - 1u) / BATCH_KEYS;
}

inline uint tile_at(uint tile, constant Sort& sort) {
    return batch_at(batches(sort) + 1u) + tile * TILE_WORDS;
}
