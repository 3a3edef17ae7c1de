// Sorts a tile that a workgroup keeps in registers. Each thread holds ceil(present / GROUP) keys, and, if values move,
// the index of each.
//
// The kernel provides the accesses (held_key, held_value, put_key_home, put_value_home) and the digits to sort by
// (held_digit).

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
