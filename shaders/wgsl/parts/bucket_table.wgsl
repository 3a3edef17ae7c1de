// The table of buckets: where buckets lie, their tiles, and the batches that they are sorted in.
//
//   smaller   for each bucket and each digit but the highest: how many keys of the bucket have a smaller one, for each value
//   batches   for each batch, and one more: its first tile, its first key, tickets; the tiles end where those of the next one start
//   tiles     bucket by bucket, each tile: its first key, its keys, the first tile of its bucket, its bucket

#if LISTS
// Long segments are buckets of one batch, which are sorted by all digits.
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

// The launches that there are for batches.
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
