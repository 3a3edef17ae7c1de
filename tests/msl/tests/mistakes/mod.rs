//! The mistakes that are planted in the native kernels.

use polysort_shaders::plan::{Kernel, RADIX_BITS, WIDE_RADIX_BITS};

/// The sorts that test a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Sorts with the planner's choice, and LSD sorts.
    Plans,
    WideDigits,
    Hybrid,
    /// Counting sorts of keys of 16 bits.
    Counting,
    /// Sorts of segments of keys with values, by an odd number of digits.
    Segments,
    /// Sorts of segments of keys without values, by an even number of digits.
    SegmentsOfKeys,
}

impl By {
    /// Returns whether these sorts use kernels for digits of this number of bits.
    pub(crate) fn has_digits_of(self, bits: u32) -> bool {
        bits == match self {
            Self::Plans | Self::Hybrid | Self::Segments | Self::SegmentsOfKeys => RADIX_BITS,
            Self::WideDigits => WIDE_RADIX_BITS,
            Self::Counting => 16,
        }
    }
}

/// A mistake: a replacement of one occurrence of a text in a kernel. Occurrences are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) kernel: Kernel,
    pub(crate) by: By,
    pub(crate) what: &'static str,
    pub(crate) number: usize,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

pub(crate) const BARRIERS: [&str; 4] = [
    "threadgroup_barrier(mem_flags::mem_threadgroup);",
    "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    "simdgroup_barrier(mem_flags::mem_threadgroup);",
    "threadgroup_barrier(mem_flags::mem_device);",
];

/// Barriers without which all tests pass: the index in `BARRIERS`, and the number of the occurrence.
const UNNOTICED: [(Kernel, By, usize, usize); 9] = [
    // After all but one, the next step begins with a ballot. In the runner a ballot waits for all lanes, but on a GPU it may not order memory. The barrier 4
    // of `top_k` is redundant: one follows before anything is read.
    (Kernel::SingleTile, By::Plans, 2, 0),
    (Kernel::Onesweep, By::Plans, 2, 0),
    (Kernel::TopK, By::Plans, 0, 4),
    (Kernel::TopK, By::Plans, 2, 0),
    (Kernel::Onesweep, By::WideDigits, 2, 0),
    (Kernel::BucketTile, By::Hybrid, 2, 0),
    (Kernel::BucketSweep, By::Hybrid, 2, 0),
    (Kernel::SegmentTile, By::Segments, 2, 0),
    (Kernel::BucketSweep, By::Segments, 2, 0),
];

const fn first(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { kernel, by: By::Plans, what, number: 0, from, to }
}

const fn in_wide(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { by: By::WideDigits, ..first(kernel, what, from, to) }
}

const fn in_hybrid(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { by: By::Hybrid, ..first(kernel, what, from, to) }
}

const fn in_counting(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { by: By::Counting, ..first(kernel, what, from, to) }
}

const fn in_segments(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { by: By::Segments, ..first(kernel, what, from, to) }
}

const fn in_segments_of_keys(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { by: By::SegmentsOfKeys, ..first(kernel, what, from, to) }
}

const fn in_onesweep(what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    first(Kernel::Onesweep, what, from, to)
}

const fn in_top_k(what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    first(Kernel::TopK, what, from, to)
}

const fn in_distance(what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    first(Kernel::IvfDistance, what, from, to)
}

/// Plausible mistakes.
const MISTAKES: [Mistake; 26] = [
    in_onesweep("a wrong binding", "keys_from [[buffer(5)]]", "keys_from [[buffer(6)]]"),
    in_onesweep("a counter of 8 bits", "store_shared(counter, place);", "store_shared(counter, place & 0xffu);"),
    in_onesweep("a mask off by one", "((1u << me.lane) - 1u)", "((2u << me.lane) - 1u)"),
    in_onesweep("an unstable rank", "peers & ((1u << me.lane) - 1u)", "peers & ~((2u << me.lane) - 1u)"),
    in_onesweep(
        "threads in the order of items",
        "(me.simdgroup * me.held + item) * LANES + me.lane",
        "me.index * me.held + item",
    ),
    in_onesweep("lanes in another order", "lane [[thread_index_in_simdgroup]]", "lane [[simdgroup_index_in_threadgroup]]"),
    in_onesweep(
        "no ticket",
        "ticket = atomic_fetch_add_explicit(state + STATE_TICKETS + slot.value, 1u, memory_order_relaxed);",
        "ticket = 0u;",
    ),
    in_onesweep(
        "a ticket in two steps",
        "ticket = atomic_fetch_add_explicit(state + STATE_TICKETS + slot.value, 1u, memory_order_relaxed);",
        "ticket = load(state + STATE_TICKETS + slot.value); store(state + STATE_TICKETS + slot.value, ticket + 1u);",
    ),
    in_onesweep("a sum without its own tile", "INCLUSIVE | (earlier[i] + ranked.totals[i])", "INCLUSIVE | earlier[i]"),
    in_onesweep("a recount of the next tile", "(stuck - 1u - first_tile) * TILE", "(stuck - first_tile) * TILE"),
    first(
        Kernel::Histogram,
        "the last key is not counted",
        "if (start + k * GROUP + index < present)",
        "if (start + k * GROUP + index + 1u < present)",
    ),
    first(Kernel::SingleTile, "one key too many", "if (item < me.held && at < present)", "if (item < me.held && at <= present)"),
    in_top_k("the first level taken for no last one", "level.value >= LAST_LEVEL", "level.value > LAST_LEVEL"),
    in_top_k("one equal key too many", "is_below || same_before < wanted", "is_below || same_before <= wanted"),
    in_top_k("a digit too high", "wanted <= below + counts[i]", "wanted < below + counts[i]"),
    in_top_k(
        "smaller keys counted again",
        "if (compared(key, bar, known, sort) == SAME)",
        "if (compared(key, bar, known, sort) != ABOVE)",
    ),
    in_top_k("marks of another lane", "if (me.lane == step)", "if (me.lane == (step ^ 1u))"),
    in_top_k("rounds that forget", "same_taken += counts.y >> 16u;", ""),
    in_distance("half of a team", "uint reach = TEAM / 2u", "uint reach = TEAM / 4u"),
    in_distance("each lane its own sum", "static_cast<ushort>(lane - lane % TEAM)", "static_cast<ushort>(lane)"),
    in_distance("halves the other way round", "halves.y : halves.x", "halves.x : halves.y"),
    in_distance("no last candidate", "if (first + r < search.candidates)", "if (first + r + 1u < search.candidates)"),
    in_distance(
        "a page with a slot too many",
        "- search.page_first < search.page_slots",
        "- search.page_first <= search.page_slots",
    ),
    in_distance("no number keeps its sign", "0x80000000u : NOT_A_NUMBER", "0x80000000u : sums[0]"),
    first(Kernel::Nearest, "one place too many", "if (at >= search.selected)", "if (at > search.selected)"),
    first(Kernel::Nearest, "an empty place looked at", "if (position == NOTHING)", "if (position == NOTHING - 1u)"),
];

/// Mistakes in the kernels for wide digits.
const WIDE_MISTAKES: [Mistake; 10] = [
    in_wide(Kernel::Onesweep, "a wrong binding", "keys_from [[buffer(5)]]", "keys_from [[buffer(6)]]"),
    in_wide(Kernel::Onesweep, "a mask off by one", "#define HALF 0xffffu", "#define HALF 0xfffeu"),
    in_wide(Kernel::Onesweep, "the other half", "16u * (digit / ROW)", "16u * (1u - digit / ROW)"),
    in_wide(Kernel::Onesweep, "upper halves among the lower", "(starts[i] >> 16u) + lower", "starts[i] >> 16u"),
    in_wide(
        Kernel::Onesweep,
        "no ticket",
        "ticket = atomic_fetch_add_explicit(state + STATE_TICKETS + slot.value, 1u, memory_order_relaxed);",
        "ticket = 0u;",
    ),
    in_wide(Kernel::Onesweep, "places on the slice", "board + (BOARD - RADIX)", "board"),
    in_wide(
        Kernel::Onesweep,
        "counts of tiles before the last",
        "words[d] >= INCLUSIVE ? first_tile : before",
        "false ? 0u : before",
    ),
    in_wide(Kernel::Histogram, "the lower half alone", "1u << (16u * (value / ROW))", "1u"),
    in_wide(Kernel::Histogram, "the lower half for both", " >> (16u * (i / ROW % 2u))", ""),
    in_wide(Kernel::Scan, "one digit a thread", "group_id.x * RADIX + index * DIGITS", "group_id.x * RADIX + index"),
];

/// Mistakes in the kernels of the MSD hybrid.
const HYBRID_MISTAKES: [Mistake; 19] = [
    in_hybrid(Kernel::Onesweep, "a partition by the lowest digit", "31u - clz(load(state", "ctz(load(state"),
    in_hybrid(Kernel::BucketSweep, "a wrong binding", "keys_from [[buffer(7)]]", "keys_from [[buffer(8)]]"),
    in_hybrid(Kernel::BucketSweep, "a mask off by one", "((1u << me.lane) - 1u)", "((2u << me.lane) - 1u)"),
    in_hybrid(
        Kernel::BucketSweep,
        "no ticket",
        "taken = atomic_fetch_add_explicit(batch_row + BATCH_TICKETS + slot.value, 1u, memory_order_relaxed);",
        "taken = load(batch_row + BATCH_TICKETS + slot.value);",
    ),
    in_hybrid(Kernel::BucketSweep, "a ticket for all passes", "BATCH_TICKETS + slot.value", "BATCH_TICKETS + 1u"),
    in_hybrid(Kernel::BucketSweep, "a chain of all buckets", "chain.first_tile = found.z - tiles_begin", "chain.first_tile = 0u"),
    in_hybrid(Kernel::BucketSweep, "the first pass reads elsewhere", "ends_here && slot.value > 1u", "ends_here"),
    in_hybrid(Kernel::BucketSweep, "batches apart", "to_shift = ends_here ? 0u : batch_start", "to_shift = 0u"),
    in_hybrid(
        Kernel::BucketSweep,
        "a recount of the next tile",
        "(stuck - 1u - first_tile) * TILE",
        "(stuck - first_tile) * TILE",
    ),
    in_hybrid(
        Kernel::BucketSweep,
        "counts of the next digit",
        "smaller_at(found.w, digit_index)",
        "smaller_at(found.w, slot.value)",
    ),
    in_hybrid(Kernel::BucketTile, "no bucket of the most keys", "present > SMALL_BUCKET", "present >= SMALL_BUCKET"),
    in_hybrid(Kernel::BucketTile, "a digit too high", "scheduled(slot - 1u, state)", "scheduled(slot, state)"),
    in_hybrid(Kernel::BucketTile, "the other buffer", "sort_passes % 2u == 0u", "sort_passes % 2u == 1u"),
    in_hybrid(Kernel::BucketHistogram, "no last digit", "return sort.digit_count - 1u;", "return sort.digit_count - 2u;"),
    in_hybrid(Kernel::BucketHistogram, "another bucket", "load(found + 3u)", "load(found + 2u)"),
    in_hybrid(Kernel::BucketHistogram, "status of other tiles", "status[(tile - tiles_begin)", "status[(tile - 0u)"),
    in_hybrid(Kernel::Buckets, "no tiles of larger buckets", "end - start <= SMALL_BUCKET", "end - start <= SMALL_BUCKET + 1u"),
    in_hybrid(
        Kernel::Buckets,
        "a bucket in the batch before",
        "first_from(starts, RADIX, i * BATCH_KEYS)",
        "first_from(starts, RADIX, i * BATCH_KEYS + 1u)",
    ),
    in_hybrid(Kernel::Buckets, "whole tiles alone", "min(starts[bucket + 1u] - key, TILE)", "TILE"),
];

/// Mistakes in the kernels of the counting sort.
const COUNTING_MISTAKES: [Mistake; 9] = [
    in_counting(Kernel::CountValues, "counters that overflow", "(before & BOTH_HALF_FULL) != 0u", "false"),
    in_counting(Kernel::CountValues, "moved by all that see it", "full & BOTH_HALF_FULL", "BOTH_HALF_FULL"),
    in_counting(Kernel::CountValues, "the lower half for both", "1u << (16u * (place % 2u))", "1u"),
    in_counting(Kernel::CountValues, "all keys for each team", "first += teams * SHARE", "first += SHARE"),
    in_counting(Kernel::CountValues, "no last key", "keys % KEYS_PER_WORD", "0u"),
    in_counting(Kernel::ScanValues, "with its own", "state[at] = counts.x", "state[at] = counts.x + found"),
    in_counting(
        Kernel::Fill,
        "the value before",
        "start_of(value, state, block_starts) <= position",
        "start_of(value, state, block_starts) < position",
    ),
    in_counting(Kernel::Fill, "words of two values", "end < position + KEYS_PER_WORD", "end <= position"),
    in_counting(Kernel::Fill, "one step of each size", "step /= 2u; step > 0u", "step /= 4u; step > 0u"),
];

/// Mistakes in the kernels that select many keys.
const PICK_MISTAKES: [Mistake; 16] = [
    first(Kernel::PickCount, "larger keys counted again", "compared(batch[k], bar, known, sort) == SAME", "true"),
    first(Kernel::PickCount, "the lowest digit first", "sort.digit_count - 1u - level.value", "level.value"),
    first(
        Kernel::PickCount,
        "the last key is not counted",
        "if (start + k * GROUP + index < present",
        "if (start + k * GROUP + index + 1u < present",
    ),
    first(Kernel::PickDigit, "a digit too high", "wanted <= below + found", "wanted < below + found"),
    first(Kernel::PickDigit, "smaller keys selected twice", "left = wanted - below", "left = wanted"),
    first(Kernel::PickDigit, "settled by the first digit", "left == found ? 1u : 0u", "1u"),
    first(Kernel::PickDigit, "one word of nothing too few", "i = there + index", "i = there + 1u + index"),
    first(Kernel::PickDigit, "as many keys as wanted", "picked_count[0] = there", "picked_count[0] = sort.k"),
    first(Kernel::PickTally, "the last key is not counted", "index < present;", "index + 1u < present;"),
    first(Kernel::PickTally, "both counts in one", "same << 16u", "same"),
    first(Kernel::PickSpine, "with its own", "status[tile] = before", "status[tile] = before + own"),
    first(Kernel::Pick, "one equal key too many", "same_before < wanted", "same_before <= wanted"),
    first(Kernel::Pick, "marks of another lane", "if (me.lane == step)", "if (me.lane == (step ^ 1u))"),
    first(Kernel::Pick, "a mask off by one", "(1u << lane) - 1u", "(2u << lane) - 1u"),
    first(Kernel::Pick, "each tile at the start", "tile_before.x + ", ""),
    first(Kernel::Pick, "the sum of this lane", "step_before = simd_shuffle(before, owner)", "step_before = before"),
];

/// Mistakes in the kernels that gather elements, widen indices, and limit the bounds of segments.
const ELEMENT_MISTAKES: [Mistake; 7] = [
    first(Kernel::Gather, "one element too many", "i < words.there", "i <= words.there"),
    first(Kernel::Gather, "the first word of each element", " + at % words.width", ""),
    first(Kernel::Gather, "no last word", "if (start + k * GROUP < end)", "if (start + k * GROUP + 1u < end)"),
    first(Kernel::Gather, "one tile for each workgroup", "first += groups * COPY_TILE", "first = count"),
    first(
        Kernel::WidenIndices,
        "an index for its upper word",
        "at % 2u == 0u ? words.indices[at / 2u] : 0u",
        "words.indices[at / 2u]",
    ),
    first(
        Kernel::SegmentBounds,
        "ends after the last key",
        "min(ends[ends_first.value + i], keys)",
        "ends[ends_first.value + i]",
    ),
    first(Kernel::SegmentBounds, "ends before the begin", "max(begin, ", "max(0u, "),
];

/// Mistakes in the kernels that sort segments.
const SEGMENT_MISTAKES: [Mistake; 34] = [
    in_segments(Kernel::Segments, "a class too low", "/ NETWORK_KEYS);", "/ (NETWORK_KEYS + 1u));"),
    in_segments(Kernel::Segments, "places of each block", "place += firsts[kind]", "place += 0u"),
    in_segments(Kernel::Segments, "whole tiles alone", "(keys + TILE - 1u) / TILE", "keys / TILE"),
    in_segments(Kernel::Segments, "tiles of each block", "firsts[CLASSES] + tile", "tile"),
    in_segments(Kernel::Segments, "no segment of two keys", "if (keys > 1u)", "if (keys > 2u)"),
    in_segments(Kernel::SegmentNetwork, "no mirror", "shuffled(own[KEYS - 1u - i], lanes)", "shuffled(own[i], lanes)"),
    in_segments(Kernel::SegmentNetwork, "no mirror between simdgroups", "mirrored ? KEYS - 1u - i : i", "i"),
    in_segments(
        Kernel::SegmentNetwork,
        "both threads keep the same key",
        "goes_first(other, own) == is_lower",
        "goes_first(other, own)",
    ),
    in_segments(Kernel::SegmentNetwork, "a step too few", "reach >= LANES", "reach > LANES"),
    in_segments(
        Kernel::SegmentNetwork,
        "half of the lanes",
        "merge_lanes(own, lane, LANES / 2u)",
        "merge_lanes(own, lane, LANES / 4u)",
    ),
    in_segments(Kernel::SegmentNetwork, "the later one of equal keys", "a.position < b.position", "a.position > b.position"),
    in_segments(
        Kernel::SegmentNetwork,
        "all bits of the keys",
        "ordered_word(key, word, sort) & sort.window[word]",
        "ordered_word(key, word, sort)",
    ),
    in_segments(Kernel::SegmentNetwork, "the first segments for each unit", "todo.y + segment", "segment"),
    in_segments(Kernel::SegmentNetwork, "one team too many", "if (segment < todo.z)", "if (segment <= todo.z)"),
    in_segments(Kernel::SegmentNetwork, "units of the first class", "before += units", ""),
    in_segments(Kernel::SegmentNetwork, "the keys of all teams", "board[apart(first + at)]", "board[apart(at)]"),
    in_segments(Kernel::SegmentTile, "no last digit", "d < sort.digit_count; d++", "d + 1u < sort.digit_count; d++"),
    in_segments(Kernel::SegmentTile, "values of another segment", "(sort.values_home + first)", "sort.values_home"),
    in_segments(Kernel::SegmentTile, "each segment once for each workgroup", "segment = group_id.x", "segment = 0u"),
    in_segments(
        Kernel::SegmentTile,
        "one key too many",
        "if (item < me.held && at < present)",
        "if (item < me.held && at <= present)",
    ),
    in_segments(Kernel::LongSegments, "whole tiles alone", "min(keys - t * TILE, TILE)", "TILE"),
    in_segments(Kernel::LongSegments, "a chain for each tile", "table[at + 2u] = first_tile", "table[at + 2u] = first_tile + t"),
    in_segments(Kernel::LongSegments, "counts of an earlier sort", "i < KEY_DIGITS * RADIX", "i < RADIX"),
    in_segments(Kernel::LongSegments, "no check of the lists", "is_counted && all_tiles", "all_tiles"),
    in_segments(Kernel::LongSegments, "no check of the table", "all_tiles <= most_tiles(sort)", "true"),
    in_segments(Kernel::BucketHistogram, "no last digit", "return sort.digit_count;", "return sort.digit_count - 1u;"),
    in_segments(Kernel::BucketHistogram, "no copy of the last key", "if (i < present)", "if (i + 1u < present)"),
    in_segments(
        Kernel::BucketHistogram,
        "values of other keys",
        "values_from[sort.values_home + first + i]",
        "values_from[first]",
    ),
    in_segments(Kernel::BucketSweep, "an even number of passes", "2u - sort.digit_count % 2u", "2u"),
    in_segments(
        Kernel::BucketSweep,
        "counts of another segment",
        "smaller_at(found.w, digit_index)",
        "smaller_at(0u, digit_index)",
    ),
    in_segments(Kernel::BucketSweep, "writes behind all keys", "slice_first + at, chain.last)", "slice_first + at, ~0u)"),
    in_segments_of_keys(Kernel::SegmentNetwork, "the sign of another order", "sort.clear[KEY_WORDS - 1u]", "0u"),
    in_segments_of_keys(Kernel::SegmentNetwork, "ordered bits as keys", "^ (sort.flip[word] & sign)", ""),
    in_segments_of_keys(Kernel::BucketSweep, "an odd number of passes", "2u - sort.digit_count % 2u", "1u"),
];

/// Returns all mistakes but those that remove a barrier.
pub(crate) fn mistakes() -> Vec<Mistake> {
    [&MISTAKES[..], &WIDE_MISTAKES, &HYBRID_MISTAKES, &COUNTING_MISTAKES, &PICK_MISTAKES, &SEGMENT_MISTAKES, &ELEMENT_MISTAKES]
        .concat()
}

/// Returns the mistake that removes one occurrence of a barrier.
pub(crate) fn no_barrier(kernel: Kernel, by: By, from: &'static str, number: usize) -> Mistake {
    Mistake { kernel, by, what: "no barrier", number, from, to: "" }
}

/// Returns the mistakes that remove a barrier without which all tests pass.
pub(crate) fn unnoticed() -> Vec<Mistake> {
    UNNOTICED.map(|(kernel, by, barrier, number)| no_barrier(kernel, by, BARRIERS[barrier], number)).to_vec()
}
