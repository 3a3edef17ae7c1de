// Sorts short segments with a bitonic network (Batcher, "Sorting networks and their applications", 1968). A team of
// threads sorts one segment.
//
// in       sort; state: the number of segments of each class; lists: the first key and the number of keys of each
// in, out  keys_home, values_home: the segments, sorted in place
// launch   any number of workgroups, which share the segments
// does     A team has 1, 2, 4, … threads, by the class of its segment. Each thread holds KEYS keys as ordered bits. It
//          also holds their positions if values move, or if keys with equal ordered bits can differ: equal keys then
//          keep their order. The network merges sorted runs in pairs. Its first step compares each key with the one
//          that mirrors it in the other run; further steps compare keys at half the distance, a quarter, and so on. A
//          thread compares its own keys in registers; keys of different threads go through `board`.

@group(0) @binding(0) var<uniform> sort: Sort;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read> lists: array<u32>;
@group(0) @binding(3) var<storage, read_write> keys_home: array<Key>;
#if VALUES
@group(0) @binding(4) var<storage, read_write> values_home: array<Value>;
#endif

// The words of the keys, and of their positions if threads hold them. After the network, a gap follows the keys of each
// thread, so that threads write to different banks.
const BOARD_KEYS: u32 = GROUP * (KEYS + 1u);

#if CARRIES
var<workgroup> board: array<u32, (KEY_WORDS + 1u) * BOARD_KEYS>;
#else
var<workgroup> board: array<u32, KEY_WORDS * BOARD_KEYS>;
#endif

// The class of the segments, the first of them on its list, and how many of its list are left: 0 if there is no more
// work.
var<workgroup> work: vec3<u32>;

var<private> thread: u32;

@compute @workgroup_size(GROUP)
fn segment_network(
    @builtin(local_invocation_index) thread_id: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    thread = thread_id;
    for (var unit = group_id.x; ; unit += groups.x) {
        if (thread == 0u) {
            work = work_of(unit);
        }
        let todo = workgroupUniformLoad(&work);
        if (todo.z == 0u) {
            break;
        }
        let team = 1u << todo.x;
        let own = thread >> todo.x;
        var begin = 0u;
        var present = 0u;
        if (own < todo.z) {
            let at = list_at(todo.x) + 2u * (todo.y + own);
            begin = lists[at];
            present = lists[at + 1u];
        }
        sort_segment(begin, present, team);
    }
}

// Returns the work of a unit. A unit is as many segments of a class as a workgroup has teams for.
fn work_of(unit: u32) -> vec3<u32> {
    var before = 0u;
    for (var kind = 0u; kind < SMALL_CLASS; kind++) {
        let teams = GROUP >> kind;
        let there = listed(kind);
        let units = (there + teams - 1u) / teams;
        if (unit - before < units) {
            let first = (unit - before) * teams;
            return vec3(kind, first, there - first);
        }
        before += units;
    }
    return vec3(0u);
}

fn sort_segment(begin: u32, present: u32, team: u32) {
    let member = thread & (team - 1u);
    var keys: array<Key, KEYS>;
    var positions: array<u32, KEYS>;
    // Items past the segment's end are not smaller than any key, and have later positions.
#repeat item KEYS
        let index = item * team + member;
        keys[item] = greatest_key();
        positions[item] = index;
        if (index < present) {
            keys[item] = counting_bits(keys_home[sort.keys_home + begin + index]);
        }
#end
    order_own(&keys, &positions);
    for (var run = 1u; run < team; run *= 2u) {
        exchange(&keys, &positions, 2u * run - 1u, true);
        for (var reach = run / 2u; reach > 0u; reach /= 2u) {
            exchange(&keys, &positions, reach, false);
        }
        merge_own(&keys, &positions);
    }
    // Each thread holds neighboring keys. They go through `board`, so that neighboring threads write neighboring words.
    let first = (thread - member) * KEYS;
#if CARRIES
#repeat item KEYS
        board[apart(thread * KEYS + item)] = positions[item];
#end
    workgroupBarrier();
#if VALUES
    var values: array<Value, KEYS>;
#endif
#repeat item KEYS
        let index = item * team + member;
        if (index < present) {
            let source = begin + board[apart(first + index)];
            keys[item] = keys_home[sort.keys_home + source];
#if VALUES
            values[item] = values_home[sort.values_home + source];
#endif
        }
#end
    // The workgroup reads all keys and values before it writes any.
    storageBarrier();
#repeat item KEYS
        let index = item * team + member;
        if (index < present) {
            keys_home[sort.keys_home + begin + index] = keys[item];
#if VALUES
            values_home[sort.values_home + begin + index] = values[item];
#endif
        }
#end
#else
#repeat item KEYS
        put_on_board(apart(thread * KEYS + item), keys[item]);
#end
    workgroupBarrier();
#repeat item KEYS
        let index = item * team + member;
        if (index < present) {
            keys_home[sort.keys_home + begin + index] = key_of(on_board(apart(first + index)));
        }
#end
#endif
}

fn apart(index: u32) -> u32 {
    return index + index / KEYS;
}

fn put_on_board(at: u32, key: Key) {
    for (var word = 0u; word < KEY_WORDS; word++) {
        board[word * BOARD_KEYS + at] = key_word(key, word);
    }
}

fn on_board(at: u32) -> Key {
    var key = greatest_key();
    for (var word = 0u; word < KEY_WORDS; word++) {
        key = with_word(key, word, board[word * BOARD_KEYS + at]);
    }
    return key;
}

// Returns the bits of a key that the order goes by, as ordered words.
fn counting_bits(key: Key) -> Key {
    var bits = key;
    for (var word = 0u; word < KEY_WORDS; word++) {
        bits = with_word(bits, word, ordered_word(key, word) & sort.window[word]);
    }
    return bits;
}
#if CARRIES
#else

// Returns the key with these ordered bits. `flip` has no sign bit, so that `clear` alone gives back the sign.
fn key_of(bits: Key) -> Key {
    let sign = 0u - ((top_word(bits) ^ sort.clear[KEY_WORDS - 1u]) >> 31u);
    var key = bits;
    for (var word = 0u; word < KEY_WORDS; word++) {
        key = with_word(key, word, key_word(bits, word) ^ sort.clear[word] ^ (sort.flip[word] & sign));
    }
    return key;
}
#endif

// Returns whether key `a` goes before key `b`. Of equal keys, the one with the lower position does, if threads hold
// positions.
fn goes_first(a: Key, a_position: u32, b: Key, b_position: u32) -> bool {
#if CARRIES
    var first = a_position < b_position;
#else
    var first = false;
#endif
    // From the least significant word on: a higher word decides, unless it is equal in both.
    for (var word = 0u; word < KEY_WORDS; word++) {
        let a_word = key_word(a, word);
        let b_word = key_word(b, word);
        first = a_word < b_word || (a_word == b_word && first);
    }
    return first;
}

fn order_two(keys: ptr<function, array<Key, KEYS>>, positions: ptr<function, array<u32, KEYS>>, a: u32, b: u32) {
    let key = (*keys)[a];
    let position = (*positions)[a];
    if (goes_first((*keys)[b], (*positions)[b], key, position)) {
        (*keys)[a] = (*keys)[b];
        (*keys)[b] = key;
        (*positions)[a] = (*positions)[b];
        (*positions)[b] = position;
    }
}

// Sorts the keys that a thread holds.
fn order_own(keys: ptr<function, array<Key, KEYS>>, positions: ptr<function, array<u32, KEYS>>) {
#repeat pair PAIRS
        order_two(keys, positions, 2u * pair, 2u * pair + 1u);
#end
#repeat pair PAIRS
        order_two(keys, positions, pair / 2u * 4u + pair % 2u, pair / 2u * 4u + 3u - pair % 2u);
#end
#repeat pair PAIRS
        order_two(keys, positions, 2u * pair, 2u * pair + 1u);
#end
#if EIGHT
#repeat pair PAIRS
        order_two(keys, positions, pair, 7u - pair);
#end
#repeat pair PAIRS
        order_two(keys, positions, pair / 2u * 4u + pair % 2u, pair / 2u * 4u + pair % 2u + 2u);
#end
#repeat pair PAIRS
        order_two(keys, positions, 2u * pair, 2u * pair + 1u);
#end
#endif
}

// The last steps of a merge, in which each thread compares its own keys with each other.
fn merge_own(keys: ptr<function, array<Key, KEYS>>, positions: ptr<function, array<u32, KEYS>>) {
#if EIGHT
#repeat pair PAIRS
        order_two(keys, positions, pair, pair + 4u);
#end
#endif
#repeat pair PAIRS
        order_two(keys, positions, pair / 2u * 4u + pair % 2u, pair / 2u * 4u + pair % 2u + 2u);
#end
#repeat pair PAIRS
        order_two(keys, positions, 2u * pair, 2u * pair + 1u);
#end
}

// Compares each key with one of another thread, whose number differs in the bits `other`. The thread with the lower
// number keeps the smaller key. If `mirrored`, the other thread's items count from its last one.
fn exchange(keys: ptr<function, array<Key, KEYS>>, positions: ptr<function, array<u32, KEYS>>, other: u32, mirrored: bool) {
#repeat item KEYS
        put_on_board(item * GROUP + thread, (*keys)[item]);
#if CARRIES
        board[KEY_WORDS * BOARD_KEYS + item * GROUP + thread] = (*positions)[item];
#endif
#end
    workgroupBarrier();
    let partner = thread ^ other;
#repeat item KEYS
        let at = select(item, KEYS - 1u - item, mirrored) * GROUP + partner;
        let key = on_board(at);
#if CARRIES
        let position = board[KEY_WORDS * BOARD_KEYS + at];
#else
        let position = 0u;
#endif
        if (goes_first(key, position, (*keys)[item], (*positions)[item]) == (thread < partner)) {
            (*keys)[item] = key;
            (*positions)[item] = position;
        }
#end
    workgroupBarrier();
}

fn greatest_key() -> Key {
    return Key(0xffffffffu);
}
