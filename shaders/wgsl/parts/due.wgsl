// Whether a step that follows the passes is to be taken.

fn is_due(condition: u32) -> bool {
    return condition == COPY_ALWAYS || condition == select(COPY_EVEN, COPY_ODD, passes() % 2u == 1u);
}
