// The rows of `board`: a histogram for each subgroup, with a word for each value of the digit. Without ARRIVALS, a word is a count. With
// ARRIVALS, its low COUNT_BITS bits are the count, and the bits above are the sum of the arrival codes (see `weight`) of the
// lanes that have added to this word.

#if RUNS
const ROW: u32 = RADIX + RADIX / BANKS;

// Returns the index of a digit's count in a row. After every 32 counts, a row has an unused word: so digits that are a
// multiple of 32 apart lie in different banks.
fn column_of(digit: u32) -> u32 {
    return digit + digit / BANKS;
}
#else
const ROW: u32 = RADIX;

fn column_of(digit: u32) -> u32 {
    return digit;
}
#endif

var<workgroup> row_sums: array<u32, ROWS>;

// Returns how many digits a thread owns, from `thread * DIGITS` on: DIGITS, or fewer where there are no more.
fn owned_digits() -> u32 {
    return min(DIGITS, RADIX - min(RADIX, thread * DIGITS));
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

#if ARRIVALS
// Subgroups have at most 32 lanes. A count of all their keys fits COUNT_BITS bits, and the arrival codes of all lanes,
// 2^21 - 1 together, fit the bits above.
const_assert 32u * KEYS < 1u << COUNT_BITS;
const_assert COUNT_BITS <= 11u;

// The arrival code of a lane: what it adds to its counter above the count. `rest` is 32 less the lane's number.
//
//   lane   31  30  29  28  27  26  25  24  23  22  …    0
//   code    0   1   1   2   3   4   8  12  16  32  …    3 * 2^18
//
// All lanes after lane `l` together add less than lane `l - 1`. Exceptions are `l` = 0, 3, …, 27: four of the lanes
// after `l` (three if `l` is 27) can add as much.
fn weight(rest: u32) -> u32 {
    return (((rest % 3u + 1u) << (rest / 3u * 2u)) + 1u) >> 2u;
}

// What a key adds to its counter. Most lanes thus add different numbers. Where all add the same, drivers take a slower
// detour.
fn arrival() -> u32 {
    return 1u | (weight(32u - lane) << COUNT_BITS);
}

// The least that an earlier lane adds above the count: the arrival code of the previous lane.
fn earlier_arrival() -> u32 {
    return weight(33u - lane) << COUNT_BITS;
}

fn count_of(word: u32) -> u32 {
    return word & ((1u << COUNT_BITS) - 1u);
}
#else
fn arrival() -> u32 {
    return 1u;
}

fn count_of(word: u32) -> u32 {
    return word;
}
#endif

// Counts a key, and returns its rank in the row. Equal digits are ranked in any order.
fn next_place(row: u32, column: u32) -> u32 {
    return count_of(atomicAdd(&board[row + column], arrival()));
}

fn count_at(row: u32, column: u32) -> u32 {
    return count_of(atomicLoad(&board[row + column]));
}

// Counts `more` keys of a digit, whose count was `earlier`. One lane does so for all that have the digit.
fn move_on(row: u32, column: u32, earlier: u32, more: u32) {
    atomicStore(&board[row + column], earlier + more);
}

// Returns where the row's keys of this digit start in the tile's new order. Valid after sum_up_rows().
fn start_at(row: u32, column: u32) -> u32 {
    return atomicLoad(&board[row + column]);
}

// Replaces each count by where that row's keys of that digit start in the tile's new order. Calls `counted` for the
// thread's digits.
fn sum_up_rows(present: u32) {
    // Each thread sums up its digits over the rows. The workgroup then sums up these sums over the digits.
    var totals: array<u32, DIGITS>;
    var sum = 0u;
    let owned = owned_digits();
#repeat i DIGITS
        if (i < owned) {
            var total = 0u;
#repeat r ROWS
                total += count_of(atomicLoad(&board[r * ROW + column_of(owned_digit(i))]));
#end
            totals[i] = total;
            sum += total;
        }
#end
    let before_lane = subgroupExclusiveAdd(sum);
    if (lane == lanes - 1u) {
        row_sums[subgroup] = before_lane + sum;
    }
    workgroupBarrier();
    var start = before_lane;
#repeat r OWNERS
        start += select(0u, row_sums[r], r < subgroup);
#end
#repeat i DIGITS
        if (i < owned) {
            let digit = owned_digit(i);
            counted(i, digit, start, totals[i] - select(0u, TILE - present, digit == RADIX - 1u));
            // The thread reads all counts before it writes: no read waits for a write.
            var counts: array<u32, ROWS>;
#repeat r ROWS
                counts[r] = count_of(atomicLoad(&board[r * ROW + column_of(digit)]));
#end
            var place = start;
#repeat r ROWS
                atomicStore(&board[r * ROW + column_of(digit)], place);
                place += counts[r];
#end
            start += totals[i];
        }
#end
}
