// The rows in which subgroups count digits, on the board: a word for each count.

const ROW: u32 = RADIX;

var<workgroup> row_sums: array<u32, ROWS>;

// How many digits a thread owns: DIGITS from `thread * DIGITS` on, or as many as there are.
fn owned_digits() -> u32 {
    return min(DIGITS, RADIX - min(RADIX, thread * DIGITS));
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

fn count_at(row: u32, digit: u32) -> u32 {
    return atomicLoad(&board[row + digit]);
}

fn add_to_count(row: u32, digit: u32, more: u32) -> u32 {
    return atomicAdd(&board[row + digit], more);
}

// The same by one lane for all that have the digit, which found `earlier` there.
fn move_on(row: u32, digit: u32, earlier: u32, more: u32) {
    atomicStore(&board[row + digit], earlier + more);
}

// Replaces the counts by where each row's keys of each digit go in the tile, and calls `counted`.
fn sum_up_rows(present: u32) {
    // A thread sums up its digits over the rows, the group over the digits: then the rows hold where their keys go.
    var totals: array<u32, DIGITS>;
    var sum = 0u;
    let owned = owned_digits();
    for (var i = 0u; i < owned; i++) {
        var total = 0u;
#repeat r ROWS
            total += atomicLoad(&board[r * ROW + owned_digit(i)]);
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
#repeat r OWNERS
        start += select(0u, row_sums[r], r < subgroup);
#end
    for (var i = 0u; i < owned; i++) {
        let digit = owned_digit(i);
        counted(i, digit, start, totals[i] - select(0u, TILE - present, digit == RADIX - 1u));
        var place = start;
#if UNROLLED
        // All at once: no read waits for a write.
#repeat r ROWS
            let count_@ = atomicLoad(&board[r * ROW + digit]);
#end
#repeat r ROWS
            atomicStore(&board[r * ROW + digit], place);
            place += count_@;
#end
#else
        for (var r = 0u; r < ROWS; r++) {
            let count = atomicLoad(&board[r * ROW + digit]);
            atomicStore(&board[r * ROW + digit], place);
            place += count;
        }
#endif
        start += totals[i];
    }
}
