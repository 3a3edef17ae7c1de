// The rows of `board` for wide digits: a histogram for each subgroup. A word has the count of digit `d` in its
// lower half, and that of `d + RADIX / 2` in its upper half. Later the counts become indices in the tile. A tile has
// fewer than 2^16 keys, so every sum of counts fits in 16 bits: words can be added, and nothing carries from the lower
// half to the upper one.

const ROW: u32 = RADIX / 2u;
const HALF: u32 = 0xffffu;

// The words of a row that a thread owns: every GROUP-th, so that neighboring threads access neighboring words.
const WORDS: u32 = ROW / GROUP;

var<workgroup> row_sums: array<u32, ROWS * WORDS>;

// The functions below take the digit, and find the word.
fn column_of(digit: u32) -> u32 {
    return digit;
}

fn owned_digits() -> u32 {
    return DIGITS;
}

// The digits of the lower halves come first.
fn owned_digit(i: u32) -> u32 {
    return i * GROUP + thread;
}

fn shift_of(digit: u32) -> u32 {
    return 16u * (digit / ROW);
}

fn count_at(row: u32, digit: u32) -> u32 {
    return (atomicLoad(&board[row + digit % ROW]) >> shift_of(digit)) & HALF;
}

// Returns where the row's keys of this digit start in the tile's new order. Valid after sum_up_rows().
fn start_at(row: u32, digit: u32) -> u32 {
    return count_at(row, digit);
}

// Counts a key, and returns its rank in the row. Equal digits are ranked in any order.
fn next_place(row: u32, digit: u32) -> u32 {
    return (atomicAdd(&board[row + digit % ROW], 1u << shift_of(digit)) >> shift_of(digit)) & HALF;
}

// Counts `more` keys of a digit. One lane does so for all that have the digit. Another lane may add to the other half
// at the same time.
fn move_on(row: u32, digit: u32, earlier: u32, more: u32) {
    atomicAdd(&board[row + digit % ROW], more << shift_of(digit));
}

// Replaces each count by where that row's keys of that digit start in the tile's new order. Calls `counted` for the
// thread's digits.
fn sum_up_rows(present: u32) {
    var totals: array<u32, WORDS>;
    var starts: array<u32, WORDS>;
    for (var i = 0u; i < WORDS; i++) {
        var total = 0u;
#repeat r ROWS
            total += atomicLoad(&board[r * ROW + owned_digit(i)]);
#end
        totals[i] = total;
        starts[i] = subgroupExclusiveAdd(total);
        if (lane == lanes - 1u) {
            row_sums[i * ROWS + subgroup] = starts[i] + total;
        }
    }
    workgroupBarrier();
    var sum = 0u;
    for (var i = 0u; i < WORDS; i++) {
        starts[i] += sum;
#repeat r ROWS
            let row_sum = select(0u, row_sums[i * ROWS + r], r * lanes < GROUP);
            starts[i] += select(0u, row_sum, r < subgroup);
            sum += row_sum;
#end
    }
    // The keys of the upper halves come after all keys of the lower halves.
    let lower = sum & HALF;
    for (var i = 0u; i < WORDS; i++) {
        let start = starts[i] + (lower << 16u);
        let last = owned_digit(i + WORDS);
        counted(i, owned_digit(i), start & HALF, totals[i] & HALF);
        counted(i + WORDS, last, start >> 16u, (totals[i] >> 16u) - select(0u, TILE - present, last == RADIX - 1u));
        var place = start;
#if UNROLLED
        // The thread reads all counts before it writes: no read waits for a write.
#repeat r ROWS
            let count_@ = atomicLoad(&board[r * ROW + owned_digit(i)]);
#end
#repeat r ROWS
            atomicStore(&board[r * ROW + owned_digit(i)], place);
            place += count_@;
#end
#else
        for (var r = 0u; r < ROWS; r++) {
            let count = atomicLoad(&board[r * ROW + owned_digit(i)]);
            atomicStore(&board[r * ROW + owned_digit(i)], place);
            place += count;
        }
#endif
    }
}
