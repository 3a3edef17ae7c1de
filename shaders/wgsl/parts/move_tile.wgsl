// Writes a ranked tile to its places in the output. The keys take their new order in `board`, so that neighboring
// threads write neighboring words. The tile is written in slices: the less workgroup memory a workgroup takes, the more
// of them run at a time.

// For each digit: where its keys go in the output, minus their start in the tile's new order. recount() counts another
// tile here before.
#if WIDE
// The offsets lie in `board`, behind the slice.
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

// Puts the keys of the slice that starts at `slice_first` into `board`. `items` are the indices of the thread's keys in
// the tile's new order.
fn put_keys(keys: ptr<function, array<Key, KEYS>>, items: ptr<function, array<u32, KEYS>>, slice_first: u32) {
#repeat item KEYS
        let place = (*items)[item] - slice_first;
        if (place < SLICE) {
            put_key(place, (*keys)[item]);
        }
#end
}

// Writes the keys of a tile, and their values. The first slice of the keys is in `board`, and the offsets are set. The
// values start at index `first` of the source; `present` keys of the tile exist.
fn move_tile(
    keys: ptr<function, array<Key, KEYS>>,
    items: ptr<function, array<u32, KEYS>>,
    digit: Digit,
    first: u32,
    present: u32,
) {
#if VALUES
    var values: array<Value, KEYS>;
    // As the keys are read in sweep(): nearly all tiles are full, and need no bounds check.
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
        // The keys of this slice that exist.
        let here = min(present - min(present, slice_first), SLICE);
#if VALUES
        // The thread also reads words past the last key, but does not write them: so no read waits for the check.
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
        // The thread writes a full slice in chunks: the reads of a chunk do not wait for each other.
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

// Returns where the key at index `position` of the tile's new order goes in the output.
fn place_of(key: Key, digit: Digit, position: u32) -> u32 {
#if LISTS
    // Overlapping segments change each other's keys during the sort. The limit keeps the write inside the buffer.
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
