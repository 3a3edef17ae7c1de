// Moves the keys of one tile to their offsets in the order by one digit, with one read and one write of each key,
// and one more read where a waiting workgroup counts the tile.
//
// A chain is a list of tiles that are sorted together: all tiles, or those of one bucket. Among the keys of a chain with
// the same digit value, those of an earlier tile come first. The workgroup of a tile counts the digits of its keys,
// publishes the counts, and adds up the counts of earlier tiles to find the offsets of the keys. This is decoupled look-back (Merrill and Garland, 2016)
// in a radix sort (Adinets and Merrill, "Onesweep", 2022).
//
// `status` has a word for each tile and digit value. Its two top bits are a flag, the rest is a count:
//
//   0           nothing is published yet
//   AGGREGATE   how many keys of the tile have the digit value
//   INCLUSIVE   how many keys of the tile and of all earlier tiles of the chain have the digit value
//
// During a pass, a word only changes by atomicMax, and never becomes smaller. All workgroups that count a tile publish
// the same counts. So it does not matter which of them does, or how often.
//
// No device promises that another workgroup makes progress. A workgroup that has waited too long for a tile therefore
// counts that tile itself: it reads the tile's keys from the input of the pass, and publishes the counts.
//
// The kernel sets `tile` and `digit_index`, and defines `first_tile`, tile_start, smaller_keys and placed. sweep() calls
// placed() when the tile's offsets are known. All tiles of a chain but the last must be full.

const AGGREGATE: u32 = 1u << 30u;
const INCLUSIVE: u32 = 2u << 30u;
const COUNT: u32 = AGGREGATE - 1u;

var<workgroup> missing: atomic<u32>;

var<private> tile: u32;
var<private> digit_index: u32;
// For each digit that this thread owns: how many keys of the tile have it, and where they start in the tile's new
// order.
var<private> totals_of: array<u32, DIGITS>;
var<private> starts_of: array<u32, DIGITS>;
// For each of these digits: where its keys go in the output, minus their start in the tile's new order.
var<private> places_of: array<u32, DIGITS>;

// Moves the tile's keys, of which there are `present`. Unless `stable`, keys with the same digit may change their
// order.
fn sweep(present: u32, stable: bool) {
    let digit = digit_at(digit_index);
    let first = tile_start(tile);
    for (var i = thread; i < RADIX; i += GROUP) {
        status_next[tile * RADIX + i] = 0u;
    }

    var keys: array<Key, KEYS>;
    var items: array<u32, KEYS>;
    let source = keys_from_first() + first;
    // Nearly all tiles are full. In others, items past the last key repeat that key, with the largest digit.
    if (present == TILE) {
        let at = source + item_index(0u, KEYS);
#repeat item KEYS
        keys[item] = keys_from[at + item * item_stride()];
#end
    } else {
#repeat item KEYS
        keys[item] = keys_from[source + min(item_index(item, KEYS), present - 1u)];
#end
    }
#repeat item KEYS
        items[item] = digit_of(keys[item], digit);
#end
    if (present < TILE) {
#repeat item KEYS
        items[item] = select(RADIX - 1u, items[item], item_index(item, KEYS) < present);
#end
    }
    rank_tile(&items, present, KEYS, stable);
    put_keys(&keys, &items, 0u);
    look_back();
    for (var i = 0u; i < owned_digits(); i++) {
        set_offset(owned_digit(i), keys_to_first() + places_of[i]);
    }
    workgroupBarrier();
    placed();
    move_tile(&keys, &items, digit, first, present);
}

fn is_blocked() -> bool {
    return tile >= sort.blocked.x && tile < sort.blocked.y && tile % sort.blocked.z == sort.blocked.w;
}

fn publish(of_tile: u32, digit: u32, word: u32) {
    atomicMax(&status[of_tile * RADIX + digit], word);
}

// Publishes a count of the tile as soon as it is known. rank_tile() calls this for each digit that the thread owns.
fn counted(i: u32, digit: u32, start: u32, total: u32) {
    starts_of[i] = start;
    totals_of[i] = total;
    if (!is_blocked()) {
        publish(tile, digit, select(AGGREGATE, INCLUSIVE, tile == first_tile) | total);
    }
}

// Finds how many keys of each of the thread's digits lie in earlier tiles of the chain. Publishes each sum at once, and
// sets `places_of`.
fn look_back() {
    // For each digit: the keys in the tiles that the thread has seen, and the end of the tiles that it has not.
    var earlier: array<u32, DIGITS>;
    var left: array<u32, DIGITS>;
    let owned = owned_digits();
    for (var i = 0u; i < owned; i++) {
        earlier[i] = 0u;
        left[i] = tile;
    }
    loop {
#if WIDE
        // The thread reads one word for each of several digits at a time: it owns enough digits. All tiles are one
        // chain, from tile 0 on.
        for (var i = 0u; i < owned; i += LOOK_DIGITS) {
#repeat d LOOK_DIGITS
            var before_@ = left[i + d];
            var sum_@ = earlier[i + d];
#end
            var waits = tile;
            var spins = 0u;
            while (waits > 0u && spins < SPIN_LIMIT) {
#repeat d LOOK_DIGITS
                var word_@ = 0u;
                if (before_@ > 0u) {
                    word_@ = atomicLoad(&status[(before_@ - 1u) * RADIX + owned_digit(i + d)]);
                }
#end
                var seen = false;
                waits = 0u;
#repeat d LOOK_DIGITS
                if (word_@ >= AGGREGATE) {
                    sum_@ += word_@ & COUNT;
                    before_@ = select(before_@ - 1u, 0u, word_@ >= INCLUSIVE);
                    seen = true;
                }
                waits |= before_@;
#end
                spins = select(spins + 1u, 0u, seen);
            }
#repeat d LOOK_DIGITS
            looked(i + d, left[i + d], before_@, sum_@);
            left[i + d] = before_@;
            earlier[i + d] = sum_@;
#end
        }
#else
#repeat i DIGITS
        if (i < owned) {
            let value = owned_digit(i);
            var before = left[i];
            var sum = earlier[i];
            var spins = 0u;
            while (before > first_tile && spins < SPIN_LIMIT) {
                // While it waits, the thread reads one word alone.
                if (spins > 0u && atomicLoad(&status[(before - 1u) * RADIX + value]) < AGGREGATE) {
                    spins += 1u;
                    continue;
                }
                // Else the thread reads several words: the reads do not wait for each other. Before the first tile of
                // the chain, the sum is 0.
#repeat w LOOK
                let word_@ = select(INCLUSIVE, atomicLoad(&status[(max(before, first_tile + w + 1u) - w - 1u) * RADIX + value]), before > first_tile + w);
#end
                var seen = true;
#repeat w LOOK
                seen = seen && word_@ >= AGGREGATE;
                if (seen && before > first_tile) {
                    sum += word_@ & COUNT;
                    before = select(before - 1u, first_tile, word_@ >= INCLUSIVE);
                }
#end
                spins = select(spins + 1u, 0u, seen);
            }
            looked(i, left[i], before, sum);
            left[i] = before;
            earlier[i] = sum;
        }
#end
#endif
        let stuck = workgroupUniformLoad(&missing);
        if (stuck == 0u) {
            break;
        }
        recount(stuck - 1u, digit_at(digit_index));
        if (thread == 0u) {
            atomicStore(&missing, 0u);
        }
        workgroupBarrier();
    }
}

// Takes the result of a look: the tiles that have not been seen ended at `left`, now end at `before`, and `sum` keys
// have been seen.
fn looked(i: u32, left: u32, before: u32, sum: u32) {
    let value = owned_digit(i);
    if (before > first_tile) {
        atomicMax(&missing, before);
    } else if (left > first_tile || tile == first_tile) {
        if (!is_blocked()) {
            publish(tile, value, INCLUSIVE | (sum + totals_of[i]));
        }
        places_of[i] = smaller_keys(value) + sum - starts_of[i];
    }
}

// Counts another tile, which must be full, and publishes its counts.
fn recount(of_tile: u32, digit: Digit) {
    for (var i = thread; i < RADIX; i += GROUP) {
        set_offset(i, 0u);
    }
    workgroupBarrier();
    let source = keys_from_first() + tile_start(of_tile);
    for (var i = thread; i < TILE; i += GROUP) {
        add_to_offset(digit_of(keys_from[source + i], digit));
    }
    workgroupBarrier();
    for (var i = thread; i < RADIX; i += GROUP) {
        publish(of_tile, i, select(AGGREGATE, INCLUSIVE, of_tile == first_tile) | offset_of(i));
    }
    if (thread == 0u) {
        atomicAdd(&state[STATE_RECOUNTS], 1u);
    }
}
