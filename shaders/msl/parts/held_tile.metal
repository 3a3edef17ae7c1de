// Reads a tile that a threadgroup sorts in registers, and writes it back.
//
// A tile has `present` keys. Each thread holds me.held of them and, if the sort has values, the index of each key.

// Reads the keys. Items past the last key repeat that key: no load waits for a branch. They stay behind the keys.
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

// Writes the keys in their new order, and moves the values. The result may lie in the memory from which the threadgroup
// has read the keys, or reads the values.
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
