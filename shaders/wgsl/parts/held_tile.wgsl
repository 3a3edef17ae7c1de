// Sorts one tile in registers, stably, one digit at a time.
//
// `present` is the number of keys of the tile. Each thread keeps ceil(present / GROUP) keys in registers and, if the
// sort has values, the index of each key. The workgroup reads all keys and values before it writes any, so source and
// result may be the same memory.
//
// The kernel provides held_key and held_value (read), put_key_home and put_value_home (write), and held_digit (returns
// the digit of round `d`, least significant first).

fn sort_held(present: u32, digits: u32) {
    let held = (present + GROUP - 1u) / GROUP;
    var keys: array<Key, KEYS>;
#if VALUES
    var positions: array<u32, KEYS>;
#endif
    // Items past the last key repeat that key. sort_by_digit gives them the largest digit, so that they stay behind the
    // keys.
#repeat item KEYS
        if (item < held) {
            let index = item_index(item, held);
            keys[item] = held_key(min(index, present - 1u));
#if VALUES
            positions[item] = index;
#endif
        }
#end
    for (var d = 0u; d < digits; d++) {
#if VALUES
        sort_by_digit(&keys, &positions, present, held, held_digit(d));
#else
        sort_by_digit(&keys, present, held, held_digit(d));
#endif
    }
#if VALUES
    var values: array<Value, KEYS>;
#repeat item KEYS
        if (item < held && item_index(item, held) < present) {
            values[item] = held_value(positions[item]);
        }
#end
#endif
    // The workgroup reads everything before it writes anything: it may sort in place.
    storageBarrier();
#repeat item KEYS
        let index = item_index(item, held);
        if (item < held && index < present) {
            put_key_home(index, keys[item]);
#if VALUES
            put_value_home(index, values[item]);
#endif
        }
#end
}
