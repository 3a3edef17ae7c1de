// Histograms of the keys that a workgroup reads, in workgroup memory: one for each of the COUNTED lowest digits.

#if HALVES
// Two counts share a word: those of values `v` and `v + RADIX / 2`. A workgroup reads fewer than 2^16 keys, so that no
// count overflows its half.
const ROW: u32 = RADIX / 2u;
#else
const ROW: u32 = RADIX;
#endif
const SLOTS: u32 = COUNTED * ROW;
// The digits of a word, the mask of its highest digit, and the lowest bit of the key in its lowest word.
const WORD_DIGITS: u32 = (32u + RADIX_BITS - 1u) / RADIX_BITS;
const LAST_MASK: u32 = (1u << (32u - (WORD_DIGITS - 1u) * RADIX_BITS)) - 1u;
const FIRST_BIT: u32 = (32u - KEY_BITS % 32u) % 32u;

var<workgroup> counts: array<atomic<u32>, SLOTS>;

// Returns whether the digits are those of whole keys. They differ only if the caller sorts by a window of bits.
fn digits_are_whole() -> bool {
    return sort.digit_count == KEY_DIGITS && sort.digits[0].y == FIRST_BIT && sort.digits[KEY_DIGITS - 1u].z == LAST_MASK;
}

#if HALVES
fn count(d: u32, value: u32) {
    atomicAdd(&counts[d * ROW + value % ROW], 1u << (16u * (value / ROW)));
}

// Returns the count at index `i` of the histograms: of value `i % RADIX` of digit `i / RADIX`.
fn found_at(i: u32) -> u32 {
    return (atomicLoad(&counts[i / RADIX * ROW + i % ROW]) >> (16u * (i / ROW % 2u))) & 0xffffu;
}
#else
fn count(d: u32, value: u32) {
    atomicAdd(&counts[d * ROW + value], 1u);
}

fn found_at(i: u32) -> u32 {
    return atomicLoad(&counts[i]);
}
#endif

// Counts the COUNTED lowest digits of a key. Requires digits_are_whole().
fn count_whole(key: Key) {
#repeat d COUNTED
    let value_@ = (ordered_word(key, d / WORD_DIGITS) >> (FIRST_BIT + d % WORD_DIGITS * RADIX_BITS)) & (RADIX - 1u);
    count(d, value_@);
#end
}

// Counts the lowest `digits` digits of a key.
fn count_digits(key: Key, digits: u32) {
#repeat d COUNTED
    if (d < digits) {
        count(d, digit_of(key, digit_at(d)));
    }
#end
}
