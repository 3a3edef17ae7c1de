// Ranks the keys of a tile by one digit, with subgroup operations.
//
// A subgroup owns a chunk of `held` * lanes keys: its lanes take `lanes` neighboring keys for each of their items. So
// the order of (subgroup, item, lane) is the order of the tile. Each subgroup counts digits in a histogram of its own,
// a row of `board`. The count that a key finds there is its rank among the subgroup's keys of the same digit.
//
// The subgroup size may be any of 4 to 128 that divides GROUP into at most ROWS subgroups. Rows without a subgroup stay
// 0.

// Returns the index in the tile of a thread's item, if each thread holds `held` of them.
fn item_index(item: u32, held: u32) -> u32 {
    return (subgroup * held + item) * lanes + lane;
}

// Returns the distance in the tile from one item of a thread to its next.
fn item_stride() -> u32 {
    return lanes;
}

// While a tile is ranked, an item packs two numbers: the column of its digit, and in the low PLACE_BITS bits its rank
// in the row. A column is the index of a digit in a row.
const PLACE_BITS: u32 = 16u;

const_assert ROWS * ROW <= BOARD;

// Replaces the digit of each item by the item's index in the tile's new order: by digit, and, if `stable`, by index
// among equal digits. The items from `present` on must have the largest digit; if `stable`, they come last. Calls
// `counted` for each digit that the thread owns, with the number of keys below `present` that have a smaller digit
// (`start`), and that have this one (`total`).
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

// Ranks a subgroup's keys item by item, each key at its own counter.
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

// Returns the digit that more than a third of the lanes have in their first item, or RADIX. Keys of such a digit would
// wait for each other at its counter. The function tries only the digits of the first and the last lane, and looks only
// at first items: the other keys may not be loaded yet.
fn usual_digit(items: ptr<function, array<u32, KEYS>>) -> u32 {
    let digit = (*items)[0];
    let first = subgroupBroadcastFirst(digit);
    if (lane_count(ballot(digit == first)) > lanes / 3u) {
        return first;
    }
    let last = subgroupShuffle(digit, lanes - 1u);
    return select(RADIX, last, lane_count(ballot(digit == last)) > lanes / 3u);
}

// Returns whether all keys of the subgroup have the digit `usual`, as in a long run of equal keys.
fn has_one_digit(items: ptr<function, array<u32, KEYS>>, usual: u32) -> bool {
    var differs = 0u;
#repeat item KEYS
        differs |= (*items)[item] ^ usual;
#end
    return lane_count(ballot(differs != 0u)) == 0u;
}

// Ranks a subgroup's keys item by item. Ballots rank those of the frequent digit, so that none waits; counters rank the
// others.
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
// Returns the rank of this lane's key in the row, and counts the key.
fn place_in_row(column: u32, row: u32) -> u32 {
    return place_of_some(column, row, true);
}

// Returns the rank of this lane's key in the row, and counts the key, if `counts` is set. No other lane may have the
// column of a lane with `counts` set.
//
// The lanes add their arrival codes (see parts/rows.wgsl) to their counters at once, in any order. Each lane then reads
// what others have added after it. If that is less than the arrival code of the previous lane, no earlier lane has come
// after this one. If that is so for all lanes, each counter has seen its lanes in their order. Then the count that a
// lane found is its rank. Otherwise a lane is unsure: an earlier lane has come later, or several later lanes have added
// as much as an earlier one would. Ballots then rank all lanes that share a digit with an unsure lane.
fn place_of_some(column: u32, row: u32, counts: bool) -> u32 {
    let mine = arrival();
    var before = 0u;
    if (counts) {
        before = atomicAdd(&board[row + column], mine);
    }
    subgroupBarrier();
    let now = atomicLoad(&board[row + column]);
    subgroupBarrier();
    // Modulo 2^32, so that the sum that was there before does not matter. What all lanes add for one item fits in a
    // word.
    let after = now - before - mine;
    var unsure = ballot(counts && after >= earlier_arrival());
    if (unsure == 0u) {
        return count_of(before);
    }
    // The lanes with the digit of this one, if one of them is unsure; else none.
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
// Ranks with ballots: warp-level multi-split (Ashkiani et al., "GPU Multisplit", PPoPP 2016). Rows have no gaps here: a
// column is a digit.
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
    // The first barrier: all lanes read the count before one of them writes it. The second: the count is written before
    // the lanes read it for the next item.
    subgroupBarrier();
    if (before == 0u) {
        move_on(row, column, earlier, lane_count(peers));
    }
    subgroupBarrier();
    return earlier + before;
}
#endif
