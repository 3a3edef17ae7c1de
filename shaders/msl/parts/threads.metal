// The threads of a threadgroup, in simdgroups of 32 lanes.

#define LANES 32u

// The numbers of this thread, of its simdgroup, and of its lane.
struct Thread {
    uint index;
    uint simdgroup;
    uint lane;
    // How many items each thread holds: at most KEYS.
    uint held;
};

// Returns the index in the tile of a thread's item. A simdgroup owns a chunk of `held` * 32 keys: its lanes take 32
// neighboring keys for each of their items. So the order of (simdgroup, item, lane) is the order of the tile.
inline uint item_index(const thread Thread& me, uint item) {
    return (me.simdgroup * me.held + item) * LANES + me.lane;
}

inline uint ballot(bool vote) {
    return static_cast<uint>(static_cast<simd_vote::vote_t>(simd_ballot(vote)));
}
