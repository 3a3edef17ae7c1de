// The rows in which subgroups count digits, on the board: a word for each. Where keys see who came after them, the count has its low bits, and the
// others are fields: for every three lanes one of two bits, to which they add; for the last two lanes one of a bit.

#if RUNS
const ROW: u32 = RADIX + RADIX / BANKS;

// Where a digit's count lies in a row, of which one word in 33 is a gap: neighbouring multiples of a power of two lie in different banks as well.
fn column_of(digit: u32) -> u32 {
    return digit + digit / BANKS;
}
#else
const ROW: u32 = RADIX;

fn column_of(digit: u32) -> u32 {
    return digit;
}
#endif
#if ARRIVALS
const COUNT_MASK: u32 = (1u << COUNT_BITS) - 1u;

// Subgroups have up to 32 lanes: their keys can be counted, and there is a field for the last.
const_assert 32u * KEYS <= COUNT_MASK;
const_assert COUNT_BITS + 31u / 3u * 2u < 32u;
#else
const COUNT_MASK: u32 = 0xffffffffu;
#endif

var<workgroup> row_sums: array<u32, ROWS>;

// How many digits a thread owns: DIGITS from `thread * DIGITS` on, or as many as there are.
fn owned_digits() -> u32 {
    return min(DIGITS, RADIX - min(RADIX, thread * DIGITS));
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

// What a key adds to its count. That lanes add different things saves it the detour that drivers take where all add the same.
fn arrival() -> u32 {
#if ARRIVALS
    return 1u | 1u << (COUNT_BITS + lane / 3u * 2u);
#else
    return 1u;
#endif
}
#if ARRIVALS

// The fields to which earlier lanes add.
fn earlier_lanes() -> u32 {
    let end = COUNT_BITS + (lane + 2u) / 3u * 2u;
    return (0xffffffffu >> (32u - min(end, 32u))) & ~COUNT_MASK;
}
#endif

// Counts a key: its place in the row, in any order.
fn next_place(row: u32, column: u32) -> u32 {
    return atomicAdd(&board[row + column], arrival()) & COUNT_MASK;
}

fn count_at(row: u32, column: u32) -> u32 {
    return atomicLoad(&board[row + column]) & COUNT_MASK;
}

// Counts by one lane for all that have the digit, which found `earlier` there.
fn move_on(row: u32, column: u32, earlier: u32, more: u32) {
    atomicStore(&board[row + column], earlier + more);
}

// Where the keys go, once counts are summed up.
fn start_at(row: u32, column: u32) -> u32 {
    return atomicLoad(&board[row + column]);
}

// Replaces the counts by where each row's keys of each digit go in the tile, and calls `counted`.
fn sum_up_rows(present: u32) {
    // A thread sums up its digits over the rows, the group over the digits: then the rows hold where their keys go.
    var totals: array<u32, DIGITS>;
    var sum = 0u;
    let owned = owned_digits();
#repeat i DIGITS
        if (i < owned) {
            var total = 0u;
#repeat r ROWS
                total += atomicLoad(&board[r * ROW + column_of(owned_digit(i))]) & COUNT_MASK;
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
            // All counts at once: no read waits for a write.
            var counts: array<u32, ROWS>;
#repeat r ROWS
                counts[r] = atomicLoad(&board[r * ROW + column_of(digit)]) & COUNT_MASK;
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
