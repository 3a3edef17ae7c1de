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
// launch   at least a threadgroup for each part of the keys at level 0, of the candidates at later levels; other
//          threadgroups return
// does     Radix select (Alabi et al., "Fast k-selection algorithms for graphics processing units", 2012). The threshold is
//          the last key of the selection, in the order of the sort. The threadgroup finds it digit by digit, from the most
//          significant one on: it counts, by their next digit, the keys whose higher digits are those of the threshold. It
//          stops early if the selection takes all of these keys. Then it collects the selected positions in ascending
//          order. In the last launch it sorts them by their keys.
// needs    sort.k of 1 to TILE; each segment lies within the keys; simdgroups of 32 lanes

// Returns the digit of the `wanted`-th key, by the counts in `board`. Also returns how many keys have a smaller digit,
// and how many have this one.
inline uint3 find_digit(
    const thread Thread& me,
    uint wanted,
    threadgroup atomic_uint* board,
    threadgroup uint* sums,
    threadgroup uint3& found) {
    uint counts[DIGITS];
    uint sum = 0u;
#pragma unroll
    for (uint i = 0u; i < DIGITS; i++) {
        counts[i] = owns_digits(me) ? load_shared(board + me.index * DIGITS + i) : 0u;
        sum += counts[i];
    }
    uint below = sums_before(me.simdgroup, me.lane, sum, sums).x;
#pragma unroll
    for (uint i = 0u; i < DIGITS; i++) {
        // The condition holds for one digit of one thread.
        if (below < wanted && wanted <= below + counts[i]) {
            found = uint3(me.index * DIGITS + i, below, counts[i]);
        }
        below += counts[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return found;
}

// Collects the positions of the first sort.k of the `length` keys from `begin` on, in the order of the positions.
// `length` must be more than sort.k.
inline void take_first(
    const thread Thread& me,
    const thread Source& source,
    uint begin,
    uint length,
    threadgroup atomic_uint* board,
    threadgroup uint* sums,
    threadgroup uint3& found,
    threadgroup uint* positions,
    constant Sort& sort) {
    // The threshold: the known ordered bits of the last key to be selected, and the mask of these bits.
    uint4 bar = uint4(0u, 0u, 0u, 0u);
    uint4 known = uint4(0u, 0u, 0u, 0u);
    uint wanted = sort.k;
    for (uint d = sort.digit_count; d > 0u; d--) {
        const Digit digit = digit_at(d - 1u, sort);
        for (uint i = me.index; i < RADIX; i += GROUP) {
            store_shared(board + i, 0u);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = me.index; i < length; i += GROUP) {
            const Key key = source_key(source.keys, position_of(begin + i, source), sort);
            if (compared(key, bar, known, sort) == SAME) {
                atomic_fetch_add_explicit(board + digit_of(key, digit), 1u, memory_order_relaxed);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const uint3 last = find_digit(me, wanted, board, sums, found);
        bar[digit.word] |= last.x << digit.shift;
        known[digit.word] |= digit.mask << digit.shift;
        wanted -= last.y;
        if (last.z == wanted) {
            break;
        }
    }

    // All keys below the threshold are selected, and of those that equal it the first ones.
    uint taken = 0u;
    uint same_taken = 0u;
    for (uint start = 0u; start < length; start += LANES * GROUP) {
        const uint first = begin + start + me.simdgroup * LANES * LANES;
        const uint2 marks = marks_of(me, source, first, begin + length, bar, known, sort);
        const uint below = marks.x;
        const uint same = marks.y;
        // One sum carries both counts: neither exceeds 32 * GROUP.
        const uint2 counts = sums_before(me.simdgroup, me.lane, popcount(below) | (popcount(same) << 16u), sums);
        uint below_before = taken + (counts.x & 0xffffu);
        uint same_before = same_taken + (counts.x >> 16u);
        for (uint left = below | same; left != 0u; left &= left - 1u) {
            const uint bit = ctz(left);
            const bool is_below = ((below >> bit) & 1u) != 0u;
            if (is_below || same_before < wanted) {
                const uint at = first + me.lane * LANES + bit;
                positions[below_before + min(same_before, wanted)] = position_of(at, source);
            }
            below_before += is_below ? 1u : 0u;
            same_before += is_below ? 0u : 1u;
        }
        taken += counts.y & 0xffffu;
        same_taken += counts.y >> 16u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// Returns the segment of a threadgroup: its first key, its number of keys, and 1 if there is one. The result is the
// same for all threads.
#if SEGMENTED
inline uint3 job_of(uint group, uint there, const device uint2* segments) {
    if (group >= there) {
        return uint3(0u, 0u, 0u);
    }
    const uint2 segment = segments[group];
    return uint3(segment.x, segment.y - segment.x, 1u);
}
#else
inline uint3 job_of(uint group, uint there, uint level, constant Sort& sort) {
    for (uint i = 0u; i < level % LAST_LEVEL; i++) {
        const uint full = (max(there, 1u) - 1u) / SELECT_SEGMENT;
        there = full * sort.k + min(there - full * SELECT_SEGMENT, sort.k);
    }
    const uint begin = group * SELECT_SEGMENT;
    return uint3(begin, min(there - min(begin, there), SELECT_SEGMENT), begin < max(there, 1u) ? 1u : 0u);
}
#endif

[[max_total_threads_per_threadgroup(GROUP)]] kernel void top_k(
    constant Number& count_low [[buffer(0)]],
    constant Number& count_middle [[buffer(1)]],
    constant Number& count_high [[buffer(2)]],
    constant Number& level [[buffer(3)]],
    constant Sort& sort [[buffer(4)]],
    const device uint* count [[buffer(5)]],
    const device Key* keys_from [[buffer(6)]],
    device uint* indices_to [[buffer(7)]],
#if SEGMENTED
    const device uint2* segments [[buffer(8)]],
#endif
#if NESTED
    const device uint* candidates [[buffer(8)]],
#endif
    uint3 group_id [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]],
    uint index [[thread_index_in_threadgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    threadgroup atomic_uint board[BOARD];
    threadgroup uint sums[ROWS];
    threadgroup uint3 found;
    threadgroup uint positions[TILE];

    const Thread me = Thread{index, simdgroup, lane, KEYS};
    const uint group = group_index(group_id, groups);
    const uint there = called_count(count_low.value, count_middle.value, count_high.value, count, sort);
#if SEGMENTED
    const uint3 todo = job_of(group, there, segments);
#else
    const uint3 todo = job_of(group, there, level.value, sort);
#endif
    if (todo.z == 0u) {
        return;
    }
    Source source;
    source.keys = keys_from;
#if NESTED
    source.candidates = candidates;
#endif
    const uint selected = min(sort.k, todo.y);
    if (todo.y <= sort.k) {
        for (uint i = index; i < selected; i += GROUP) {
            positions[i] = position_of(todo.x + i, source);
        }
    } else {
        take_first(me, source, todo.x, todo.y, board, sums, found, positions, sort);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const bool is_last = level.value >= LAST_LEVEL;
    // The next level selects from these positions: only those of the last level are sorted.
    if (is_last) {
        sort_positions(me, keys_from, selected, board, sums, positions, sort);
    }
    device uint* to = indices_to + (is_last ? sort.values_home : 0u) + group * sort.k;
    const uint written = is_last ? sort.k : selected;
    for (uint i = index; i < written; i += GROUP) {
        to[i] = i < selected ? positions[i] : NOTHING;
    }
}
