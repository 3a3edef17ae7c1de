//! Mistakes that are planted in the native kernels. The runner must report each, or a sort, selection or search must give a wrong result.
#![cfg(unix)]

use polysort_core::{Backend, Options, Sort, Spec};
use polysort_kit::{StdBackend, is_thorough};
use polysort_msl::{Config, FACTS, MslBackend, Source, Text};
use polysort_shaders::abi::NOTHING;
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{Algorithm, Blocked, Facts, Kernel, RADIX_BITS, Request, SortPlan, Top, Variant, WIDE_RADIX_BITS};
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
}

impl By {
    /// Returns whether these sorts use kernels for digits of this number of bits.
    fn has_digits_of(self, bits: u32) -> bool {
        bits == match self {
            Self::Plans | Self::Hybrid => RADIX_BITS,
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
const UNNOTICED: [(Kernel, By, usize, usize); 7] = [
    // The next step begins with a ballot. In the runner a ballot waits for all lanes, but on a GPU it may not order memory.
    (Kernel::SingleTile, By::Plans, 2, 0),
    (Kernel::Onesweep, By::Plans, 2, 0),
    (Kernel::TopK, By::Plans, 0, 4),
    (Kernel::TopK, By::Plans, 2, 0),
    (Kernel::Onesweep, By::WideDigits, 2, 0),
    (Kernel::BucketTile, By::Hybrid, 2, 0),
    (Kernel::BucketSweep, By::Hybrid, 2, 0),
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
    in_hybrid(
        Kernel::BucketHistogram,
        "no last digit",
        "lower_digits = sort.digit_count - 1u",
        "lower_digits = sort.digit_count - 2u",
    ),
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

/// Returns an error if a selection is wrong: from one segment, from several, from fewer keys than `k`, from given segments.
fn selects() -> Result<(), String> {
    let backend = MslBackend::open_with(Config::of(MUTANTS)).map_err(|error| error.to_string())?;
    let keys: Vec<u32> = (0..SELECT_SEGMENT + 9).map(|i| i.wrapping_mul(0x9e37_79b9) >> 20 << 13).collect();
    let spec = Spec::unsigned::<u32>();
    let first = |[begin, end]: [u32; 2], k: usize| {
        let mut order: Vec<u32> = (begin..end).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        order.resize(order.len().max(k), NOTHING);
        order.truncate(k);
        order
    };
    let bounds = [[0, 40], [50, 50], [50, 12_000]];
    let all = keys.len();
    // A selection with one key per thread, and one with sixteen.
    for (k, len, bounds) in [(100, 5, None), (100, 3000, None), (100, all, None), (100, all, Some(&bounds[..])), (300, 290, None)]
    {
        let found = backend.select(&keys[..len], k, bounds, spec).map_err(|error| error.to_string())?;
        let whole = [[0, len as u32]];
        let expected = bounds.unwrap_or(&whole).iter().flat_map(|&bounds| first(bounds, k as usize));
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
    let mistakes = [&MISTAKES[..], &WIDE_MISTAKES, &HYBRID_MISTAKES, &COUNTING_MISTAKES].concat();
    let without = Kernel::ALL.into_iter().filter(|&kernel| !mistakes.iter().any(|mistake| mistake.kernel == kernel));
    let without: Vec<Kernel> = without.filter(|kernel| kernel.entry().msl.is_some()).collect();
    assert_eq!(without, plain);
}

#[test]
fn mistakes_are_found() {
    // Without a mistake the kernels sort, which other tests show too.
    if is_thorough() {
        let all = [By::Plans, By::WideDigits, By::Hybrid, By::Counting];
        assert_eq!((all.map(sorts), selects(), searches()), ([Ok(()), Ok(()), Ok(()), Ok(())], Ok(()), Ok(())));
    }
    let keys = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 40_000);
    let by = |algorithm| Request { algorithm: Some(algorithm), ..keys.with_values(1) };
    let plan = |request| SortPlan::new(request, &FACTS).unwrap();
    let plans = [keys.with_values(1), keys.select(Top { k: 100, segmented: false })].map(plan);
    let (wide, hybrid) = (plan(by(Algorithm::WideDigits)), plan(by(Algorithm::MsdHybrid)));
    let one_digit = [Kernel::SingleTile, Kernel::Histogram, Kernel::Scan, Kernel::Onesweep, Kernel::TopK];
    let wide_digits = [Kernel::Histogram, Kernel::Scan, Kernel::Onesweep];
    let buckets = [Kernel::Buckets, Kernel::BucketTile, Kernel::BucketHistogram, Kernel::BucketSweep];
    let halves = Request::keys(16, Spec::of::<i16>(Options::ascending()).unwrap(), 40_000);
    let counting = plan(Request { algorithm: Some(Algorithm::Counting), ..halves });
    let values = [Kernel::CountValues, Kernel::ScanValues, Kernel::Fill];
    let mistakes = MISTAKES.into_iter().chain(WIDE_MISTAKES).chain(HYBRID_MISTAKES).chain(COUNTING_MISTAKES);
    let missing = barriers(By::Plans, &one_digit, &plans)
        .chain(barriers(By::WideDigits, &wide_digits, core::slice::from_ref(&wide)))
        .chain(barriers(By::Hybrid, &buckets, core::slice::from_ref(&hybrid)))
        .chain(barriers(By::Counting, &values, core::slice::from_ref(&counting)));
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
