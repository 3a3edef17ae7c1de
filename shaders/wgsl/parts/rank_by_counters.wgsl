// Ranks the keys of a tile by one digit, stably, without subgroup operations. It takes two counting sorts, each by half
// of the digit's bits.
//
// A thread owns `held` neighboring keys. It counts their half digits in 16 counters of its own, two in each of eight
// words. The prefix sum over the counters of all threads, counter by counter, is where each thread's keys of each half
// digit go. Tokens move instead of keys: a token is a key's digit and, in its low 16 bits, the key's index in the tile.

const HALF_BITS: u32 = RADIX_BITS / 2u;
const HALF_RADIX: u32 = 1u << HALF_BITS;
const COUNTER_WORDS: u32 = HALF_RADIX / 2u;
// The tokens lie in `board` behind the counters.
const TOKENS: u32 = COUNTER_WORDS * GROUP;

var<workgroup> bounds: array<u32, RADIX + 1u>;

// Returns the index in the tile of a thread's item, if each thread holds `held` of them.
fn item_index(item: u32, held: u32) -> u32 {
    return thread * held + item;
}

// Returns the distance in the tile from one item of a thread to its next.
fn item_stride() -> u32 {
    return 1u;
}

// Returns how many digits a thread owns, from `thread * DIGITS` on.
fn owned_digits() -> u32 {
    return DIGITS;
}

fn owned_digit(i: u32) -> u32 {
    return thread * DIGITS + i;
}

// Replaces the digit of each item by the item's index in the tile's new order: by digit, and by index among equal
// digits, whatever `stable` is. The items from `present` on must have the largest digit, so that they come last. Calls
// `counted` for each digit that the thread owns, with the number of keys below `present` that have a smaller digit
// (`start`), and that have this one (`total`).
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

    // Finds where each digit starts: at the first token whose digit is not smaller.
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
    // Writes each token's index in the new order to the word of the key that it stands for.
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

// Sorts the tokens of all threads by the half digit at bit `shift`, stably.
fn place_by_half(tokens: ptr<function, array<u32, KEYS>>, shift: u32, held: u32) {
    for (var i = 0u; i < COUNTER_WORDS; i++) {
        put_word(i * GROUP + thread, 0u);
    }
    // Until the next barrier, each thread accesses its own counters alone.
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

// Replaces each counter by the sum of those before it: first the lower halves of all words, in their order, then the
// upper halves.
fn sum_up_counters() {
    let first = thread * COUNTER_WORDS;
    var sum = 0u;
    for (var i = 0u; i < COUNTER_WORDS; i++) {
        sum += word_at(first + i);
    }
    let sums_before = sum_up(thread, sum) - sum;
    // A sum of lower halves does not exceed the tile, so that it does not carry into the upper half. The shift below
    // adds their total to the upper halves on purpose.
    let lower_total = sums[GROUP - 1u] & 0xffffu;
    var before = sums_before + (lower_total << 16u);
    for (var i = 0u; i < COUNTER_WORDS; i++) {
        let counters = word_at(first + i);
        put_word(first + i, before);
        before += counters;
    }
    workgroupBarrier();
}
