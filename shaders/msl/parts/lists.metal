// The lists of segments, one for each class of lengths. An entry is two words: the segment's first key and its number
// of keys. Behind all lists is one word for each long segment: its first tile.
//
// `state` counts the entries of each list, and then the tiles of all long segments. Overlapping segments can make these
// counts larger than what the lists hold.

#define NETWORK (NETWORK_GROUP * NETWORK_KEYS)
#define STATE_LISTED STATE_HISTOGRAM
#define STATE_TILES (STATE_HISTOGRAM + CLASSES)
#define STATE_OVERFLOWS (STATE_TILES + 1u)

// Returns the smallest number of keys of a segment of this class.
inline uint least_keys(uint kind) {
    if (kind == LONG_CLASS) {
        return max(SMALL_BUCKET, NETWORK) + 1u;
    }
    return kind == 0u ? 2u : (NETWORK_KEYS << (kind - 1u)) + 1u;
}

inline uint capacity(uint kind, constant Sort& sort) {
    return min(sort.max / least_keys(kind), sort.k);
}

inline uint list_at(uint kind, constant Sort& sort) {
    uint at = 0u;
    for (uint k = 0u; k < kind; k++) {
        at += 2u * capacity(k, sort);
    }
    return at;
}

inline uint first_tile_at(uint segment, constant Sort& sort) {
    return list_at(CLASSES, sort) + segment;
}

// Returns the number of entries on the list of this class.
inline uint listed(uint kind, const device atomic_uint* state, constant Sort& sort) {
    return min(load(state + STATE_LISTED + kind), capacity(kind, sort));
}
