// The rows in which subgroups count digits, on the board: a word for each count. Below it keys add up their lanes, where they tell by that who
// came after them: the sum of a tile's lanes fits, with subgroups of up to 32.

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
const COUNT_SHIFT: u32 = 16u;
const ONE: u32 = 1u << COUNT_SHIFT;

var<workgroup> row_sums: array<u32, ROWS>;

// How many digits a thread owns: DIGITS from `thread * DIGITS` on, or as many as there are.
fn owned_digits() -> u32 {
    return min(DIGITS, RADIX - min(RADIX, thread * DIGITS));
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

// What a key adds to its count. That no two lanes add the same saves it the detour that drivers take for those who do.
fn arrival() -> u32 {
#if ARRIVALS
    return ONE | lane;
#else
    return ONE;
#endif
}

// Counts a key: its place in the row, in any order.
fn next_place(row: u32, column: u32) -> u32 {
    return atomicAdd(&board[row + column], arrival()) >> COUNT_SHIFT;
}

fn count_at(row: u32, column: u32) -> u32 {
    return atomicLoad(&board[row + column]) >> COUNT_SHIFT;
}

// Counts by one lane for all that have the digit, which found `earlier` there.
fn move_on(row: u32, column: u32, earlier: u32, more: u32) {
    atomicStore(&board[row + column], (earlier + more) << COUNT_SHIFT);
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
                total += atomicLoad(&board[r * ROW + column_of(owned_digit(i))]) >> COUNT_SHIFT;
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
                counts[r] = atomicLoad(&board[r * ROW + column_of(digit)]) >> COUNT_SHIFT;
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
