// Sorts the keys of a tile that a group holds: each thread as many as it takes for all to be held, with their positions if values move as well.
//
// The kernel says where they are, and which digits they are sorted by: held_key, held_value, put_key_home, put_value_home, held_digit.

fn sort_held(present: u32, digits: u32) {
    let held = (present + GROUP - 1u) / GROUP;
    var keys: array<Key, KEYS>;
#if VALUES
    var positions: array<u32, KEYS>;
#endif
    // The last key stands for those that are absent; having the largest digits, they stay behind the others.
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
    // All is read before any is written.
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
