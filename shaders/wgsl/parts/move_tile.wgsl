// Moves a ranked tile to its places in the output: through the board, where it takes its new order, so that neighbours are written
// together. It goes in slices, since workgroup memory is what limits how many groups a device works on at a time.

// Where each digit's keys go in the output, less their position in the tile; counts of another tile before that.
#if WIDE
// Behind the slice on the board.
const OFFSETS: u32 = BOARD - RADIX;

fn set_offset(digit: u32, offset: u32) {
    put_word(OFFSETS + digit, offset);
}

fn offset_of(digit: u32) -> u32 {
    return word_at(OFFSETS + digit);
}

fn add_to_offset(digit: u32) {
    atomicAdd(&board[OFFSETS + digit], 1u);
}
#else
var<workgroup> offsets: array<atomic<u32>, RADIX>;

fn set_offset(digit: u32, offset: u32) {
    atomicStore(&offsets[digit], offset);
}

fn offset_of(digit: u32) -> u32 {
    return atomicLoad(&offsets[digit]);
}

fn add_to_offset(digit: u32) {
    atomicAdd(&offsets[digit], 1u);
}
#endif

// Puts the keys of the slice that starts at `slice_first` on the board, `items` being the places of the tile's keys in it.
fn put_keys(keys: ptr<function, array<Key, KEYS>>, items: ptr<function, array<u32, KEYS>>, slice_first: u32) {
#repeat item KEYS
        let place = (*items)[item] - slice_first;
        if (place < SLICE) {
            put_key(place, (*keys)[item]);
        }
#end
}

// Writes the keys of a tile of which the first slice is on the board, and the values of the same tile, which starts at `first`, once
// `offsets` hold. `present` of them are there.
fn move_tile(
    keys: ptr<function, array<Key, KEYS>>,
    items: ptr<function, array<u32, KEYS>>,
    digit: Digit,
    first: u32,
    present: u32,
) {
#if VALUES
    var values: array<Value, KEYS>;
    // As keys are read: nearly all tiles are whole.
    if (present == TILE) {
        let at = first + item_index(0u, KEYS);
#repeat item KEYS
        values[item] = value_of(at + item * item_stride());
#end
    } else {
#repeat item KEYS
        values[item] = value_of(first + min(item_index(item, KEYS), present - 1u));
#end
    }
#endif
    for (var slice_first = 0u; slice_first < TILE; slice_first += SLICE) {
        if (slice_first > 0u) {
            workgroupBarrier();
            put_keys(keys, items, slice_first);
            workgroupBarrier();
        }
        // Those of the slice that are there.
        let here = min(present - min(present, slice_first), SLICE);
#if VALUES
        // What is not there is read and not written, so that no read waits for that to be known.
        var places: array<u32, SLICE_KEYS>;
#repeat i SLICE_KEYS
        let index = i * GROUP + thread;
        let key = key_at(index);
        places[i] = place_of(key, digit, slice_first + index);
        if (index < here) {
            keys_to[places[i]] = key;
        }
#end
        workgroupBarrier();
#repeat item KEYS
        let place = (*items)[item] - slice_first;
        if (place < SLICE) {
            put_value(place, values[item]);
        }
#end
        workgroupBarrier();
#repeat i SLICE_KEYS
        let index = i * GROUP + thread;
        let value = value_at(index);
        if (index < here) {
            values_to[places[i] + (values_to_first() - keys_to_first())] = value;
        }
#end
#else
        var begin = thread;
        // Some at a time, where a thread has so many: the reads do not wait for each other.
        if (here == SLICE) {
            for (; begin < SLICE; begin += CHUNK * GROUP) {
                var held: array<Key, CHUNK>;
                var places: array<u32, CHUNK>;
#repeat i CHUNK
                    held[i] = key_at(begin + i * GROUP);
#end
#repeat i CHUNK
                    places[i] = place_of(held[i], digit, slice_first + begin + i * GROUP);
#end
#repeat i CHUNK
                    keys_to[places[i]] = held[i];
#end
            }
        }
        for (; begin < here; begin += GROUP) {
            let key = key_at(begin);
            keys_to[place_of(key, digit, slice_first + begin)] = key;
        }
#endif
    }
}

// Where the key goes that is at a position of the ranked tile.
fn place_of(key: Key, digit: Digit, position: u32) -> u32 {
#if LISTS
    // Where segments overlap, keys change while they are sorted.
    return min(offset_of(digit_of(key, digit)) + position, keys_to_first() + sort.max - 1u);
#else
    return offset_of(digit_of(key, digit)) + position;
#endif
}

#if VALUES
fn value_of(index: u32) -> Value {
#if INDEXED
    if (slot.value == 0u) {
        return index;
    }
#endif
    return values_from[values_from_first() + index];
}
#endif
