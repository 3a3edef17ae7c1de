// The lists of segments, one for each class: the first key of each segment, and its keys; of long ones also the first tile, behind all lists.
// The state counts them, and the tiles of long ones after the last class: as many as there are, which may be more than fit if segments
// overlap.

const NETWORK: u32 = NETWORK_GROUP * NETWORK_KEYS;
const STATE_LISTED: u32 = STATE_HISTOGRAM;
const STATE_TILES: u32 = STATE_HISTOGRAM + CLASSES;
const STATE_OVERFLOWS: u32 = STATE_TILES + 1u;

// Keys of a segment of a class, at least.
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

// The segments on a list.
fn listed(kind: u32) -> u32 {
    return min(atomicLoad(&state[STATE_LISTED + kind]), capacity(kind));
}
