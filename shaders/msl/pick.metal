// Writes the selected keys and their positions, in the order of the positions.
//
// in       sort; state: the number of keys, the threshold, and how many keys that equal it are selected; keys_from: the
//          source; status: for each tile, how many keys of earlier tiles lie below the threshold, and how many equal it
// out      indices_to, from sort.values_home on, and picked: a position and a key for each selected key
// launch   at least keys / PICK_TILE threadgroups, rounded up; each looks at PICK_TILE keys
// does     Each simdgroup marks the keys of a chunk (see parts/marks.metal): each lane gets the marks of 32 neighboring
//          keys. The threadgroup sums up the marks over the lanes. Then the simdgroup writes the selected keys in 32
//          steps. In each step, all lanes take the marks of one lane, and each lane writes the key of its own bit: so
//          neighboring lanes write neighboring words.
// needs    simdgroups of 32 lanes

[[max_total_threads_per_threadgroup(GROUP)]] kernel void pick(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint2* status [[buffer(2)]],
    const device Key* keys_from [[buffer(3)]],
    device uint* indices_to [[buffer(4)]],
    device Key* picked [[buffer(5)]],
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup uint sums[SIMDGROUPS];

    const uint keys = load(state + STATE_COUNT);
    const uint tile = group_index(group_id, groups);
    const uint tile_first = tile * PICK_TILE;
    if (tile_first >= keys) {
        return;
    }
    const Thread me = Thread{index, simdgroup, lane, LANES};
    Source source;
    source.keys = keys_from;
    const uint4 bar = four_words(state + STATE_BAR);
    const uint4 known = four_words(state + STATE_KNOWN);
    const uint first = tile_first + simdgroup * LANES * LANES;
    const uint2 marks = marks_of(me, source, first, keys, bar, known, sort);

    // One sum carries both counts: neither exceeds PICK_TILE.
    const uint counts = popcount(marks.x) | (popcount(marks.y) << 16u);
    const uint before = sums_before(simdgroup, lane, counts, sums).x;
    const uint wanted = load(state + STATE_LEFT);
    const uint2 tile_before = status[tile];
    const uint earlier_lanes = (1u << lane) - 1u;
    for (uint step = 0u; step < LANES; step++) {
        const ushort owner = static_cast<ushort>(step);
        const uint below = simd_shuffle(marks.x, owner);
        const uint same = simd_shuffle(marks.y, owner);
        // The same for all lanes: none of these 32 keys is selected.
        if ((below | same) == 0u) {
            continue;
        }
        const uint step_before = simd_shuffle(before, owner);
        // How many keys before this lane's key lie below the threshold, and how many equal it.
        const uint below_before = tile_before.x + (step_before & 0xffffu) + popcount(below & earlier_lanes);
        const uint same_before = tile_before.y + (step_before >> 16u) + popcount(same & earlier_lanes);
        const bool is_below = ((below >> lane) & 1u) != 0u;
        const bool is_same = ((same >> lane) & 1u) != 0u;
        if (is_below || (is_same && same_before < wanted)) {
            const uint place = below_before + min(same_before, wanted);
            const uint position = first + step * LANES + lane;
            indices_to[sort.values_home + place] = position;
            picked[place] = source_key(keys_from, position, sort);
        }
    }
}
