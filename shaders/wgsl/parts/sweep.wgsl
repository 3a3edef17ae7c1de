// Moves a tile of keys by one digit, in one read and one write, to where the keys of all earlier tiles of a chain leave off.
//
// A tile counts its digits, publishes the counts, and looks back over the counts of earlier tiles for where its keys go: decoupled look-back
// (Merrill and Garland, 2016) in a radix sort (Adinets and Merrill, "Onesweep", 2022). A status word holds a count and a flag: empty, the
// count of a tile, or of all tiles of the chain up to it. It only ever grows, by atomicMax, so it does not matter who publishes it, or how
// often. No device promises that other groups make progress: who waits too long for a tile counts it itself, from the source, and publishes
// that.
//
// The kernel tells the tile, the first one of its chain, the digit, where tiles start, and how many keys of the chain have smaller digits; it is
// told when it is known where the tile's keys go.
// All tiles of a chain but the last are whole.

const AGGREGATE: u32 = 1u << 30u;
const INCLUSIVE: u32 = 2u << 30u;
const COUNT: u32 = AGGREGATE - 1u;

var<workgroup> missing: atomic<u32>;

var<private> tile: u32;
var<private> digit_index: u32;
// Of this thread's digits: keys in the tile, and their start in it.
var<private> totals_of: array<u32, DIGITS>;
var<private> starts_of: array<u32, DIGITS>;
// And where they go in the output, less their start in the tile.
var<private> places_of: array<u32, DIGITS>;

// Moves the tile's keys, of which `present` are there: stably, or those of the same digit in any order unless `stable`.
fn sweep(present: u32, stable: bool) {
    let digit = digit_at(digit_index);
    let first = tile_start(tile);
    for (var i = thread; i < RADIX; i += GROUP) {
        status_next[tile * RADIX + i] = 0u;
    }

    var keys: array<Key, KEYS>;
    var items: array<u32, KEYS>;
    let source = keys_from_first() + first;
    // Nearly all tiles are whole. In others the last key stands for those that are absent, with the largest digit.
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

// Publishes the tile's own counts as soon as they are known.
fn counted(i: u32, digit: u32, start: u32, total: u32) {
    starts_of[i] = start;
    totals_of[i] = total;
    if (!is_blocked()) {
        publish(tile, digit, select(AGGREGATE, INCLUSIVE, tile == first_tile) | total);
    }
}

// Finds how many keys of each of the thread's digits lie in earlier tiles of the chain, publishes that at once, and sets `places_of`.
fn look_back() {
    // Per digit, the keys in the tiles that were seen, and the end of those that are left.
    var earlier: array<u32, DIGITS>;
    var left: array<u32, DIGITS>;
    let owned = owned_digits();
    for (var i = 0u; i < owned; i++) {
        earlier[i] = 0u;
        left[i] = tile;
    }
    loop {
#if WIDE
        // One word of each of several digits at once: a thread owns enough of them. All tiles are one chain.
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
                // Whoever waits looks at one word alone.
                if (spins > 0u && atomicLoad(&status[(before - 1u) * RADIX + value]) < AGGREGATE) {
                    spins += 1u;
                    continue;
                }
                // Some at once: the reads do not wait for each other. Before the chain there is nothing.
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

// What comes of a look: of the tiles up to `left` those up to `before` are left, and `sum` keys of the digit were seen.
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

// Counts another tile, a whole one, and publishes its counts.
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
