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

// A digit lies above its key's place in the row.
const PLACE_BITS: u32 = 16u;

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
    if (has_one_digit(items)) {
        let digit = (*items)[0];
        if (lane == 0u) {
            atomicStore(&board[row + digit], (KEYS * lanes) << COUNT_SHIFT);
        }
#repeat item KEYS
        (*items)[item] = (digit << PLACE_BITS) | (item * lanes + lane);
#end
    } else {
        count_items(items, row, held, stable);
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
            let digit = (*items)[item];
            (*items)[item] = (digit << PLACE_BITS) | next_place(row, digit);
        }
#end
    } else {
#else
    {
#endif
#repeat item KEYS
        if (item < held) {
            let digit = (*items)[item];
            (*items)[item] = (digit << PLACE_BITS) | place_in_row(digit, row);
        }
#end
    }
}
#if RUNS

// Whether all keys of the subgroup have the same digit, as in long runs of equal ones. Counted one by one, they would all wait for one counter.
fn has_one_digit(items: ptr<function, array<u32, KEYS>>) -> bool {
    let digit = (*items)[0];
    var differs = digit ^ subgroupBroadcastFirst(digit);
    if (lane_count(ballot(differs != 0u)) == 0u) {
#repeat item KEYS
        differs |= (*items)[item] ^ digit;
#end
    }
    return lane_count(ballot(differs != 0u)) == 0u;
}
#endif

#if ARRIVALS
// The place of this lane's key: the next of its digit's in the row, which moves on.
//
// All lanes count their keys at once, in any order, and see how far the count went on. Of most digits there is one key, of some there are two:
// the first of two sees that one came after it, and from which lane. Only if it was an earlier one, or more came after, is there anything
// to be put in order.
fn place_in_row(digit: u32, row: u32) -> u32 {
    let mine = arrival();
    let before = atomicAdd(&board[row + digit], mine);
    subgroupBarrier();
    let now = atomicLoad(&board[row + digit]);
    subgroupBarrier();
    let after = now - before - mine;
    var place = before >> COUNT_SHIFT;
    // One of a later lane adds between mine + 1 and mine + 31.
    var unsure = ballot(after != 0u && after - mine - 1u >= 31u);
    while (unsure != 0u) {
        let peers = ballot(digit == subgroupShuffle(digit, firstTrailingBit(unsure)));
        unsure &= ~peers;
        if (((peers >> lane) & 1u) != 0u) {
            place = (now >> COUNT_SHIFT) - lane_count(peers & ~lanes_below(lane));
        }
    }
    return place;
}
#else
// The same by ballots: warp-level multi-split (Ashkiani et al., "GPU Multisplit", PPoPP 2016).
fn place_in_row(digit: u32, row: u32) -> u32 {
    var peers = ballot(true);
    for (var bit = 0u; bit < RADIX_BITS; bit++) {
        let is_set = ((digit >> bit) & 1u) != 0u;
        let vote = ballot(is_set);
        peers &= select(~vote, vote, is_set);
    }
    let before = lane_count(peers & lanes_below(lane));
    let earlier = count_at(row, digit);
    // The lanes go on together: all have read before one writes, and that is written before the next step reads.
    subgroupBarrier();
    if (before == 0u) {
        move_on(row, digit, earlier, lane_count(peers));
    }
    subgroupBarrier();
    return earlier + before;
}
#endif
