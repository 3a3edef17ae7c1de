// Returns whether the sort runs a copy. `condition` is COPY_ALWAYS, or the parity of the number of passes after which the
// copy runs: COPY_ODD or COPY_EVEN.

fn is_due(condition: u32) -> bool {
    return condition == COPY_ALWAYS || condition == select(COPY_EVEN, COPY_ODD, passes() % 2u == 1u);
}
