// Counts of the keys that a group reads: for each of the COUNTED lowest digits, of each value.

const SLOTS: u32 = COUNTED * RADIX;
// Digits of a word, and where the bits of a key start in its lowest one.
const WORD_DIGITS: u32 = 32u / RADIX_BITS;
const FIRST_BIT: u32 = (32u - KEY_BITS % 32u) % 32u;

var<workgroup> counts: array<atomic<u32>, SLOTS>;

fn digits_are_bytes() -> bool {
    return sort.digit_count == KEY_DIGITS && sort.digits[0].y == FIRST_BIT && sort.digits[KEY_DIGITS - 1u].z == RADIX - 1u;
}

// Counts a key whose digits are its bytes, as they are unless a range of bits is asked for.
fn count_bytes(key: Key) {
#repeat d COUNTED
    let byte_@ = (ordered_word(key, d / WORD_DIGITS) >> (FIRST_BIT + d % WORD_DIGITS * RADIX_BITS)) & (RADIX - 1u);
    atomicAdd(&counts[d * RADIX + byte_@], 1u);
#end
}

// Counts the first `digits` of a key's digits.
fn count_digits(key: Key, digits: u32) {
#repeat d COUNTED
    if (d < digits) {
        atomicAdd(&counts[d * RADIX + digit_of(key, digit_at(d))], 1u);
    }
#end
}
