// What the kernels of one pass of the reduce-then-scan sort have in common.

// Keys, the index of the digit, and whether the pass is scheduled and has a tile of this number.
fn pass_work(tile: u32) -> vec3<u32> {
    if (slot.value >= passes()) {
        return vec3(0u);
    }
    let keys = atomicLoad(&state[STATE_COUNT]);
    return vec3(keys, scheduled(slot.value), select(0u, 1u, tile * TILE < keys));
}
