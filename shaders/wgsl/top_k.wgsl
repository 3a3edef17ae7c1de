// Selects, in each part of the keys, the sort.k keys that come first in the order of the sort; the last launch also sorts
// them. A part is one of the caller's segments, or SELECT_SEGMENT neighbors in one array or among the candidates. Of equal
// keys, those with lower positions come first.
//
// in       count_low, count_middle, count_high, count: the number of keys of one array, or the number of the caller's
//          segments, as for the kernel `begin`; level: the number of launches of this kernel before this one, plus
//          LAST_LEVEL in the last one; sort; keys_from: the source; segments: for each segment the index of its first key,
//          and the index after its last key; candidates: from level 1 on, the positions among which it selects
// out      indices_to: the positions of the selected keys in the source. Those of part `p` start at word p * sort.k; in the
//          last launch, sort.values_home words later. The last launch sorts them by their keys, and writes NOTHING for each
//          position that a part of fewer than sort.k keys lacks
// launch   at least a workgroup for each part of the keys at level 0, of the candidates at later levels; other workgroups
//          return
// does     Radix select (Alabi et al., "Fast k-selection algorithms for graphics processing units", 2012). The threshold is
//          the last key of the selection, in the order of the sort. The workgroup finds it digit by digit, from the most
//          significant one on: it counts, by their next digit, the keys whose higher digits are those of the threshold. It
//          stops early if the selection takes all of these keys. Then it collects the selected positions in ascending
//          order. In the last launch it sorts them by their keys.
// needs    sort.k of 1 to TILE; each segment lies within the keys

@group(0) @binding(0) var<uniform> count_low: Number;
@group(0) @binding(1) var<uniform> count_middle: Number;
@group(0) @binding(2) var<uniform> count_high: Number;
@group(0) @binding(3) var<uniform> level: Number;
@group(0) @binding(4) var<uniform> sort: Sort;
@group(0) @binding(5) var<storage, read> count: array<u32>;
#if ALIASED
// keys_from and indices_to are parts of one buffer: both bindings must be writable.
#if PACKED
@group(0) @binding(6) var<storage, read_write> keys_from: array<u32>;
#else
@group(0) @binding(6) var<storage, read_write> keys_from: array<Key>;
#endif
#else
#if PACKED
@group(0) @binding(6) var<storage, read> keys_from: array<u32>;
#else
@group(0) @binding(6) var<storage, read> keys_from: array<Key>;
#endif
#endif
@group(0) @binding(7) var<storage, read_write> indices_to: array<u32>;
#if SEGMENTED
@group(0) @binding(8) var<storage, read> segments: array<vec2<u32>>;
#endif
#if NESTED
@group(0) @binding(8) var<storage, read> candidates: array<u32>;
#endif

// The segment: its first key, its number of keys, and 1 if there is one.
var<workgroup> job: vec3<u32>;
// The digit of the last key to be selected, how many keys have a smaller one, and how many have this one.
var<workgroup> found: vec3<u32>;

@compute @workgroup_size(GROUP)
fn top_k(
    @builtin(local_invocation_index) thread_id: u32,
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
#if SUBGROUPS
    @builtin(subgroup_id) subgroup_id: u32,
    @builtin(subgroup_size) subgroup_size: u32,
    @builtin(subgroup_invocation_id) lane_id: u32,
#endif
) {
    thread = thread_id;
#if SUBGROUPS
    subgroup = subgroup_id;
    lanes = subgroup_size;
    lane = lane_id;
#endif
    let group = group_id.y * groups.x + group_id.x;
    if (thread == 0u) {
        job = job_of(group);
    }
    let todo = workgroupUniformLoad(&job);
    if (todo.z == 0u) {
        return;
    }
    let selected = min(sort.k, todo.y);
    if (todo.y <= sort.k) {
        for (var i = thread; i < selected; i += GROUP) {
            positions[i] = position_of(todo.x + i);
        }
    } else {
        take_first(todo.x, todo.y);
    }
    workgroupBarrier();
    // The next level selects from these positions: only those of the last level are sorted.
    if (level.value >= LAST_LEVEL) {
        sort_positions(selected);
    }
    var first = group * sort.k;
    var written = selected;
    if (level.value >= LAST_LEVEL) {
        first += sort.values_home;
        written = sort.k;
    }
    for (var i = thread; i < written; i += GROUP) {
        var position = NOTHING;
        if (i < selected) {
            position = positions[i];
        }
        indices_to[first + i] = position;
    }
}

// Returns the position in the source of a key of the segment.
fn position_of(index: u32) -> u32 {
#if NESTED
    return candidates[index];
#else
    return index;
#endif
}

fn job_of(group: u32) -> vec3<u32> {
    var there = called_count();
#if SEGMENTED
    if (group >= there) {
        return vec3(0u);
    }
    let segment = segments[group];
    return vec3(segment.x, segment.y - segment.x, 1u);
#else
    for (var i = 0u; i < level.value % LAST_LEVEL; i++) {
        let full = (max(there, 1u) - 1u) / SELECT_SEGMENT;
        there = full * sort.k + min(there - full * SELECT_SEGMENT, sort.k);
    }
    let begin = group * SELECT_SEGMENT;
    return vec3(begin, min(there - min(begin, there), SELECT_SEGMENT), u32(begin < max(there, 1u)));
#endif
}

// Collects the positions of the first sort.k of `length` keys, in the order of the positions. `length` must be more
// than sort.k.
fn take_first(begin: u32, length: u32) {
    // The threshold: the known ordered bits of the last key to be selected, and the mask of these bits.
    var bar = vec4(0u);
    var known = vec4(0u);
    var wanted = sort.k;
    for (var d = sort.digit_count; d > 0u; d--) {
        let digit = digit_at(d - 1u);
        for (var i = thread; i < RADIX; i += GROUP) {
            put_word(i, 0u);
        }
        workgroupBarrier();
        for (var start = 0u; start < length; start += GROUP * BATCH) {
            var batch: array<Key, BATCH>;
#repeat k BATCH
            batch[k] = source_key(position_of(begin + min(start + k * GROUP + thread, length - 1u)));
#end
#repeat k BATCH
            if (start + k * GROUP + thread < length && compared(batch[k], bar, known) == SAME) {
                atomicAdd(&board[digit_of(batch[k], digit)], 1u);
            }
#end
        }
        workgroupBarrier();
        let last = find_digit(wanted);
        bar[digit.word] |= last.x << digit.shift;
        known[digit.word] |= digit.mask << digit.shift;
        wanted -= last.y;
        if (last.z == wanted) {
            break;
        }
    }

    // All keys below the threshold are selected, and of those that equal it the first ones.
    var taken = 0u;
    var same_taken = 0u;
    for (var start = 0u; start < length; start += 32u * GROUP) {
        put_word(thread, 0u);
        put_word(GROUP + thread, 0u);
        workgroupBarrier();
        let present = min(length - start, 32u * GROUP);
        for (var first = thread; first < present; first += GROUP * BATCH) {
            var batch: array<Key, BATCH>;
#repeat k BATCH
            batch[k] = source_key(position_of(begin + start + min(first + k * GROUP, present - 1u)));
#end
#repeat k BATCH
            let order_@ = compared(batch[k], bar, known);
            if (first + k * GROUP < present && order_@ != ABOVE) {
                let index_@ = first + k * GROUP;
                atomicOr(&board[select(0u, GROUP, order_@ == SAME) + index_@ / 32u], 1u << (index_@ % 32u));
            }
#end
        }
        workgroupBarrier();
        let below = word_at(thread);
        let same = word_at(GROUP + thread);
        // One sum carries both counts: neither exceeds 32 * GROUP.
        let counts = countOneBits(below) | (countOneBits(same) << 16u);
        let before = sum_up(thread, counts) - counts;
        let total = sums[GROUP - 1u];
        var below_before = taken + (before & 0xffffu);
        var same_before = same_taken + (before >> 16u);
        for (var left = below | same; left != 0u; left &= left - 1u) {
            let bit = countTrailingZeros(left);
            let is_below = ((below >> bit) & 1u) != 0u;
            if (is_below || same_before < wanted) {
                positions[below_before + min(same_before, wanted)] = position_of(begin + start + thread * 32u + bit);
            }
            below_before += u32(is_below);
            same_before += u32(!is_below);
        }
        taken += total & 0xffffu;
        same_taken += total >> 16u;
        workgroupBarrier();
    }
}

// Returns the digit of the `wanted`-th key, by the counts in `board`. Also returns how many keys have a smaller digit,
// and how many have this one.
fn find_digit(wanted: u32) -> vec3<u32> {
    if (thread < RADIX / DIGIT_RUN) {
        var sum = 0u;
        for (var i = 0u; i < DIGIT_RUN; i++) {
            sum += word_at(thread * DIGIT_RUN + i);
        }
        put_word(RADIX + thread, sum);
    }
    workgroupBarrier();
    if (thread == 0u) {
        var run = 0u;
        var below = 0u;
        while (run < RADIX / DIGIT_RUN - 1u && below + word_at(RADIX + run) < wanted) {
            below += word_at(RADIX + run);
            run++;
        }
        var digit = run * DIGIT_RUN;
        while (digit < RADIX - 1u && below + word_at(digit) < wanted) {
            below += word_at(digit);
            digit++;
        }
        found = vec3(digit, below, word_at(digit));
    }
    return workgroupUniformLoad(&found);
}
