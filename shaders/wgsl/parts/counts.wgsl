// Counts of the keys that a group reads: for each of the COUNTED lowest digits, of each value.

#if HALVES
// Two counts share a word, of values that lie a half of RADIX apart: the keys of a group fit 16 bits.
const ROW: u32 = RADIX / 2u;
#else
const ROW: u32 = RADIX;
#endif
const SLOTS: u32 = COUNTED * ROW;
// Digits of a word, the mask of its last one, and where the bits of a key start in its lowest one.
const WORD_DIGITS: u32 = (32u + RADIX_BITS - 1u) / RADIX_BITS;
const LAST_MASK: u32 = (1u << (32u - (WORD_DIGITS - 1u) * RADIX_BITS)) - 1u;
const FIRST_BIT: u32 = (32u - KEY_BITS % 32u) % 32u;

var<workgroup> counts: array<atomic<u32>, SLOTS>;

// Whether digits are those of whole words, as they are unless a range of bits is asked for.
fn digits_are_whole() -> bool {
    return sort.digit_count == KEY_DIGITS && sort.digits[0].y == FIRST_BIT && sort.digits[KEY_DIGITS - 1u].z == LAST_MASK;
}

#if HALVES
fn count(d: u32, value: u32) {
    atomicAdd(&counts[d * ROW + value % ROW], 1u << (16u * (value / ROW)));
}

// The count of a value of a digit, by its place in the histogram.
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

// Counts a key whose digits are.
fn count_whole(key: Key) {
#repeat d COUNTED
    let value_@ = (ordered_word(key, d / WORD_DIGITS) >> (FIRST_BIT + d % WORD_DIGITS * RADIX_BITS)) & (RADIX - 1u);
    count(d, value_@);
#end
}

// Counts the first `digits` of a key's digits.
fn count_digits(key: Key, digits: u32) {
#repeat d COUNTED
    if (d < digits) {
        count(d, digit_of(key, digit_at(d)));
    }
#end
}
