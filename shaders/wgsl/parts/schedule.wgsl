// The schedule of a sort: which digits its passes sort by. A digit that has the same value in all keys needs no pass, and
// keys that are already in order need no pass at all. Bit `d` of STATE_VARIES is set if digit number `d` differs between
// keys. Pass `i` sorts by the digit whose bit has `i` set bits below it. An MSD hybrid differs: pass 0 sorts by the digit of
// the highest set bit, and the passes after it by the others, from the lowest on.

fn passes() -> u32 {
    let descents = atomicLoad(&state[STATE_DESCENTS]);
    return countOneBits(atomicLoad(&state[STATE_VARIES])) * min(descents, 1u);
}

// Returns the index of the digit that pass `pass_slot` sorts by. STATE_VARIES must have more than `pass_slot` set bits.
fn scheduled(pass_slot: u32) -> u32 {
    var digits = atomicLoad(&state[STATE_VARIES]);
    for (var i = 0u; i < pass_slot; i++) {
        digits &= digits - 1u;
    }
    return countTrailingZeros(digits);
}
#if BUCKETS

// Returns the index of the most significant of the digits to sort by.
fn top_scheduled() -> u32 {
    return firstLeadingBit(atomicLoad(&state[STATE_VARIES]));
}
#endif
