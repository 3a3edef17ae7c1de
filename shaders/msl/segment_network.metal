// Sorts short segments with a bitonic network (Batcher, "Sorting networks and their applications", 1968). A team of
// threads sorts one segment.
//
// in       sort; state: the number of segments of each class; lists: the first key and the number of keys of each
// in, out  keys_home, values_home: the segments, sorted in place
// launch   any number of threadgroups, which share the segments
// does     A team has 1, 2, 4, … threads, by the class of its segment. Each thread holds KEYS keys as ordered bits. It
//          also holds their positions if values move, or if keys with equal ordered bits can differ: equal keys then
//          keep their order. The network merges sorted runs in pairs. Its first step compares each key with the one
//          that mirrors it in the other run; further steps compare keys at half the distance, a quarter, and so on. A
//          thread compares its own keys in registers. Lanes of a simdgroup exchange keys by shuffles, and threads of
//          different simdgroups through `board`, an array in threadgroup memory.
// needs    simdgroups of 32 lanes

// The words of the keys, and of their positions if threads hold them. After the network, a gap follows the keys of each
// thread, so that threads write to different banks.
#define BOARD_KEYS (GROUP * (KEYS + 1u))
#if CARRIES
#define BOARD_WORDS ((KEY_WORDS + 1u) * BOARD_KEYS)
#else
#define BOARD_WORDS (KEY_WORDS * BOARD_KEYS)
#endif

// What a thread holds of a key: the bits that the order goes by, as ordered words, and the key's position in its segment.
struct Item {
    Key bits;
#if CARRIES
    uint position;
#endif
};

// Returns the bits of a key that the order goes by, as ordered words.
inline Key counting_bits(Key key, constant Sort& sort) {
    Key bits = key;
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        bits = with_word(bits, word, ordered_word(key, word, sort) & sort.window[word]);
    }
    return bits;
}
#if CARRIES
#else

// Returns the key with these ordered bits. `flip` has no sign bit, so that `clear` alone gives back the sign.
inline Key key_of(Key bits, constant Sort& sort) {
    const uint sign = 0u - ((top_word(bits) ^ sort.clear[KEY_WORDS - 1u]) >> 31u);
    Key key = bits;
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        key = with_word(key, word, key_word(bits, word) ^ sort.clear[word] ^ (sort.flip[word] & sign));
    }
    return key;
}
#endif

inline void put_bits(threadgroup uint* place, Key bits) {
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        place[word * BOARD_KEYS] = key_word(bits, word);
    }
}

inline Key bits_at(const threadgroup uint* place) {
    Key bits = Key(0u);
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        bits = with_word(bits, word, place[word * BOARD_KEYS]);
    }
    return bits;
}

// Returns whether key `a` goes before key `b`. Of equal keys, the one with the lower position does, if threads hold
// positions.
inline bool goes_first(const thread Item& a, const thread Item& b) {
#if CARRIES
    bool first = a.position < b.position;
#else
    bool first = false;
#endif
    // From the least significant word on: a higher word decides, unless it is equal in both.
#pragma unroll
    for (uint word = 0u; word < KEY_WORDS; word++) {
        const uint a_word = key_word(a.bits, word);
        const uint b_word = key_word(b.bits, word);
        first = a_word < b_word || (a_word == b_word && first);
    }
    return first;
}

inline void take(thread Item& own, const thread Item& other) {
    own.bits = other.bits;
#if CARRIES
    own.position = other.position;
#endif
}

inline void order_two(thread Item& a, thread Item& b) {
    if (goes_first(b, a)) {
        Item first;
        take(first, b);
        take(b, a);
        take(a, first);
    }
}

// The last steps of a merge, in which each thread compares its own keys with each other.
inline void merge_own(thread Item* own) {
#if EIGHT
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        order_two(own[pair], own[pair + 4u]);
    }
#endif
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        const uint first = pair / 2u * 4u + pair % 2u;
        order_two(own[first], own[first + 2u]);
    }
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        order_two(own[2u * pair], own[2u * pair + 1u]);
    }
}

// Sorts the keys that a thread holds.
inline void order_own(thread Item* own) {
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        order_two(own[2u * pair], own[2u * pair + 1u]);
    }
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        const uint run = pair / 2u * 4u;
        order_two(own[run + pair % 2u], own[run + 3u - pair % 2u]);
    }
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        order_two(own[2u * pair], own[2u * pair + 1u]);
    }
#if EIGHT
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        order_two(own[pair], own[7u - pair]);
    }
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        const uint first = pair / 2u * 4u + pair % 2u;
        order_two(own[first], own[first + 2u]);
    }
#pragma unroll
    for (uint pair = 0u; pair < PAIRS; pair++) {
        order_two(own[2u * pair], own[2u * pair + 1u]);
    }
#endif
}

// Keeps the smaller of two keys in the thread with the lower number, and the larger one in the other thread. Both
// threads compare the same two keys.
inline void keep(thread Item& own, const thread Item& other, bool is_lower) {
    if (goes_first(other, own) == is_lower) {
        take(own, other);
    }
}

// Returns the item of the lane whose number differs in the bits `lanes`.
inline Item shuffled(const thread Item& own, uint lanes) {
    const ushort mask = static_cast<ushort>(lanes);
#if CARRIES
    return Item{simd_shuffle_xor(own.bits, mask), simd_shuffle_xor(own.position, mask)};
#else
    return Item{simd_shuffle_xor(own.bits, mask)};
#endif
}

// The first step of a merge of two runs, in lanes whose numbers differ in the bits `lanes`: compares each key with the
// one that mirrors it.
inline void mirror_lanes(thread Item* own, uint lane, uint lanes) {
    const bool is_lower = lane < (lane ^ lanes);
#pragma unroll
    for (uint i = 0u; i < PAIRS; i++) {
        const Item last = shuffled(own[KEYS - 1u - i], lanes);
        const Item first = shuffled(own[i], lanes);
        keep(own[i], last, is_lower);
        keep(own[KEYS - 1u - i], first, is_lower);
    }
}

// Does the steps of a merge at distances of `reach` lanes and less, then those within each thread. `reach` must be less
// than LANES.
inline void merge_lanes(thread Item* own, uint lane, uint reach) {
    for (uint lanes = reach; lanes > 0u; lanes /= 2u) {
        const bool is_lower = lane < (lane ^ lanes);
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            const Item other = shuffled(own[i], lanes);
            keep(own[i], other, is_lower);
        }
    }
    merge_own(own);
}

// One step of a merge between simdgroups: compares each key with one of the thread whose number differs in the bits
// `threads`. If `mirrored`, that thread's items count from its last one.
inline void exchange(thread Item* own, uint index, uint threads, bool mirrored, threadgroup uint* board) {
#pragma unroll
    for (uint i = 0u; i < KEYS; i++) {
        put_bits(board + i * GROUP + index, own[i].bits);
#if CARRIES
        board[KEY_WORDS * BOARD_KEYS + i * GROUP + index] = own[i].position;
#endif
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint partner = index ^ threads;
#pragma unroll
    for (uint i = 0u; i < KEYS; i++) {
        const uint at = (mirrored ? KEYS - 1u - i : i) * GROUP + partner;
        Item other;
        other.bits = bits_at(board + at);
#if CARRIES
        other.position = board[KEY_WORDS * BOARD_KEYS + at];
#endif
        keep(own[i], other, index < partner);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

// Sorts the keys of a team of `team` threads.
inline void order_team(thread Item* own, uint index, uint lane, uint team, threadgroup uint* board) {
    order_own(own);
    // `run` is the number of threads that together hold one sorted run.
    uint run = 1u;
    for (; run < min(team, LANES); run *= 2u) {
        mirror_lanes(own, lane, 2u * run - 1u);
        merge_lanes(own, lane, run / 2u);
    }
    for (; run < team; run *= 2u) {
        exchange(own, index, 2u * run - 1u, true, board);
        for (uint reach = run / 2u; reach >= LANES; reach /= 2u) {
            exchange(own, index, reach, false, board);
        }
        merge_lanes(own, lane, LANES / 2u);
    }
}

// Returns the index in `board` of item `i` of all items: a gap follows those of each thread.
inline uint apart(uint i) {
    return i + i / KEYS;
}

// Returns the work of a unit: the class of its segments, the first of them on its list, and how many
// segments of that class remain from there on; 0 if no unit is left. A unit is as many segments of a class as a threadgroup has teams for.
inline uint3 work_of(uint unit, const device atomic_uint* state, constant Sort& sort) {
    uint before = 0u;
    for (uint kind = 0u; kind < SMALL_CLASS; kind++) {
        const uint teams = GROUP >> kind;
        const uint there = listed(kind, state, sort);
        const uint units = (there + teams - 1u) / teams;
        if (unit - before < units) {
            const uint first = (unit - before) * teams;
            return uint3(kind, first, there - first);
        }
        before += units;
    }
    return uint3(0u, 0u, 0u);
}

[[max_total_threads_per_threadgroup(GROUP)]] kernel void segment_network(
    constant Sort& sort [[buffer(0)]],
    device atomic_uint* state [[buffer(1)]],
    const device uint* lists [[buffer(2)]],
    device Key* keys_home [[buffer(3)]],
#if VALUES
    device Value* values_home [[buffer(4)]],
#endif
    uint index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]]) {
    threadgroup uint board[BOARD_WORDS];
    threadgroup uint3 work;

    for (uint unit = group_id.x;; unit += groups.x) {
        if (index == 0u) {
            work = work_of(unit, state, sort);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint3 todo = work;
        if (todo.z == 0u) {
            return;
        }
        const uint team = 1u << todo.x;
        const uint member = index & (team - 1u);
        const uint segment = index >> todo.x;
        uint begin = 0u;
        uint present = 0u;
        if (segment < todo.z) {
            const uint at = list_at(todo.x, sort) + 2u * (todo.y + segment);
            begin = lists[at];
            present = lists[at + 1u];
        }
        device Key* home = keys_home + (sort.keys_home + begin);
        Item own[KEYS];
        // Items past the segment's end are not smaller than any key, and have later positions.
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            const uint at = i * team + member;
            own[i].bits = Key(0xffffffffu);
#if CARRIES
            own[i].position = at;
#endif
            if (at < present) {
                own[i].bits = counting_bits(home[at], sort);
            }
        }
        order_team(own, index, lane, team, board);
        // Each thread holds neighboring keys. They go through `board`, so that neighboring threads write neighboring words.
        const uint first = (index - member) * KEYS;
#if CARRIES
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            board[apart(index * KEYS + i)] = own[i].position;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        Key keys[KEYS];
#if VALUES
        device Value* value_home = values_home + (sort.values_home + begin);
        Value values[KEYS];
#endif
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            const uint at = i * team + member;
            if (at < present) {
                const uint from = board[apart(first + at)];
                keys[i] = home[from];
#if VALUES
                values[i] = value_home[from];
#endif
            }
        }
        // The threadgroup reads all keys and values before it writes any.
        threadgroup_barrier(mem_flags::mem_device);
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            const uint at = i * team + member;
            if (at < present) {
                home[at] = keys[i];
#if VALUES
                value_home[at] = values[i];
#endif
            }
        }
#else
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            put_bits(board + apart(index * KEYS + i), own[i].bits);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint i = 0u; i < KEYS; i++) {
            const uint at = i * team + member;
            if (at < present) {
                home[at] = key_of(bits_at(board + apart(first + at)), sort);
            }
        }
#endif
    }
}
