// Moves a ranked tile: through the board, where it takes its new order, to its places in the output, so that neighbours are
// written together.

// Where each digit's keys go, less their position in the tile.
var<workgroup> offsets: array<u32, RADIX>;

// Puts the keys of a tile on the board, `items` being their places in it. `present` of them are there.
fn put_keys(keys: ptr<function, array<Key, KEYS>>, items: ptr<function, array<u32, KEYS>>, present: u32) {
    for (var item = 0u; item < KEYS; item++) {
        if (item_index(item) < present) {
            put_key((*items)[item], (*keys)[item]);
        }
    }
}

// Writes the keys that are on the board, and the values of the same tile, which starts at `first`, once `offsets` hold.
fn move_tile(items: ptr<function, array<u32, KEYS>>, digit: vec4<u32>, first: u32, present: u32) {
    var places: array<u32, KEYS>;
    for (var i = 0u; i < KEYS; i++) {
        let index = i * GROUP + thread;
        if (index < present) {
            let key = key_at(index);
            places[i] = offsets[digit_of(key, digit)] + index;
            keys_to[keys_to_first() + places[i]] = key;
        }
    }
#if VALUES
    var values: array<Value, KEYS>;
    for (var item = 0u; item < KEYS; item++) {
        let index = item_index(item);
        if (index < present) {
            values[item] = value_of(first + index);
        }
    }
    workgroupBarrier();
    for (var item = 0u; item < KEYS; item++) {
        if (item_index(item) < present) {
            put_value((*items)[item], values[item]);
        }
    }
    workgroupBarrier();
    for (var i = 0u; i < KEYS; i++) {
        let index = i * GROUP + thread;
        if (index < present) {
            values_to[values_to_first() + places[i]] = value_at(index);
        }
    }
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
