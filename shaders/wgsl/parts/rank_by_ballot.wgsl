// Ranks the keys of a tile by one digit, stably, with ballots: warp-level multi-split (Ashkiani et al., "GPU Multisplit", PPoPP 2016).
//
// A subgroup owns a stretch of KEYS * lanes keys and takes them lane by lane, so that the order of (subgroup, item, lane) is the order
// of the tile. The board counts each subgroup's digits in a row of its own. Absent keys are left out by a ballot, not by their value.
// Any subgroup size of 4 to 128 will do that divides the group and leaves at most ROWS rows; rows without a subgroup stay empty.

var<workgroup> row_sums: array<u32, ROWS>;

// How many digits a thread owns: DIGITS from `thread * DIGITS` on, if there are so many threads.
fn owned_digits() -> u32 {
    return select(0u, DIGITS, thread * DIGITS < RADIX);
}

// The position in the tile of a thread's item.
fn item_index(item: u32) -> u32 {
    return subgroup * lanes * KEYS + item * lanes + lane;
}

// Replaces the digit of each item below `present` by the item's position in the tile in order of the digits; `whole` says that all are
// there. Before that, as early as they are known, calls `counted` with the number of keys of each digit and of those below it.
fn rank_tile(items: ptr<function, array<u32, KEYS>>, present: u32, whole: bool) {
    for (var i = thread; i < ROWS * RADIX; i += GROUP) {
        atomicStore(&board[i], 0u);
    }
    workgroupBarrier();

    let row = subgroup * RADIX;
    let everyone = ballot(true);
#repeat item KEYS
        if (whole || item_index(item) < present) {
            atomicAdd(&board[row + (*items)[item]], 1u);
        }
#end
    workgroupBarrier();

    // A thread row_sums up its digits over the rows, the group over the digits: then the rows hold where their keys go.
    var totals: array<u32, DIGITS>;
    var sum = 0u;
    let owned = owned_digits();
    for (var i = 0u; i < owned; i++) {
        var total = 0u;
#repeat r ROWS
            total += atomicLoad(&board[r * RADIX + thread * DIGITS + i]);
#end
        totals[i] = total;
        sum += total;
    }
    let before_lane = subgroupExclusiveAdd(sum);
    if (lane == lanes - 1u) {
        row_sums[subgroup] = before_lane + sum;
    }
    workgroupBarrier();
    var start = before_lane;
    for (var r = 0u; r < subgroup; r++) {
        start += row_sums[r];
    }
    for (var i = 0u; i < owned; i++) {
        let digit = thread * DIGITS + i;
        counted(i, digit, start, totals[i]);
#repeat r ROWS
            let count_@ = atomicLoad(&board[r * RADIX + digit]);
#end
        var place = start;
#repeat r ROWS
            atomicStore(&board[r * RADIX + digit], place);
            place += count_@;
#end
        start += totals[i];
    }
    workgroupBarrier();

#repeat item KEYS
        (*items)[item] = place_in_row((*items)[item], row, whole || item_index(item) < present, everyone, whole);
#end
    workgroupBarrier();
}

// The place of this lane's key: the next of its digit's in the row, which moves on.
fn place_in_row(digit: u32, row: u32, present: bool, everyone: Lanes, whole: bool) -> u32 {
    var peers = everyone;
    if (!whole) {
        peers = ballot(present);
    }
    for (var bit = 0u; bit < RADIX_BITS; bit++) {
        let is_set = ((digit >> bit) & 1u) != 0u;
        let vote = ballot(is_set);
        peers &= select(~vote, vote, is_set);
    }
    let before = lane_count(peers & lanes_below(lane));
    var place = 0u;
    if (present && before == 0u) {
        place = atomicAdd(&board[row + digit], lane_count(peers));
    }
    place = subgroupShuffle(place, select(lane, first_lane(peers), present));
    // The next step's places come after this one's.
    subgroupBarrier();
    return place + before;
}
