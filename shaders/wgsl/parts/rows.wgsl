// The rows in which subgroups count digits, on the board: a word for each. Where keys see who came after them, the count has its low bits, and above
// it keys add the weights of their lanes.

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

var<workgroup> row_sums: array<u32, ROWS>;

// How many digits a thread owns: DIGITS from `thread * DIGITS` on, or as many as there are.
fn owned_digits() -> u32 {
    return min(DIGITS, RADIX - min(RADIX, thread * DIGITS));
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

#if ARRIVALS
// Subgroups have up to 32 lanes: all their keys can be counted, and the weights of all lanes, 2^21 - 1 together, fit above.
const_assert 32u * KEYS < 1u << COUNT_BITS;
const_assert COUNT_BITS <= 11u;

// The weight of a lane, by the number of lanes from it to the 32nd, itself included: 0, 1, 1, 2, 3, 4, 8, 12, 16, 32, … All lanes after one together
// weigh less than the lane before it, but after lanes 0, 3, …, 27: there four of them can weigh as much, after the last of these three.
fn weight(rest: u32) -> u32 {
    return (((rest % 3u + 1u) << (rest / 3u * 2u)) + 1u) >> 2u;
}

// What a key adds to its count. That lanes mostly add different numbers saves it the detour that drivers take where all add the same.
fn arrival() -> u32 {
    return 1u | (weight(32u - lane) << COUNT_BITS);
}

// The least that an earlier lane adds, above its count: what the lane before does.
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

// Counts a key: its place in the row, in any order.
fn next_place(row: u32, column: u32) -> u32 {
    return count_of(atomicAdd(&board[row + column], arrival()));
}

fn count_at(row: u32, column: u32) -> u32 {
    return count_of(atomicLoad(&board[row + column]));
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
            // All counts at once: no read waits for a write.
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
