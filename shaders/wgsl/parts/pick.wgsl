// What the kernels that select by all groups together share: how many are still to be selected of the keys that are the same as the bar, whether
// those are all of these, the bar, and which of its bits are known.

const STATE_LEFT: u32 = STATE_TICKETS;
const STATE_SETTLED: u32 = STATE_TICKETS + 1u;
const STATE_BAR: u32 = STATE_TICKETS + 2u;
const STATE_KNOWN: u32 = STATE_TICKETS + 6u;
// Keys of which a group counts, and then marks, which it keeps: 32 for each thread.
const PICK_TILE: u32 = 32u * GROUP;

fn four_words(at: u32) -> vec4<u32> {
    return vec4(
        atomicLoad(&state[at]),
        atomicLoad(&state[at + 1u]),
        atomicLoad(&state[at + 2u]),
        atomicLoad(&state[at + 3u]),
    );
}
