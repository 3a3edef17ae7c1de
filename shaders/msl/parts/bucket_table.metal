// The bucket table: where buckets, their tiles, and the batches of buckets lie. It has three parts, in words:
//
//   smaller   RADIX words for each bucket and each counted digit: word `v` counts those keys of the bucket that have a
//             digit less than `v`
//   batches   BATCH_WORDS words for each batch: its first tile, its first key, and a ticket for each pass from 1 on. The
//             tiles of a batch end at the first tile of the next batch. BATCH_WORDS more words after the last batch give
//             the end of its tiles
//   tiles     TILE_WORDS words for each tile, bucket by bucket: its first key, its number of keys, the first tile of its bucket,
//             its bucket

#if LISTS
// Here the buckets are the long segments. They are one batch, and are sorted by all digits.
#define LOWER_DIGITS KEY_DIGITS

inline uint counted_digits(constant Sort& sort) {
    return sort.digit_count;
}

inline uint all_buckets(constant Sort& sort) {
    return capacity(LONG_CLASS, sort);
}

inline uint batches(constant Sort&) {
    return 1u;
}
#else
#define LOWER_DIGITS (KEY_DIGITS - 1u)

inline uint counted_digits(constant Sort& sort) {
    return sort.digit_count - 1u;
}

inline uint all_buckets(constant Sort&) {
    return RADIX;
}

// Returns for how many batches the host records launches.
inline uint batches(constant Sort& sort) {
    return (max(sort.max, 1u) + BATCH_KEYS - 1u) / BATCH_KEYS;
}
#endif

inline uint smaller_at(uint bucket, uint digit) {
    return (bucket * LOWER_DIGITS + digit) * RADIX;
}

inline uint batch_at(uint batch, constant Sort& sort) {
    return smaller_at(all_buckets(sort), 0u) + batch * BATCH_WORDS;
}

inline uint tile_at(uint tile, constant Sort& sort) {
    return batch_at(batches(sort) + 1u, sort) + tile * TILE_WORDS;
}
