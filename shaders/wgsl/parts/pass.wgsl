// Shared by the kernels of a reduce-then-scan pass: upsweep, spine and downsweep.

// Returns the number of keys, the index of the pass's digit, and whether there is work. That is 1 if the pass is
// scheduled and `tile` has keys, else 0.
fn pass_work(tile: u32) -> vec3<u32> {
    if (slot.value >= passes()) {
        return vec3(0u);
    }
    let keys = atomicLoad(&state[STATE_COUNT]);
    return vec3(keys, scheduled(slot.value), select(0u, 1u, tile * TILE < keys));
}
