// Returns whether a copy is scheduled. `condition` says after which numbers of passes it is.

fn is_due(condition: u32) -> bool {
    return condition == COPY_ALWAYS || condition == select(COPY_EVEN, COPY_ODD, passes() % 2u == 1u);
}
