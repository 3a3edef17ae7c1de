// The threads of a group: simdgroups of 32 lanes.

#define LANES 32u

// Which thread this is.
struct Thread {
    uint index;
    uint simdgroup;
    uint lane;
    // How many items it holds, as all do: at most KEYS.
    uint held;
};

// The position in the tile of a thread's item: a simdgroup owns a stretch of 32 times as many keys as each thread holds, and takes them lane
// by lane, so that the order of (simdgroup, item, lane) is the order of the tile.
inline uint item_index(const thread Thread& me, uint item) {
    return (me.simdgroup * me.held + item) * LANES + me.lane;
}

inline uint ballot(bool vote) {
    return static_cast<uint>(static_cast<simd_vote::vote_t>(simd_ballot(vote)));
}
