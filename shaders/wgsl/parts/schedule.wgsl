// The schedule of a sort: which digits its passes sort by. Digits that all keys share are left out, and all of them if the keys are
// in order already. Pass `slot` sorts by the digit of the `slot`-th set bit of VARIES; of a sort by buckets the first pass sorts by that of
// the highest one, and the others by those that are left.

fn passes() -> u32 {
    let descents = atomicLoad(&state[STATE_DESCENTS]);
    return countOneBits(atomicLoad(&state[STATE_VARIES])) * min(descents, 1u);
}

// The index of the digit that pass `pass_slot` sorts by. There is one.
fn scheduled(pass_slot: u32) -> u32 {
    var digits = atomicLoad(&state[STATE_VARIES]);
    for (var i = 0u; i < pass_slot; i++) {
        digits &= digits - 1u;
    }
    return countTrailingZeros(digits);
}
#if BUCKETS

// The index of the most significant digit of them.
fn top_scheduled() -> u32 {
    return firstLeadingBit(atomicLoad(&state[STATE_VARIES]));
}
#endif
