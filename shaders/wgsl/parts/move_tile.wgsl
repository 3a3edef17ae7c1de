// Moves a ranked tile: through the board, where it takes its new order, to its places in the output, so that neighbours are
// written together.

// Where each digit's keys go, less their position in the tile; counts of another tile before that.
var<workgroup> offsets: array<atomic<u32>, RADIX>;

fn set_offset(digit: u32, offset: u32) {
    atomicStore(&offsets[digit], offset);
}

// Puts the keys of a tile on the board, `items` being their places in it. `present` of them are there.
fn put_keys(keys: ptr<function, array<Key, KEYS>>, items: ptr<function, array<u32, KEYS>>, present: u32, whole: bool) {
#repeat item KEYS
        if (whole || item_index(item) < present) {
            put_key((*items)[item], (*keys)[item]);
        }
#end
}

// Writes the keys that are on the board, and the values of the same tile, which starts at `first`, once `offsets` hold.
fn move_tile(items: ptr<function, array<u32, KEYS>>, digit: Digit, first: u32, present: u32, whole: bool) {
    var places: array<u32, KEYS>;
#repeat i KEYS
        let index = i * GROUP + thread;
        if (whole || index < present) {
            let key = key_at(index);
            places[i] = atomicLoad(&offsets[digit_of(key, digit)]) + index;
            keys_to[keys_to_first() + places[i]] = key;
        }
#end
#if VALUES
    var values: array<Value, KEYS>;
#repeat item KEYS
        values[item] = value_of(first + select(min(item_index(item), present - 1u), item_index(item), whole));
#end
    workgroupBarrier();
#repeat item KEYS
        if (whole || item_index(item) < present) {
            put_value((*items)[item], values[item]);
        }
#end
    workgroupBarrier();
#repeat i KEYS
        let index = i * GROUP + thread;
        if (whole || index < present) {
            values_to[values_to_first() + places[i]] = value_at(index);
        }
#end
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
