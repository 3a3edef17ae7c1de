// The lists of segments, one for each class of lengths. An entry is two words: the segment's first key and its number
// of keys. Behind all lists is one word for each long segment: its first tile.
//
// `state` counts the entries of each list, and then the tiles of all long segments. Overlapping segments can make these
// counts larger than what the lists hold.

const NETWORK: u32 = NETWORK_GROUP * NETWORK_KEYS;
const STATE_LISTED: u32 = STATE_HISTOGRAM;
const STATE_TILES: u32 = STATE_HISTOGRAM + CLASSES;
const STATE_OVERFLOWS: u32 = STATE_TILES + 1u;

// Returns the smallest number of keys of a segment of this class.
fn least_keys(kind: u32) -> u32 {
    if (kind == LONG_CLASS) {
        return max(SMALL_BUCKET, NETWORK) + 1u;
    }
    return select((NETWORK_KEYS << (max(kind, 1u) - 1u)) + 1u, 2u, kind == 0u);
}

fn capacity(kind: u32) -> u32 {
    return min(sort.max / least_keys(kind), sort.k);
}

fn list_at(kind: u32) -> u32 {
    var at = 0u;
    for (var k = 0u; k < kind; k++) {
        at += 2u * capacity(k);
    }
    return at;
}

fn first_tile_at(segment: u32) -> u32 {
    return list_at(CLASSES) + segment;
}

// Returns the number of entries on the list of this class.
fn listed(kind: u32) -> u32 {
    return min(atomicLoad(&state[STATE_LISTED + kind]), capacity(kind));
}
