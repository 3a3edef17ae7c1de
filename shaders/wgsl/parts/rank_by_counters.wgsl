// Ranks the keys of a tile by one digit, stably, without subgroup operations: two counting sorts by half a digit.
//
// A thread owns `held` neighbouring keys and counts them in counters of its own, sixteen of them in eight words of two halves. The
// prefix sum over all of these, counter by counter, is where each thread's keys of each half digit go. What moves are tokens: a
// key's digit and its position in the tile.

const HALF_BITS: u32 = RADIX_BITS / 2u;
const HALF_RADIX: u32 = 1u << HALF_BITS;
const COUNTER_WORDS: u32 = HALF_RADIX / 2u;
// The tokens lie behind the counters on the board.
const TOKENS: u32 = COUNTER_WORDS * GROUP;

var<workgroup> bounds: array<u32, RADIX + 1u>;

// The position in the tile of a thread's item, where each holds so many.
fn item_index(item: u32, held: u32) -> u32 {
    return thread * held + item;
}

// From one item of a thread to the next.
fn item_stride() -> u32 {
    return 1u;
}

// How many digits a thread owns, from `thread * DIGITS` on.
fn owned_digits() -> u32 {
    return DIGITS;
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

// Replaces the digit of each item that is held by its position in the tile in order of the digits, always stably. The items from `present` on
// have the largest digit, so that they come last. Calls `counted` with the number of keys below `present` of each digit and of those
// below it.
fn rank_tile(items: ptr<function, array<u32, KEYS>>, present: u32, held: u32, stable: bool) {
    var tokens: array<u32, KEYS>;
#repeat item KEYS
        if (item < held) {
            tokens[item] = ((*items)[item] << 16u) | item_index(item, held);
        }
#end
    place_by_half(&tokens, 16u, held);
#repeat item KEYS
        if (item < held) {
            tokens[item] = word_at(TOKENS + item_index(item, held));
        }
#end
    workgroupBarrier();
    place_by_half(&tokens, 16u + HALF_BITS, held);

    // Where each digit starts: the first token that is not below it.
    for (var digit = thread; digit <= RADIX; digit += GROUP) {
        var low = 0u;
        var high = present;
        while (low < high) {
            let middle = (low + high) / 2u;
            if ((word_at(TOKENS + middle) >> 16u) < digit) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        bounds[digit] = low;
    }
#repeat item KEYS
        if (item < held) {
            tokens[item] = word_at(TOKENS + item_index(item, held));
        }
#end
    workgroupBarrier();
    for (var i = 0u; i < DIGITS; i++) {
        let digit = owned_digit(i);
        counted(i, digit, bounds[digit], bounds[digit + 1u] - bounds[digit]);
    }
    // Each token tells the one whose key it stands for where it is.
#repeat item KEYS
        if (item < held) {
            put_word(tokens[item] & 0xffffu, item_index(item, held));
        }
#end
    workgroupBarrier();
#repeat item KEYS
        if (item < held) {
            (*items)[item] = word_at(item_index(item, held));
        }
#end
    workgroupBarrier();
}

// Puts the tokens of all threads in order of the half digit at `shift`, stably.
fn place_by_half(tokens: ptr<function, array<u32, KEYS>>, shift: u32, held: u32) {
    for (var i = 0u; i < COUNTER_WORDS; i++) {
        put_word(i * GROUP + thread, 0u);
    }
    // The counters are the thread's own until the next barrier.
    var ranks: array<u32, KEYS>;
#repeat item KEYS
        if (item < held) {
            let half_digit = ((*tokens)[item] >> shift) & (HALF_RADIX - 1u);
            let counter = (half_digit % COUNTER_WORDS) * GROUP + thread;
            let upper = 16u * (half_digit / COUNTER_WORDS);
            let counters = word_at(counter);
            ranks[item] = (counters >> upper) & 0xffffu;
            put_word(counter, counters + (1u << upper));
        }
#end
    workgroupBarrier();
    sum_up_counters();
#repeat item KEYS
        if (item < held) {
            let half_digit = ((*tokens)[item] >> shift) & (HALF_RADIX - 1u);
            let counters = word_at((half_digit % COUNTER_WORDS) * GROUP + thread);
            let start = (counters >> (16u * (half_digit / COUNTER_WORDS))) & 0xffffu;
            put_word(TOKENS + start + ranks[item], (*tokens)[item]);
        }
#end
    workgroupBarrier();
}

// Replaces each counter by the sum of those before it: those of lower words and threads, and all lower halves before the upper ones.
fn sum_up_counters() {
    let first = thread * COUNTER_WORDS;
    var sum = 0u;
    for (var i = 0u; i < COUNTER_WORDS; i++) {
        sum += word_at(first + i);
    }
    let sums_before = sum_up(thread, sum) - sum;
    // No half exceeds the tile, so nothing is carried from the lower halves to the upper ones but on purpose.
    let lower_total = sums[GROUP - 1u] & 0xffffu;
    var before = sums_before + (lower_total << 16u);
    for (var i = 0u; i < COUNTER_WORDS; i++) {
        let counters = word_at(first + i);
        put_word(first + i, before);
        before += counters;
    }
    workgroupBarrier();
}
