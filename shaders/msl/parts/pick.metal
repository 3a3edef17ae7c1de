// The state of a selection by all threadgroups together. "Equal" means equal to the threshold in its known bits.
//
//   STATE_LEFT      how many of the equal keys are selected
//   STATE_SETTLED   1 if that is all of them, so that no lower digit has to be looked at; else 0
//   STATE_BAR       the known ordered bits of the threshold: four words
//   STATE_KNOWN     the mask of these bits: four words

#define STATE_LEFT STATE_TICKETS
#define STATE_SETTLED (STATE_TICKETS + 1u)
#define STATE_BAR (STATE_TICKETS + 2u)
#define STATE_KNOWN (STATE_TICKETS + 6u)
// The keys of a threadgroup of pick_tally and of pick: 32 for each thread, which fit the bits of a word of marks.
#define PICK_TILE (32u * GROUP)

inline uint4 four_words(const device atomic_uint* words) {
    return uint4(load(words), load(words + 1u), load(words + 2u), load(words + 3u));
}
