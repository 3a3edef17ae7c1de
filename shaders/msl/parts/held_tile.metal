// Reads a tile that a threadgroup sorts in registers, and writes it back.
//
// A tile has `present` keys. Each thread holds me.held of them and, if the sort has values, the index of each key.

// Reads the keys. Items past the last key repeat that key, so that each load is unconditional. sort_by_digit does not
// move these items.
inline void read_held(
    const thread Thread& me,
    const device Key* keys_from,
    uint present,
#if VALUES
    thread uint* positions,
#endif
    thread Key* keys) {
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held) {
            const uint at = item_index(me, item);
            keys[item] = keys_from[min(at, present - 1u)];
#if VALUES
            positions[item] = at;
#endif
        }
    }
}

// Writes the keys in their new order, and moves the values. `keys_to` may be the memory that
// read_held read, and `values_to` may be `values_from`.
inline void write_held(
    const thread Thread& me,
    const thread Key* keys,
    uint present,
#if VALUES
    const thread uint* positions,
    const device Value* values_from,
    device Value* values_to,
#endif
    device Key* keys_to) {
#if VALUES
    Value values[KEYS];
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        if (item < me.held && item_index(me, item) < present) {
            values[item] = values_from[positions[item]];
        }
    }
#endif
    // The threadgroup reads everything before it writes anything.
    threadgroup_barrier(mem_flags::mem_device);
#pragma unroll
    for (uint item = 0u; item < KEYS; item++) {
        const uint at = item_index(me, item);
        if (item < me.held && at < present) {
            keys_to[at] = keys[item];
#if VALUES
            values_to[at] = values[item];
#endif
        }
    }
}
