// Cuts one step of a merge into tiles: finds the point of the merge path at each boundary of a tile.
//
// in       first_low, first_middle, first_high, first_count: the number of keys of the array with the first run, as in
//          begin.wgsl; second_low … second_count: the same for the second run; merge; first_keys, second_keys: a part of
//          each sorted run; path: the point at which the step begins (step 0 begins at (0, 0))
// out      path: the point at which the step ends, and for each boundary of a tile the keys of the first run before it
// launch   any number of workgroups
// does     A long run, or a long output, is bound in parts: each launch sees one part of each. A step merges up to the
//          end of the first bound part that is not the last part, or to the end of both runs. If the point at which the
//          step begins does not lie in the bound parts, the step merges no key: the next step begins at the same point.
//          Each thread finds the points of some boundaries by binary search on a diagonal (Green, McColl and Bader, "GPU
//          Merge Path", 2012).
// needs    at most 2^32 keys in both runs together, and fewer in each

@group(0) @binding(0) var<uniform> first_low: Number;
@group(0) @binding(1) var<uniform> first_middle: Number;
@group(0) @binding(2) var<uniform> first_high: Number;
@group(0) @binding(3) var<uniform> second_low: Number;
@group(0) @binding(4) var<uniform> second_middle: Number;
@group(0) @binding(5) var<uniform> second_high: Number;
@group(0) @binding(6) var<uniform> merge: Merge;
@group(0) @binding(7) var<storage, read> first_count: array<u32>;
@group(0) @binding(8) var<storage, read> second_count: array<u32>;
@group(0) @binding(9) var<storage, read> first_keys: array<u32>;
@group(0) @binding(10) var<storage, read> second_keys: array<u32>;
@group(0) @binding(11) var<storage, read_write> path: array<u32>;

@compute @workgroup_size(GROUP)
fn merge_path(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let number = (group_id.y * groups.x + group_id.x) * GROUP + thread;
    let lengths = run_lengths();
    var begin = vec2(0u);
    if (merge.step > 0u) {
        begin = vec2(path[point_of(merge.step)], path[point_of(merge.step) + 1u]);
    }
    let least = vec2(merge.first_begin, merge.second_begin);
    let until = min(vec2(merge.first_end, merge.second_end), lengths);
    let made = begin.x + begin.y;
    var end = begin;
    if (all(begin >= least) && all(begin <= until) && made - merge.merged_begin < merge.merged_end - merge.merged_begin) {
        end = step_end(begin, until, lengths);
        let room = merge.merged_end - made;
        if (end.x + end.y - made > room) {
            let first = first_before(room, begin, end);
            end = vec2(first, merge.merged_end - first);
        }
    }
    if (number == 0u) {
        path[point_of(merge.step + 1u)] = end.x;
        path[point_of(merge.step + 1u) + 1u] = end.y;
    }
    let length = end.x + end.y - made;
    for (var tile = number; tile <= tiles_of(made, length); tile += groups.x * groups.y * GROUP) {
        path[PATH_HEADER + tile] = first_before(keys_before(tile, made, length), begin, end);
    }
}

// Returns the number of keys of both runs.
fn run_lengths() -> vec2<u32> {
    var counts = vec2(
        first_low.value | (first_middle.value << COUNT_DIGIT_BITS) | (first_high.value << (2u * COUNT_DIGIT_BITS)),
        second_low.value | (second_middle.value << COUNT_DIGIT_BITS) | (second_high.value << (2u * COUNT_DIGIT_BITS)),
    );
    if (first_high.value == COUNT_ON_DEVICE) {
        counts.x = first_count[merge.first_count_index];
    }
    if (second_high.value == COUNT_ON_DEVICE) {
        counts.y = second_count[merge.second_count_index];
    }
    let skip = vec2(merge.first_skip, merge.second_skip);
    let most = vec2(merge.first_max, merge.second_max);
    // The largest number means this many keys or more.
    return select(min(counts - min(counts, skip), most), most, counts == vec2(0xffffffffu));
}

// Returns the point at which a step ends that begins at `begin`: the first one at which a run has more keys, but not in the
// part that is bound, or else the end of both runs. `until` is the end of both parts.
fn step_end(begin: vec2<u32>, until: vec2<u32>, lengths: vec2<u32>) -> vec2<u32> {
    let more = until < lengths;
    if (any(more & (until == begin))) {
        return begin;
    }
    if (!any(more)) {
        return until;
    }
    var first_ends = more.x;
    if (more.x && more.y) {
        first_ends = !is_less(second_at(until.y - 1u), first_at(until.x - 1u));
    }
    if (first_ends) {
        // The keys of the second run that are smaller than the last key of the first run's part come before that key.
        let last = first_at(until.x - 1u);
        var low = begin.y;
        var high = until.y;
        while (low < high) {
            let middle = low + (high - low) / 2u;
            if (is_less(second_at(middle), last)) {
                low = middle + 1u;
            } else {
                high = middle;
            }
        }
        return vec2(until.x, low);
    }
    let last = second_at(until.y - 1u);
    var low = begin.x;
    var high = until.x;
    while (low < high) {
        let middle = low + (high - low) / 2u;
        if (is_less(last, first_at(middle))) {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    return vec2(low, until.y);
}

// Returns how many keys of the first run are in the output before the key that comes `count` keys after `begin`. The result
// lies between the two points, also if the runs are not sorted.
fn first_before(count: u32, begin: vec2<u32>, end: vec2<u32>) -> u32 {
    let seconds = end.y - begin.y;
    var low = begin.x + count - min(count, seconds);
    var high = begin.x + min(count, end.x - begin.x);
    while (low < high) {
        let middle = low + (high - low) / 2u;
        let second = begin.y + count - 1u - (middle - begin.x);
        if (is_less(second_at(second), first_at(middle))) {
            high = middle;
        } else {
            low = middle + 1u;
        }
    }
    return low;
}

fn first_at(index: u32) -> Key {
    let at = index - merge.first_begin;
#if PACKED
    let word = first_keys[merge.first_keys_word + at / KEYS_PER_WORD];
    return ordered((word >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS));
#else
    let word = merge.first_keys_word + at * KEY_WORDS;
#if KEY_1
    return ordered(first_keys[word]);
#endif
#if KEY_2
    return ordered(vec2(first_keys[word], first_keys[word + 1u]));
#endif
#if KEY_4
    return ordered(vec4(first_keys[word], first_keys[word + 1u], first_keys[word + 2u], first_keys[word + 3u]));
#endif
#endif
}

fn second_at(index: u32) -> Key {
    let at = index - merge.second_begin;
#if PACKED
    let word = second_keys[merge.second_keys_word + at / KEYS_PER_WORD];
    return ordered((word >> (at % KEYS_PER_WORD * KEY_BITS)) << (32u - KEY_BITS));
#else
    let word = merge.second_keys_word + at * KEY_WORDS;
#if KEY_1
    return ordered(second_keys[word]);
#endif
#if KEY_2
    return ordered(vec2(second_keys[word], second_keys[word + 1u]));
#endif
#if KEY_4
    return ordered(vec4(second_keys[word], second_keys[word + 1u], second_keys[word + 2u], second_keys[word + 3u]));
#endif
#endif
}
