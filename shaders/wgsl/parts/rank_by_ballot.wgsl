// Ranks the keys of a tile by one digit, stably, with ballots: warp-level multi-split (Ashkiani et al., "GPU Multisplit", PPoPP 2016).
//
// A subgroup owns a stretch of KEYS * lanes keys and takes them lane by lane, so that the order of (subgroup, item, lane) is the order
// of the tile. The board counts each subgroup's digits in a row of its own. Absent keys are left out by a ballot, not by their value.
// Any subgroup size of 4 to 128 will do that divides the group and leaves at most ROWS rows.

var<workgroup> sums: array<u32, ROWS>;

// The position in the tile of a thread's item.
fn item_index(item: u32) -> u32 {
    return subgroup * lanes * KEYS + item * lanes + lane;
}

// Replaces the digit of each item below `present` by the item's position in the tile in order of the digits, and calls `counted` with
// the number of keys of each digit and of those below it.
fn rank_tile(items: ptr<function, array<u32, KEYS>>, present: u32) {
    let rows = GROUP / lanes;
    for (var i = thread; i < rows * RADIX; i += GROUP) {
        atomicStore(&board[i], 0u);
    }
    workgroupBarrier();

    let row = subgroup * RADIX;
    for (var item = 0u; item < KEYS; item++) {
        let digit = (*items)[item];
        (*items)[item] = (rank_in_row(digit, row, item_index(item) < present) << RADIX_BITS) | digit;
    }
    workgroupBarrier();

    // A thread sums up its digits over the rows, the group over the digits.
    var totals: array<u32, DIGITS>;
    var sum = 0u;
    for (var i = 0u; i < DIGITS; i++) {
        var total = 0u;
        for (var r = 0u; r < rows; r++) {
            total += atomicLoad(&board[r * RADIX + thread * DIGITS + i]);
        }
        totals[i] = total;
        sum += total;
    }
    let before_lane = subgroupExclusiveAdd(sum);
    if (lane == lanes - 1u) {
        sums[subgroup] = before_lane + sum;
    }
    workgroupBarrier();
    var start = before_lane;
    for (var r = 0u; r < subgroup; r++) {
        start += sums[r];
    }
    for (var i = 0u; i < DIGITS; i++) {
        let digit = thread * DIGITS + i;
        counted(i, digit, start, totals[i]);
        var place = start;
        for (var r = 0u; r < rows; r++) {
            let count = atomicLoad(&board[r * RADIX + digit]);
            atomicStore(&board[r * RADIX + digit], place);
            place += count;
        }
        start += totals[i];
    }
    workgroupBarrier();

    for (var item = 0u; item < KEYS; item++) {
        let ranked = (*items)[item];
        (*items)[item] = (ranked >> RADIX_BITS) + atomicLoad(&board[row + (ranked & (RADIX - 1u))]);
    }
    workgroupBarrier();
}

// How many keys of the same digit came before this lane's in the row, which counts them and this one.
fn rank_in_row(digit: u32, row: u32, present: bool) -> u32 {
    var peers = ballot(present);
    for (var bit = 0u; bit < RADIX_BITS; bit++) {
        let is_set = ((digit >> bit) & 1u) != 0u;
        let vote = ballot(is_set);
        peers &= select(~vote, vote, is_set);
    }
    let before = lane_count(peers & lanes_below(lane));
    var in_row = 0u;
    if (present && before == 0u) {
        in_row = atomicAdd(&board[row + digit], lane_count(peers));
    }
    in_row = subgroupShuffle(in_row, select(lane, first_lane(peers), present));
    // The next step's counting comes after this one's.
    subgroupBarrier();
    return in_row + before;
}
