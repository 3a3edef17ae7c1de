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
const LOWER_DIGITS: u32 = KEY_DIGITS;

fn counted_digits() -> u32 {
    return sort.digit_count;
}

fn all_buckets() -> u32 {
    return capacity(LONG_CLASS);
}

fn batches() -> u32 {
    return 1u;
}
#else
const LOWER_DIGITS: u32 = KEY_DIGITS - 1u;

fn counted_digits() -> u32 {
    return sort.digit_count - 1u;
}

fn all_buckets() -> u32 {
    return RADIX;
}

// Returns for how many batches the host records launches.
fn batches() -> u32 {
    return (max(sort.max, 1u) + BATCH_KEYS - 1u) / BATCH_KEYS;
}
#endif

fn smaller_at(bucket: u32, digit: u32) -> u32 {
    return (bucket * LOWER_DIGITS + digit) * RADIX;
}

fn batch_at(of_batch: u32) -> u32 {
    return smaller_at(all_buckets(), 0u) + of_batch * BATCH_WORDS;
}

fn tile_at(of_tile: u32) -> u32 {
    return batch_at(batches() + 1u) + of_tile * TILE_WORDS;
}
