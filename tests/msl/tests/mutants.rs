//! Mistakes that are planted in the native kernels. The runner must report each, or a sort, selection or search must give a wrong result.
#![cfg(unix)]

use polysort_core::{Backend, Masks, Operation, Options, Segments, Sort, Spec, ValuesMut, permutation};
use polysort_kit::{StdBackend, is_thorough};
use polysort_msl::{Buffer as Bytes, Config, FACTS, Memory, MslBackend, Source, Text};
use polysort_shaders::abi::NOTHING;
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{
    Algorithm, Blocked, Buffer, Facts, Gather, Kernel, Place, RADIX_BITS, Request, Segmented, SortPlan, Top, Variant,
    WIDE_RADIX_BITS,
};
use polysort_vector::{Metric, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};
use std::sync::Mutex;

/// The sorts that test a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
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
    fn has_digits_of(self, bits: u32) -> bool {
        bits == match self {
            Self::Plans | Self::Hybrid | Self::Segments | Self::SegmentsOfKeys => RADIX_BITS,
            Self::WideDigits => WIDE_RADIX_BITS,
            Self::Counting => 16,
        }
    }
}

/// A mistake: a replacement of one occurrence of a text in a kernel. Occurrences are counted from 0.
#[derive(Clone, Copy, Debug)]
struct Mistake {
    kernel: Kernel,
    by: By,
    what: &'static str,
    number: usize,
    from: &'static str,
    to: &'static str,
}

/// The planted mistake. The test below is the only one in its process, so no other thread changes it.
static PLANTED: Mutex<Option<Mistake>> = Mutex::new(None);

/// The native kernels with the planted mistake, compiled with fast math, Metal's default.
const MUTANTS: Source =
    Source { name: "mutated", text: |variant| mutated(variant), options: Source::NATIVE.options.fast_math(true) };

fn mutated(variant: &Variant) -> Text {
    let Text { text, takes_sizes } = (Source::NATIVE.text)(variant);
    let text = match *PLANTED.lock().unwrap() {
        Some(Mistake { kernel, by, number, from, to, .. })
            if kernel == variant.kernel() && by.has_digits_of(variant.radix_bits) =>
        {
            let (at, _) = text.match_indices(from).nth(number).expect("what is mutated is there");
            format!("{}{to}{}", &text[..at], &text[at + from.len()..])
        }
        _ => text,
    };
    Text { text, takes_sizes }
}

const BARRIERS: [&str; 4] = [
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

/// The most keys of a small bucket.
const SMALL: u32 = 140;

/// The keys of a round: the bits of a number, and the first number.
type Bits = (u32, u32);

/// Keys in which all digits vary, or fewer and fewer digits.
const FEWER: [Bits; 4] = [(0, u32::MAX), (5, u32::MAX), (10, u32::MAX), (15, u32::MAX)];

/// Keys for the MSD hybrid. There are two buckets of several tiles; 64 buckets of [`SMALL`] keys or one more; 16 buckets of one tile, several
/// of them in a batch. The last two also have an odd number of digits. Digits between the highest and the lowest have few values.
const BUCKETS: [Bits; 4] = [(7, u32::MAX), (2, 0xff03_03ff), (2, 0xff00_ffff), (12, u32::MAX)];

/// Schedules of sorts in which all tiles are blocked: enough that some threads see the counts of another threadgroup, and some do not.
const TIMES: u32 = 40;

/// Returns an error if keys with values are sorted wrongly.
fn sorts(by: By) -> Result<(), String> {
    // Some tiles are blocked, or all. If all are, threads see the most changes by other threadgroups.
    let some = |algorithm| Config { algorithm: Some(algorithm), blocked: Blocked::one_of(3), ..Config::of(MUTANTS) };
    let all = |algorithm| Config { blocked: Blocked::run(0, u32::MAX), ..some(algorithm) };
    match by {
        // One launch sorts, or several.
        By::Plans => {
            each_sorts(Config::of(MUTANTS), 3000, &FEWER, 1)?;
            each_sorts(Config { planned_for: 1 << 22, ..some(Algorithm::OneSweep) }, 40_000, &FEWER, 1)?;
            each_sorts(all(Algorithm::OneSweep), 9000, &FEWER[..1], TIMES)
        }
        By::WideDigits => {
            each_sorts(some(Algorithm::WideDigits), 9000, &FEWER, 1)?;
            each_sorts(all(Algorithm::WideDigits), 9000, &FEWER[..1], TIMES)
        }
        By::Hybrid => {
            let config = Config { batch: Some(3000), small_bucket: Some(SMALL), ..some(Algorithm::MsdHybrid) };
            each_sorts(config, 64 * SMALL + 40, &BUCKETS, 1)?;
            // Each thread has several keys of a small bucket.
            each_sorts(Config { small_bucket: None, ..config }, 5000, &BUCKETS[..1], 1)?;
            each_sorts(Config { small_bucket: Some(SMALL), ..all(Algorithm::MsdHybrid) }, 20_000, &BUCKETS[..1], TIMES)
        }
        By::Counting => {
            counts(some(Algorithm::Counting), 40_001, 3)?;
            // One team gets more equal keys than a count of 16 bits can hold.
            counts(Config { most_groups: 1, ..some(Algorithm::Counting) }, 90_001, 100)
        }
        By::Segments | By::SegmentsOfKeys => {
            let config = Config { small_bucket: Some(LONGEST_SMALL), blocked: Blocked::one_of(3), ..Config::of(MUTANTS) };
            sorts_segments(by, config, &lengths(), 1)?;
            sorts_segments(by, Config { blocked: Blocked::run(0, u32::MAX), ..config }, &[9000, 3, 4500], TIMES)?;
            overlaps(Config { races: true, ..config })
        }
    }
}
/// Returns an error if keys with these bits are sorted wrongly, on several schedules of each launch.
fn each_sorts(config: Config, len: u32, bits: &[Bits], times: u32) -> Result<(), String> {
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    for time in 0..times {
        for (round, &(shift, mask)) in (0..).zip(bits) {
            let key = |i: u32| ((i + round + time).wrapping_mul(0x9e37_79b9) >> shift) & mask;
            let input: Vec<u32> = (0..len).map(key).collect();
            let mut order: Vec<u32> = (0..len).collect();
            let (mut keys, mut values) = (input.clone(), order.clone());
            order.sort_by_key(|&i| input[i as usize]);
            backend.sort_pairs_with(&mut keys, &mut values, Options::ascending()).map_err(|error| error.to_string())?;
            if !keys.is_sorted() || values != order {
                return Err("sorted wrongly".into());
            }
        }
    }
    Ok(())
}

/// Returns an error if keys of 16 bits are sorted wrongly. Nearly all keys have one of three values, most of them the same.
fn counts(config: Config, len: u32, others: u32) -> Result<(), String> {
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let usual = |i: u32| -300 + i16::from(i % 8 == 1) + 3 * i16::from(i % 16 == 2);
    let key = |i: u32| if i.is_multiple_of(others) { (i.wrapping_mul(0x9e37_79b9) >> 16) as i16 } else { usual(i) };
    let input: Vec<i16> = (0..len).map(key).collect();
    let (mut keys, mut expected) = (input.clone(), input);
    expected.sort_unstable();
    backend.sort(&mut keys).map_err(|error| error.to_string())?;
    if keys == expected { Ok(()) } else { Err("sorted wrongly".into()) }
}

/// The most keys of a segment that one threadgroup sorts in these tests.
const LONGEST_SMALL: u32 = 1400;

/// Returns lengths of segments: around the ends of all classes of the network, more than a threadgroup lists at a time, and then longer ones.
fn lengths() -> Vec<usize> {
    let classes = (3..11).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
    let some = (0..300).map(|i| i * 7 % 11);
    let long = [1400, 1401, 4099, 2, 1402, 7000];
    [1400, 1401, 5000].into_iter().chain(classes).chain(some).chain(long).collect()
}

/// Returns an error if segments of these lengths are sorted wrongly, on several schedules of each launch. Many keys are equal in the bits that
/// are compared. There are gaps between the segments.
fn sorts_segments(by: By, config: Config, lengths: &[usize], times: u32) -> Result<(), String> {
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let ends: Vec<usize> =
        lengths.iter().scan(3, |end, length| Some(std::mem::replace(end, *end + length + 1) + length)).collect();
    let begins: Vec<usize> = ends.iter().zip(lengths).map(|(end, length)| end - length).collect();
    let segments = Segments::Ranges { begins: &begins, ends: &ends };
    let len = ends.last().map_or(0, |end| end + 5);
    let (masks, begin) = if by == By::Segments { (Masks::signed(32), 8) } else { (Masks::float(32), 0) };
    let spec = Spec::new::<u32>(masks, begin, 32).map_err(|error| error.to_string())?;
    for time in 0..times {
        // The last eight bits, by which pairs are not sorted, differ.
        let few = |i: u32| (i.wrapping_mul(0x9e37_79b9) >> 7) % 61 + time;
        let key = |i: u32| few(i).wrapping_mul(0x9e37_79b9) / 256 * 256 + i * 37 % 256;
        let input: Vec<u32> = (0..len as u32).map(key).collect();
        let mut order: Vec<u32> = (0..len as u32).collect();
        segments.ranges().for_each(|range| order[range].sort_by_key(|&i| spec.rank(input[i as usize])));
        let (mut keys, mut values): (_, Vec<u32>) = (input.clone(), (0..len as u32).collect());
        let (keys_to, segments) = (&mut keys, Some(segments));
        let operation = match by {
            By::Segments => Operation::SortPairs { keys: keys_to, values: ValuesMut::of(&mut values), segments },
            _ => Operation::Sort { keys: keys_to, segments },
        };
        backend.run(operation.into(), spec).map_err(|error| error.to_string())?;
        if keys != permutation::gather(&input, &order) || by == By::Segments && values != order {
            return Err("sorted wrongly".into());
        }
    }
    Ok(())
}

/// Returns an error if a kernel accesses words outside of its buffers, or does not end, because segments overlap.
fn overlaps(config: Config) -> Result<(), String> {
    const KEYS: u32 = 14_000;
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let spec = Spec::new::<u32>(Masks::signed(32), 8, 32).map_err(|error| error.to_string())?;
    let long = |begin: u32, length: u32| [begin, begin + length];
    // Segments of the last keys; more long segments than there can be; segments whose tiles do not fit the table.
    let last = vec![long(9000, 5000), long(11_000, 3000), long(10_900, 1600), long(12_400, 1600)];
    let many = (0..12).map(|i| long(1000 * i, 1450)).collect();
    let tiles = (0..6).map(|i| long(i, KEYS - 6)).collect();
    for bounds in [last, many, tiles] as [Vec<[u32; 2]>; 3] {
        let of = Segmented { max: bounds.len() as u32, begins: Place::default(), ends: Place::default() };
        let request = Request::keys(32, spec, KEYS.into()).with_values(1).in_segments(of);
        let request = Request { small_bucket: config.small_bucket, blocked: config.blocked, ..request };
        let plan = SortPlan::new(request, &FACTS).map_err(|error| error.to_string())?;
        let bound = |end: usize| Bytes::of(&bounds.iter().map(|bound| bound[end]).collect::<Vec<_>>());
        let keys: Vec<u32> = (0..KEYS).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let mut memory = Memory::from([
            (Buffer::Keys, Bytes::of(&keys)),
            (Buffer::Values, Bytes::of(&keys)),
            (Buffer::Begins, bound(0)),
            (Buffer::Ends, bound(1)),
        ]);
        backend.launch_each(&plan, bounds.len() as u64, &mut memory, |_, _| {}).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Returns the indices of the first `k` of `keys[begin..end]`; missing ones are NOTHING.
fn first_keys(keys: &[u32], [begin, end]: [u32; 2], k: usize, spec: Spec) -> Vec<u32> {
    let mut order: Vec<u32> = (begin..end).collect();
    order.sort_by_key(|&i| spec.rank(keys[i as usize]));
    order.resize(order.len().max(k), NOTHING);
    order.truncate(k);
    order
}

/// Returns an error if a selection of more keys than one threadgroup selects is wrong: of different keys, of keys with few values, among them the
/// last keys of tiles, from fewer keys than `k`, of keys that are all equal in the bits that are compared.
fn picks() -> Result<(), String> {
    let backend = MslBackend::open_with(Config::of(MUTANTS)).map_err(|error| error.to_string())?;
    let k = FACTS.most_selected() + 1;
    let mixed = |i: u32| i.wrapping_mul(0x9e37_79b9);
    let few = |i: u32| u32::from(i % 4 != 3);
    for (len, key, end) in [(20_003, mixed as fn(u32) -> u32, 32), (20_003, few, 32), (k - 9, mixed, 32), (20_003, mixed, 0)] {
        let keys: Vec<u32> = (0..len).map(key).collect();
        let spec = Spec::new::<u32>(Masks::UNSIGNED, 0, end).map_err(|error| error.to_string())?;
        let request = Request::keys(32, spec, len.into()).select(Top { k, segmented: false });
        let plan = SortPlan::new(request, &FACTS).map_err(|error| error.to_string())?;
        let (from, to) = (Bytes::of(&keys), Bytes::of(&vec![0_u32; k as usize]));
        let mut memory = Memory::from([(Buffer::Keys, from), (Buffer::Values, to)]);
        backend.launch_each(&plan, len.into(), &mut memory, |_, _| {}).map_err(|error| error.to_string())?;
        let (found, count) = (memory[&Buffer::Values].values::<u32>(), memory[&Buffer::PickedCount].values::<u32>()[0]);
        if found != first_keys(&keys, [0, len], k as usize, spec) || count != k.min(len) {
            return Err("selected wrongly".into());
        }
    }
    Ok(())
}

/// Returns an error if elements are gathered wrongly, or if a selection from segments whose bounds lie in buffers is wrong. Its indices have 64 bits.
fn moves_elements() -> Result<(), String> {
    const KEYS: u32 = 9001;
    let backend = MslBackend::open_with(Config { most_groups: 1, ..Config::of(MUTANTS) }).map_err(|error| error.to_string())?;
    let launched = |request: Request, count: usize, mut memory: Memory, result: Buffer| {
        let plan = SortPlan::new(request, &FACTS).map_err(|error| error.to_string())?;
        backend.launch_each(&plan, count as u64, &mut memory, |_, _| {}).map_err(|error| error.to_string())?;
        Ok::<Vec<u32>, String>(memory[&result].values())
    };
    let keys: Vec<u32> = (0..KEYS).map(|i| i.wrapping_mul(0x9e37_79b9) % 901).collect();
    let all = Request::keys(32, Spec::unsigned::<u32>(), KEYS.into());
    let gather = Gather { element_bytes: 12, elements: 900, from: Place::default(), to: Place::default() };
    let from: Vec<[u32; 3]> = (0..901).map(|i| [i, !i, 7 * i]).collect();
    let gathered = |&key: &u32| if key < 900 { from[key as usize] } else { [0; 3] };
    let memory = Memory::from([
        (Buffer::Keys, Bytes::of(&keys)),
        (Buffer::GatherFrom, Bytes::of(&from)),
        (Buffer::GatherTo, Bytes::of(&vec![1_u32; 3 * keys.len()])),
    ]);
    if launched(all.gather(gather), keys.len(), memory, Buffer::GatherTo)? != keys.iter().flat_map(gathered).collect::<Vec<_>>() {
        return Err("gathered wrongly".into());
    }

    let bounds = [[0, 40], [50, 50], [60, 20], [8990, 9005], [9010, 9020], [7000, 8000]];
    let of = Segmented { max: bounds.len() as u32, begins: Place::default(), ends: Place::default() };
    let request = all.select(Top { k: 20, segmented: true }).in_segments(of).with_wide_indices(Place::default());
    let bound = |end: usize| Bytes::of(&bounds.map(|bound| bound[end]));
    let memory = Memory::from([
        (Buffer::Keys, Bytes::of(&keys)),
        (Buffer::Begins, bound(0)),
        (Buffer::Ends, bound(1)),
        (Buffer::WideIndices, Bytes::of(&[1_u32; 2 * 20 * 6])),
    ]);
    let found = launched(request, bounds.len(), memory, Buffer::WideIndices)?;
    let limited = bounds.map(|[begin, end]| [begin.min(KEYS), end.min(KEYS).max(begin.min(KEYS))]);
    let expected =
        limited.into_iter().flat_map(|bounds| first_keys(&keys, bounds, 20, request.spec)).flat_map(|index| [index, 0]);
    if found == expected.collect::<Vec<_>>() { Ok(()) } else { Err("selected wrongly".into()) }
}

/// Returns an error if a selection is wrong: from one segment, from several, from fewer keys than `k`, from given segments.
fn selects() -> Result<(), String> {
    let backend = MslBackend::open_with(Config::of(MUTANTS)).map_err(|error| error.to_string())?;
    let keys: Vec<u32> = (0..SELECT_SEGMENT + 9).map(|i| i.wrapping_mul(0x9e37_79b9) >> 20 << 13).collect();
    let spec = Spec::unsigned::<u32>();
    let bounds = [[0, 40], [50, 50], [50, 12_000]];
    let all = keys.len();
    // A selection with one key per thread, and one with sixteen.
    for (k, len, bounds) in [(100, 5, None), (100, 3000, None), (100, all, None), (100, all, Some(&bounds[..])), (300, 290, None)]
    {
        let found = backend.select(&keys[..len], k, bounds, spec).map_err(|error| error.to_string())?;
        let whole = [[0, len as u32]];
        let expected = bounds.unwrap_or(&whole).iter().flat_map(|&bounds| first_keys(&keys, bounds, k as usize, spec));
        if found != expected.collect::<Vec<_>>() {
            return Err("selected wrongly".into());
        }
    }
    Ok(())
}

/// Returns an error if distances or nearest vectors differ from those of the reference backend. Numbers are halves, stores have several pages,
/// and some distances are NaN.
fn searches() -> Result<(), String> {
    fn found<B: VectorSearch>(backend: &B) -> Result<[Vec<u32>; 4], VectorError> {
        let shape = Shape::new(33, 40).precision(Precision::F16);
        // The numbers are small integers, whose sums are exact in any order.
        let number = |at: usize| ((at * 7 + at / 33 * 3) % 5) as f32 - 2.0;
        let vectors: Vec<f32> = (0..33 * 40).map(number).collect();
        let mut queries: Vec<f32> = (0..33 * 4).map(|at| number(3 * at + 1)).collect();
        // The products of the last query with numbers of both signs are infinite, and their sum is NaN.
        queries[33 * 3..].fill(f32::MAX);
        let candidates: Vec<u32> = (0..90).map(|at| at * 7 % 30).collect();
        let mut store = backend.vector_store(shape)?;
        store.write(0, &vectors)?;
        store.set_entries(&(0..30).map(|entry| entry * 3 % 40).collect::<Vec<_>>())?;
        let search = Search::new(&queries, &candidates, &[0, 20, 20, 23, 90]).metric(Metric::InnerProduct);
        let (all, near) = (backend.distances(&store, &search)?, backend.nearest(&store, &search, 5)?);
        let (near_slots, near): (Vec<_>, Vec<_>) = (0..4).map(|query| near.of(query)).unzip();
        let bits = |distances: &[f32]| distances.iter().map(|distance| distance.to_bits()).collect();
        Ok([bits(&all.distances), all.slots, bits(&near.concat()), near_slots.concat()])
    }
    let config = Config { facts: Facts { max_binding: 1 << 10, ..FACTS }, ..Config::of(MUTANTS) };
    let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
    let expected = found(&StdBackend::open().map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let found = found(&backend).map_err(|error| error.to_string())?;
    if found == expected { Ok(()) } else { Err("searched wrongly".into()) }
}

/// Returns an error if any operation that uses a kernel gives a wrong result.
fn works(kernel: Kernel, by: By) -> Result<(), String> {
    match kernel {
        Kernel::TopK => selects(),
        Kernel::PickCount | Kernel::PickDigit | Kernel::PickTally | Kernel::PickSpine | Kernel::Pick => picks(),
        Kernel::Gather | Kernel::WidenIndices | Kernel::SegmentBounds => moves_elements(),
        Kernel::IvfDistance | Kernel::Nearest => searches(),
        _ => sorts(by),
    }
}

/// Returns a mistake for each barrier of these kernels: it removes the barrier.
fn barriers<'a>(by: By, kernels: &'a [Kernel], plans: &'a [SortPlan]) -> impl Iterator<Item = Mistake> + 'a {
    kernels.iter().flat_map(move |&kernel| {
        let mut variants = plans.iter().flat_map(SortPlan::all_commands).map(|command| command.variant);
        let variant = variants.find(|variant| variant.kernel() == kernel).unwrap();
        let text = (Source::NATIVE.text)(&variant).text;
        BARRIERS.into_iter().flat_map(move |from| {
            let count = text.matches(from).count();
            (0..count).map(move |number| Mistake { kernel, by, what: "no barrier", number, from, to: "" })
        })
    })
}

/// Returns the mistakes that no test shows.
fn missed(mistakes: impl IntoIterator<Item = Mistake>) -> Vec<(Kernel, By, &'static str, &'static str, usize)> {
    let mut missed = vec![];
    for mistake in mistakes {
        *PLANTED.lock().unwrap() = Some(mistake);
        match works(mistake.kernel, mistake.by) {
            Ok(()) => missed.push((mistake.kernel, mistake.by, mistake.what, mistake.from, mistake.number)),
            Err(why) => println!("{mistake:?}: {}", why.lines().next().unwrap_or_default()),
        }
    }
    *PLANTED.lock().unwrap() = None;
    missed
}

/// Every native kernel has a planted mistake, except those that only copy or clear words.
#[test]
fn every_native_kernel_has_a_mistake() {
    let plain = [Kernel::Begin, Kernel::Copy, Kernel::Identity, Kernel::Widen, Kernel::Narrow];
    let mistakes = [
        &MISTAKES[..],
        &WIDE_MISTAKES,
        &HYBRID_MISTAKES,
        &COUNTING_MISTAKES,
        &PICK_MISTAKES,
        &SEGMENT_MISTAKES,
        &ELEMENT_MISTAKES,
    ]
    .concat();
    let without = Kernel::ALL.into_iter().filter(|&kernel| !mistakes.iter().any(|mistake| mistake.kernel == kernel));
    let without: Vec<Kernel> = without.filter(|kernel| kernel.entry().msl.is_some()).collect();
    assert_eq!(without, plain);
}

#[test]
fn mistakes_are_found() {
    // Without a mistake the kernels sort, which other tests show too.
    if is_thorough() {
        let all = [By::Plans, By::WideDigits, By::Hybrid, By::Counting, By::Segments, By::SegmentsOfKeys];
        assert_eq!(all.map(sorts), [const { Ok(()) }; 6]);
        assert_eq!([selects(), picks(), moves_elements(), searches()], [const { Ok(()) }; 4]);
    }
    let keys = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 40_000);
    let by = |algorithm| Request { algorithm: Some(algorithm), ..keys.with_values(1) };
    let plan = |request| SortPlan::new(request, &FACTS).unwrap();
    let plans = [keys.with_values(1), keys.select(Top { k: 100, segmented: false })].map(plan);
    let many = plan(keys.select(Top { k: FACTS.most_selected() + 1, segmented: false }));
    let in_segments = |mut request: Request, begin| {
        request.spec.begin = begin;
        plan(request.in_segments(Segmented { max: 1000, begins: Place::default(), ends: Place::default() }))
    };
    let (pairs, alone) = (in_segments(keys.with_values(1), 8), in_segments(keys, 0));
    let (wide, hybrid) = (plan(by(Algorithm::WideDigits)), plan(by(Algorithm::MsdHybrid)));
    let one_digit = [Kernel::SingleTile, Kernel::Histogram, Kernel::Scan, Kernel::Onesweep, Kernel::TopK];
    let wide_digits = [Kernel::Histogram, Kernel::Scan, Kernel::Onesweep];
    let buckets = [Kernel::Buckets, Kernel::BucketTile, Kernel::BucketHistogram, Kernel::BucketSweep];
    let halves = Request::keys(16, Spec::of::<i16>(Options::ascending()).unwrap(), 40_000);
    let counting = plan(Request { algorithm: Some(Algorithm::Counting), ..halves });
    let values = [Kernel::CountValues, Kernel::ScanValues, Kernel::Fill];
    let picks = [Kernel::PickCount, Kernel::PickDigit, Kernel::PickTally, Kernel::PickSpine, Kernel::Pick];
    let segments = [Kernel::Segments, Kernel::SegmentNetwork, Kernel::SegmentTile, Kernel::BucketHistogram, Kernel::BucketSweep];
    let mistakes = MISTAKES.into_iter().chain(WIDE_MISTAKES).chain(HYBRID_MISTAKES).chain(COUNTING_MISTAKES);
    let mistakes = mistakes.chain(PICK_MISTAKES).chain(SEGMENT_MISTAKES).chain(ELEMENT_MISTAKES);
    let missing = barriers(By::Plans, &one_digit, &plans)
        .chain(barriers(By::WideDigits, &wide_digits, core::slice::from_ref(&wide)))
        .chain(barriers(By::Hybrid, &buckets, core::slice::from_ref(&hybrid)))
        .chain(barriers(By::Counting, &values, core::slice::from_ref(&counting)))
        .chain(barriers(By::Plans, &picks, core::slice::from_ref(&many)))
        .chain(barriers(By::Segments, &segments, core::slice::from_ref(&pairs)))
        .chain(barriers(By::SegmentsOfKeys, &segments[1..2], core::slice::from_ref(&alone)));
    // A mistake takes about a second. A thorough test plants all of them, else every twentieth one.
    let tried: Vec<Mistake> = mistakes.chain(missing).step_by(if is_thorough() { 1 } else { 20 }).collect();
    let is_tried = |&(kernel, by, what, from, number): &_| {
        tried
            .iter()
            .any(|tried| (tried.kernel, tried.by, tried.what, tried.from, tried.number) == (kernel, by, what, from, number))
    };
    let known = UNNOTICED.map(|(kernel, by, barrier, number)| (kernel, by, "no barrier", BARRIERS[barrier], number));
    println!("{} mistakes", tried.len());
    assert_eq!(missed(tried.iter().copied()), known.into_iter().filter(is_tried).collect::<Vec<_>>());
}
