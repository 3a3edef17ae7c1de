// The first elements that a pass reads and writes in its bindings. Pass 0 reads the source and writes the scratch. Odd
// passes read the scratch and write home, even ones read home and write the scratch.
// So home is where an even number of passes ends.

#if BATCHES
// A pass over a batch accesses elements at indices that are lower by so many. bucket_sweep says why.
var<private> from_shift: u32;
var<private> to_shift: u32;

fn keys_from_first() -> u32 {
    return select(sort.keys_home, 0u, (slot.value & 1u) != 0u) - from_shift;
}

fn keys_to_first() -> u32 {
    return select(0u, sort.keys_home, (slot.value & 1u) != 0u) - to_shift;
}

#if VALUES
fn values_from_first() -> u32 {
    return select(sort.values_home, 0u, (slot.value & 1u) != 0u) - from_shift;
}

fn values_to_first() -> u32 {
    return select(0u, sort.values_home, (slot.value & 1u) != 0u) - to_shift;
}
#endif
#else
fn keys_from_first() -> u32 {
    return select(select(sort.keys_home, 0u, (slot.value & 1u) != 0u), sort.keys_source, slot.value == 0u);
}

fn keys_to_first() -> u32 {
    return select(0u, sort.keys_home, (slot.value & 1u) != 0u);
}

#if VALUES
fn values_from_first() -> u32 {
    return select(sort.values_home, 0u, (slot.value & 1u) != 0u);
}

fn values_to_first() -> u32 {
    return select(0u, sort.values_home, (slot.value & 1u) != 0u);
}
#endif
#endif
