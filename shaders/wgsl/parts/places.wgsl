// Where a pass reads and writes: the first one reads the source and writes the scratch, the others go to and fro between scratch and home.

#if BATCHES
// A pass over a batch reads and writes by so many elements before their places: see there.
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
