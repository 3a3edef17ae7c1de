// Ranks the keys of a tile by one digit, by what subgroups count.
//
// A subgroup owns a stretch of `held` * lanes keys, of as many items as each thread holds, and takes them lane by lane, so that the order
// of (subgroup, item, lane) is the order of the tile. The board counts each subgroup's digits in a row of its own: what a key finds there
// is its place among them.
// Any subgroup size of 4 to 128 will do that divides the group and leaves at most ROWS rows; rows without a subgroup stay empty.

// The position in the tile of a thread's item, where each holds so many.
fn item_index(item: u32, held: u32) -> u32 {
    return (subgroup * held + item) * lanes + lane;
}

// From one item of a thread to the next.
fn item_stride() -> u32 {
    return lanes;
}

// A digit's column lies above its key's place in the row.
const PLACE_BITS: u32 = 16u;

const_assert ROWS * ROW <= BOARD;

// Replaces the digit of each item that is held by its position in the tile in order of the digits: stably, or in any order of equal ones
// unless `stable`. The items from `present` on have the largest digit, so that they come last if `stable`. Calls `counted` with the number of
// keys below `present` of each digit and of those below it.
fn rank_tile(items: ptr<function, array<u32, KEYS>>, present: u32, held: u32, stable: bool) {
    for (var i = thread; i < ROWS * ROW; i += GROUP) {
        atomicStore(&board[i], 0u);
    }
    workgroupBarrier();

    let row = subgroup * ROW;
#if RUNS
    let usual = usual_digit(items);
    if (usual == RADIX) {
        count_items(items, row, held, stable);
    } else if (has_one_digit(items, usual)) {
        let column = column_of(usual);
        if (lane == 0u) {
            move_on(row, column, 0u, KEYS * lanes);
        }
#repeat item KEYS
        (*items)[item] = (column << PLACE_BITS) | (item * lanes + lane);
#end
    } else {
        count_around(items, row, stable, column_of(usual));
    }
#else
    count_items(items, row, held, stable);
#endif
    workgroupBarrier();

    sum_up_rows(present);
    workgroupBarrier();

#repeat item KEYS
        if (item < held) {
            let ranked = (*items)[item];
            (*items)[item] = start_at(row, ranked >> PLACE_BITS) + (ranked & ((1u << PLACE_BITS) - 1u));
        }
#end
    workgroupBarrier();
}

// Counts a subgroup's keys item by item.
fn count_items(items: ptr<function, array<u32, KEYS>>, row: u32, held: u32, stable: bool) {
#if REORDERS
    if (!stable) {
#repeat item KEYS
        if (item < held) {
            let column = column_of((*items)[item]);
            (*items)[item] = (column << PLACE_BITS) | next_place(row, column);
        }
#end
    } else {
#else
    {
#endif
#repeat item KEYS
        if (item < held) {
            let column = column_of((*items)[item]);
            (*items)[item] = (column << PLACE_BITS) | place_in_row(column, row);
        }
#end
    }
}
#if RUNS

// The digit of more than a third of a subgroup's first keys, so that they would wait for each other at its counter; RADIX, if it seems that there is
// none. Tells by the first lane's and the last, and by first keys alone: the others may not be there yet.
fn usual_digit(items: ptr<function, array<u32, KEYS>>) -> u32 {
    let digit = (*items)[0];
    let first = subgroupBroadcastFirst(digit);
    if (lane_count(ballot(digit == first)) > lanes / 3u) {
        return first;
    }
    let last = subgroupShuffle(digit, lanes - 1u);
    return select(RADIX, last, lane_count(ballot(digit == last)) > lanes / 3u);
}

// Whether all keys of the subgroup have the usual digit, as in long runs of equal ones.
fn has_one_digit(items: ptr<function, array<u32, KEYS>>, usual: u32) -> bool {
    var differs = 0u;
#repeat item KEYS
        differs |= (*items)[item] ^ usual;
#end
    return lane_count(ballot(differs != 0u)) == 0u;
}

// Counts a subgroup's keys item by item: those of the usual digit by ballots, so that none of them waits, and the others around them.
fn count_around(items: ptr<function, array<u32, KEYS>>, row: u32, stable: bool, usual: u32) {
    var found = 0u;
#repeat item KEYS
        let column = column_of((*items)[item]);
        let is_usual = column == usual;
        let peers = ballot(is_usual);
        let place = found + lane_count(peers & lanes_below(lane));
        found += lane_count(peers);
        var other = 0u;
#if REORDERS
        if (stable) {
            other = place_of_some(column, row, !is_usual);
        } else if (!is_usual) {
            other = next_place(row, column);
        }
#else
        other = place_of_some(column, row, !is_usual);
#endif
        (*items)[item] = (column << PLACE_BITS) | select(other, place, is_usual);
#end
    if (lane == 0u) {
        move_on(row, usual, 0u, found);
    }
}
#endif

#if ARRIVALS
// The place of this lane's key: the next in the column of its digit in the row, which moves on.
fn place_in_row(column: u32, row: u32) -> u32 {
    return place_of_some(column, row, true);
}

// The same of those lanes' keys that count; no other has a column of theirs.
//
// All lanes count their keys at once, in any order, and see the weights of those that came after them. Who sees less than the lane before weighs
// has seen no earlier lane. Several later lanes can weigh as much: then, too, ballots put keys in order.
fn place_of_some(column: u32, row: u32, counts: bool) -> u32 {
    let mine = arrival();
    var before = 0u;
    if (counts) {
        before = atomicAdd(&board[row + column], mine);
    }
    subgroupBarrier();
    let now = atomicLoad(&board[row + column]);
    subgroupBarrier();
    // Modulo 2^32, so that it does not matter what was there before; what one item adds fits.
    let after = now - before - mine;
    var unsure = ballot(counts && after >= earlier_arrival());
    if (unsure == 0u) {
        return count_of(before);
    }
    // Those of this lane's column, once it was that of one that is unsure.
    var peers = 0u;
    while (unsure != 0u) {
        let is_peer = column == subgroupShuffle(column, firstLeadingBit(unsure));
        let found = ballot(is_peer);
        unsure &= ~found;
        peers = select(peers, found, is_peer);
    }
    return count_of(select(before, now, peers != 0u)) - lane_count(peers & ~lanes_below(lane));
}
#else
// The place by ballots: warp-level multi-split (Ashkiani et al., "GPU Multisplit", PPoPP 2016). A column is a digit here.
const_assert ROW <= RADIX;

fn place_in_row(column: u32, row: u32) -> u32 {
    var peers = ballot(true);
    for (var bit = 0u; bit < RADIX_BITS; bit++) {
        let is_set = ((column >> bit) & 1u) != 0u;
        let vote = ballot(is_set);
        peers &= select(~vote, vote, is_set);
    }
    let before = lane_count(peers & lanes_below(lane));
    let earlier = count_at(row, column);
    // The lanes go on together: all have read before one writes, and that is written before the next step reads.
    subgroupBarrier();
    if (before == 0u) {
        move_on(row, column, earlier, lane_count(peers));
    }
    subgroupBarrier();
    return earlier + before;
}
#endif
