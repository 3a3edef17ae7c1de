// Merges the tiles of one step of a merge, stably: of equal keys, those of the first run come first.
//
// in       merge; path: the points of merge_path; first_keys, second_keys, first_values, second_values: a part of each run
// out      keys_to, values_to: the keys and values of the step, in order. Bytes of other keys stay as they are
// launch   any number of workgroups; each takes tiles until none is left
// does     A tile is TILE keys of the output. The workgroup reads the keys of both runs that belong there, coalesced, into
//          workgroup memory, and maps them. Each thread finds its KEYS keys by binary search there, and merges them in
//          registers. It maps them back, and they take their new order in the same memory, and leave it coalesced. The
//          origin of each key follows in that memory; the values go directly from the runs to the output.
// needs    no order of the runs for its memory accesses: it limits the points of unsorted runs

@group(0) @binding(0) var<uniform> merge: Merge;
@group(0) @binding(1) var<storage, read> path: array<u32>;
@group(0) @binding(2) var<storage, read> first_keys: array<u32>;
@group(0) @binding(3) var<storage, read> second_keys: array<u32>;
@group(0) @binding(4) var<storage, read_write> keys_to: array<u32>;
#if VALUES
@group(0) @binding(5) var<storage, read> first_values: array<u32>;
@group(0) @binding(6) var<storage, read> second_values: array<u32>;
@group(0) @binding(7) var<storage, read_write> values_to: array<u32>;
#endif

// The tile's keys: word `w` of key `i` is wg_keys[w * TILE + i]. At first those of the first run come before those of the
// second. Later the origins of the keys: the index that each had at first. Words behind the keys are read, but not used.
var<workgroup> wg_keys: array<u32, MERGE_WORDS>;

@compute @workgroup_size(GROUP)
fn merge_tile(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var begin = vec2(0u);
    if (merge.step > 0u) {
        begin = vec2(path[point_of(merge.step)], path[point_of(merge.step) + 1u]);
    }
    let end = vec2(path[point_of(merge.step + 1u)], path[point_of(merge.step + 1u) + 1u]);
    let made = begin.x + begin.y;
    let keys = end.x + end.y - made;
    // A step that merges nothing has no tile, also if it begins within a word of packed keys.
    let tiles = select(tiles_of(made, keys), 0u, keys == 0u);
    for (var tile = group_id.y * groups.x + group_id.x; tile < tiles; tile += groups.x * groups.y) {
        let before = keys_before(tile, made, keys);
        let offset = made + before;
        let length = keys_before(tile + 1u, made, keys) - before;
        // The next keys of each run.
        let next = vec2(path[PATH_HEADER + tile], offset - path[PATH_HEADER + tile]);
        // The keys of the first run. If the runs are not sorted, the points may contradict each other.
        let wanted = max(path[PATH_HEADER + tile + 1u], next.x) - next.x;
        let firsts = clamp(wanted, length - min(length, end.y - next.y), min(length, end.x - next.x));
        read_keys(thread, next, firsts, length);
        workgroupBarrier();
#if KEY_1
#else
        // The thread that read a word of a key does not know its sign.
        if (any((merge.clear | merge.flip) != vec4(0u))) {
#repeat item KEYS
            if (item * GROUP + thread < length) {
                put_key(item * GROUP + thread, mapped(key_at(item * GROUP + thread)));
            }
#end
        }
        workgroupBarrier();
#endif
        merge_keys(thread, offset, next, firsts, length);
        // The next tile overwrites the memory that this one reads.
        workgroupBarrier();
    }
}

// Merges the keys in workgroup memory, and writes them and their values.
fn merge_keys(thread: u32, offset: u32, next: vec2<u32>, firsts: u32, length: u32) {
    let start = min(thread * KEYS, length);
    let seconds = length - firsts;
    var low = start - min(start, seconds);
    var high = min(start, firsts);
    while (low < high) {
        let middle = low + (high - low) / 2u;
        if (is_less(in_window(key_at(firsts + start - 1u - middle)), in_window(key_at(middle)))) {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    var keys: array<Key, KEYS>;
#if VALUES
    var origins: array<u32, KEYS>;
#endif
    // The index of the next key of the first run. That of the second follows from it, as `item` keys are merged. Where no key
    // is left, the thread reads another one, which it does not use.
    var first = low;
    var first_key = key_at(first);
    var second_key = key_at(firsts + start - low);
#repeat item KEYS
        {
            let second = firsts + start + item - first;
            let second_is_less = is_less(in_window(second_key), in_window(first_key));
            let is_first = second >= length || (first < firsts && !second_is_less);
            keys[item] = select(second_key, first_key, is_first);
#if VALUES
            origins[item] = select(second, first, is_first);
#endif
            first += select(0u, 1u, is_first);
            let key = key_at(select(second + 1u, first, is_first));
            first_key = select(first_key, key, is_first);
            second_key = select(key, second_key, is_first);
        }
#end
    workgroupBarrier();
#repeat item KEYS
        if (thread * KEYS + item < length) {
            put_key(thread * KEYS + item, unmapped(keys[item]));
        }
#end
    workgroupBarrier();
    write_keys(thread, offset, length);
#if VALUES
    workgroupBarrier();
#repeat item KEYS
        if (thread * KEYS + item < length) {
            wg_keys[thread * KEYS + item] = origins[item];
        }
#end
    workgroupBarrier();
    // Word `i` of the tile's values.
    let words = length * VALUE_WORDS;
    let first_word = merge.first_values_word + (next.x - merge.first_begin) * VALUE_WORDS;
    let second_word = merge.second_values_word + (next.y - merge.second_begin) * VALUE_WORDS;
    let to_word = merge.merged_values_word + (offset - merge.merged_begin) * VALUE_WORDS;
    for (var round = 0u; round < VALUE_WORDS; round++) {
        // The thread reads KEYS words before it writes them: the reads do not wait for each other.
        var moved: array<u32, KEYS>;
#repeat item KEYS
            let i = (round * KEYS + item) * GROUP + thread;
            if (i < words) {
                let origin = wg_keys[i / VALUE_WORDS];
                if (origin < firsts) {
                    moved[item] = first_values[first_word + origin * VALUE_WORDS + i % VALUE_WORDS];
                } else {
                    moved[item] = second_values[second_word + (origin - firsts) * VALUE_WORDS + i % VALUE_WORDS];
                }
            }
#end
#repeat item KEYS
            let i = (round * KEYS + item) * GROUP + thread;
            if (i < words) {
                values_to[to_word + i] = moved[item];
            }
#end
    }
#endif
}

#if KEY_1
fn key_at(index: u32) -> Key {
    return wg_keys[index];
}

fn put_key(index: u32, key: Key) {
    wg_keys[index] = key;
}
#endif
#if KEY_2
fn key_at(index: u32) -> Key {
    return vec2(wg_keys[index], wg_keys[TILE + index]);
}

fn put_key(index: u32, key: Key) {
    wg_keys[index] = key.x;
    wg_keys[TILE + index] = key.y;
}
#endif
#if KEY_4
fn key_at(index: u32) -> Key {
    return vec4(wg_keys[index], wg_keys[TILE + index], wg_keys[2u * TILE + index], wg_keys[3u * TILE + index]);
}

fn put_key(index: u32, key: Key) {
    wg_keys[index] = key.x;
    wg_keys[TILE + index] = key.y;
    wg_keys[2u * TILE + index] = key.z;
    wg_keys[3u * TILE + index] = key.w;
}
#endif
#if PACKED

// Reads a tile's keys into workgroup memory, one in each word, and maps them.
fn read_keys(thread: u32, next: vec2<u32>, firsts: u32, length: u32) {
    var words: array<u32, KEYS>;
#repeat item KEYS
        let i = item * GROUP + thread;
        if (i < firsts) {
            let at = next.x - merge.first_begin + i;
            let word = first_keys[merge.first_keys_word + at / KEYS_PER_WORD];
            words[item] = (word >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS);
        } else if (i < length) {
            let at = next.y - merge.second_begin + i - firsts;
            let word = second_keys[merge.second_keys_word + at / KEYS_PER_WORD];
            words[item] = (word >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS);
        }
#end
#repeat item KEYS
        if (item * GROUP + thread < length) {
            wg_keys[item * GROUP + thread] = mapped(words[item]);
        }
#end
}

// Writes the tile's keys from workgroup memory, and keeps the other bytes of the words at both ends.
fn write_keys(thread: u32, offset: u32, length: u32) {
    let lead = offset % KEYS_PER_WORD;
    let to_word = merge.merged_keys_word + (offset - merge.merged_begin) / KEYS_PER_WORD;
    let words = (lead + length + KEYS_PER_WORD - 1u) / KEYS_PER_WORD;
    for (var word = thread; word < words; word += GROUP) {
        var packed = 0u;
        var mask = 0u;
        for (var k = 0u; k < KEYS_PER_WORD; k++) {
            let at = word * KEYS_PER_WORD + k;
            if (at >= lead && at < lead + length) {
                let key = wg_keys[at - lead] >> (32u - KEY_BITS);
                packed |= key << (k * KEY_BITS);
                mask |= ((1u << KEY_BITS) - 1u) << (k * KEY_BITS);
            }
        }
        if (mask != 0xffffffffu) {
            packed |= keys_to[to_word + word] & ~mask;
        }
        keys_to[to_word + word] = packed;
    }
}
#else

// Reads a tile's keys into workgroup memory. Keys of one word are mapped.
fn read_keys(thread: u32, next: vec2<u32>, firsts: u32, length: u32) {
    let first_word = merge.first_keys_word + (next.x - merge.first_begin) * KEY_WORDS;
    let second_word = merge.second_keys_word + (next.y - merge.second_begin) * KEY_WORDS;
    var words: array<u32, MERGE_LOADS>;
#repeat item MERGE_LOADS
        let i = item * GROUP + thread;
        if (i < firsts * KEY_WORDS) {
            words[item] = first_keys[first_word + i];
        } else if (i < length * KEY_WORDS) {
            words[item] = second_keys[second_word + i - firsts * KEY_WORDS];
        }
#end
#repeat item MERGE_LOADS
        let i = item * GROUP + thread;
        if (i < length * KEY_WORDS) {
#if KEY_1
            wg_keys[i] = mapped(words[item]);
#else
            wg_keys[i % KEY_WORDS * TILE + i / KEY_WORDS] = words[item];
#endif
        }
#end
}

// Writes the tile's keys from workgroup memory.
fn write_keys(thread: u32, offset: u32, length: u32) {
    let to_word = merge.merged_keys_word + (offset - merge.merged_begin) * KEY_WORDS;
#repeat item MERGE_LOADS
        let i = item * GROUP + thread;
        if (i < length * KEY_WORDS) {
            keys_to[to_word + i] = wg_keys[i % KEY_WORDS * TILE + i / KEY_WORDS];
        }
#end
}
#endif
