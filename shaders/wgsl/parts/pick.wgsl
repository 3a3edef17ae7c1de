// The state of a selection by all workgroups together. "Equal" means equal to the threshold in its known bits.
//
//   STATE_LEFT      how many of the equal keys are selected
//   STATE_SETTLED   1 if that is all of them, so that no lower digit has to be looked at; else 0
//   STATE_BAR       the known ordered bits of the threshold: four words
//   STATE_KNOWN     the mask of these bits: four words

const STATE_LEFT: u32 = STATE_TICKETS;
const STATE_SETTLED: u32 = STATE_TICKETS + 1u;
const STATE_BAR: u32 = STATE_TICKETS + 2u;
const STATE_KNOWN: u32 = STATE_TICKETS + 6u;
// The keys of a workgroup of pick_tally and of pick: 32 for each thread, which fit the bits of a word of marks.
const PICK_TILE: u32 = 32u * GROUP;

fn four_words(at: u32) -> vec4<u32> {
    return vec4(
        atomicLoad(&state[at]),
        atomicLoad(&state[at + 1u]),
        atomicLoad(&state[at + 2u]),
        atomicLoad(&state[at + 3u]),
    );
}
