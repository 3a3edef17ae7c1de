//! Planted mistakes in our own kernels: each is reported by the runner, or makes a sort, a selection or a search go wrong.
#![cfg(unix)]

use polysort_core::plan::tuning::SELECT_SEGMENT;
use polysort_core::plan::{Algorithm, Blocked, Facts, Kernel, Request, SortPlan, Top, Variant};
use polysort_core::vector::{Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_core::{Backend, Error, Options, Sort, Spec};
use polysort_kit::StdBackend;
use polysort_msl::{Config, FACTS, MslBackend, Source, Text};
use polysort_shaders::abi::NOTHING;
use std::sync::Mutex;

/// A mistake: in this kernel, what stands for the text's occurrence of that number, counted from 0.
#[derive(Clone, Copy, Debug)]
struct Mistake {
    kernel: Kernel,
    what: &'static str,
    number: usize,
    from: &'static str,
    to: &'static str,
}

/// The one that is planted. The test below is alone in its process, so nobody else changes it.
static PLANTED: Mutex<Option<Mistake>> = Mutex::new(None);

/// Compiled as Metal does unless told otherwise.
const MUTANTS: Source =
    Source { name: "mutated", text: |variant| mutated(variant), options: Source::NATIVE.options.fast_math(true) };

fn mutated(variant: &Variant) -> Text {
    let Text { text, takes_sizes } = (Source::NATIVE.text)(variant);
    let text = match *PLANTED.lock().unwrap() {
        Some(Mistake { kernel, number, from, to, .. }) if kernel == variant.kernel => {
            let (at, _) = text.match_indices(from).nth(number).expect("what is mutated is there");
            format!("{}{to}{}", &text[..at], &text[at + from.len()..])
        }
        _ => text,
    };
    Text { text, takes_sizes }
}

const BARRIERS: [&str; 3] = [
    "threadgroup_barrier(mem_flags::mem_threadgroup);",
    "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);",
    "simdgroup_barrier(mem_flags::mem_threadgroup);",
];

/// Barriers whose absence does not show, by their place in `BARRIERS` and their number.
const UNNOTICED: [(Kernel, usize, usize); 4] = [
    // The next step begins with a ballot, which waits for all lanes here; a GPU need not order memory there.
    (Kernel::SingleTile, 2, 0),
    (Kernel::Onesweep, 2, 0),
    (Kernel::TopK, 0, 4),
    (Kernel::TopK, 2, 0),
];

const fn first(kernel: Kernel, what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { kernel, what, number: 0, from, to }
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

/// Mistakes that somebody could make.
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
    in_onesweep("a recount of the next tile", "source[(stuck - 1u) * TILE + i]", "source[stuck * TILE + i]"),
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
    in_distance(
        "no number found by comparing",
        "(bits & 0x7fffffffu) <= INFINITY_BITS",
        "as_type<float>(bits) == as_type<float>(bits)",
    ),
    first(Kernel::Nearest, "one place too many", "if (at >= search.selected)", "if (at > search.selected)"),
    first(Kernel::Nearest, "an empty place looked at", "if (position == NOTHING)", "if (position == NOTHING - 1u)"),
];

/// Whether keys with values come out right, by one launch and by many.
fn sorts() -> Result<(), String> {
    // Blocked tiles, so that others count them.
    let long =
        Config { algorithm: Some(Algorithm::OneSweep), blocked: Blocked::one_of(3), planned_for: 1 << 22, ..Config::of(MUTANTS) };
    for (config, len) in [(Config::of(MUTANTS), 3000), (long, 40_000)] {
        let backend = MslBackend::open_with(config).map_err(|error| error.to_string())?;
        for round in 0..4 {
            let input: Vec<u32> = (0..len).map(|i: u32| (i + round).wrapping_mul(0x9e37_79b9) >> (5 * round)).collect();
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

/// Whether the first keys come out right: of one segment, of more, of fewer keys than are wanted, of segments that are told.
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
    // One key a thread, and sixteen.
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

/// Whether distances, and what is nearest, are those of the backend of the tests: of halves, in pages, some of which are no numbers.
fn searches() -> Result<(), String> {
    fn found<B: VectorSearch>(backend: &B) -> Result<[Vec<u32>; 4], Error> {
        let shape = Shape::new(33, 40).precision(Precision::F16);
        // Whole numbers, of which nothing is lost however they are added up.
        let number = |at: usize| ((at * 7 + at / 33 * 3) % 5) as f32 - 2.0;
        let mut vectors: Vec<f32> = (0..33 * 40).map(number).collect();
        vectors[8] = f32::INFINITY;
        let mut queries: Vec<f32> = (0..33 * 4).map(|at| number(3 * at + 1)).collect();
        queries[8] = f32::INFINITY;
        let candidates: Vec<u32> = (0..90).map(|at| at * 7 % 30).collect();
        let mut store = backend.vector_store(shape)?;
        store.write(0, &vectors)?;
        store.set_entries(&(0..30).map(|entry| entry * 3 % 40).collect::<Vec<_>>())?;
        let search = Search::new(&queries, &candidates, &[0, 20, 20, 23, 90]);
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

/// Whether all is right of what a kernel is for.
fn works(kernel: Kernel) -> Result<(), String> {
    match kernel {
        Kernel::TopK => selects(),
        Kernel::IvfDistance | Kernel::Nearest => searches(),
        _ => sorts(),
    }
}

#[test]
fn every_mistake_is_found() {
    assert_eq!((sorts(), selects(), searches()), (Ok(()), Ok(()), Ok(())));
    let mut mistakes = MISTAKES.to_vec();
    let keys = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 40_000);
    let plans = [keys.with_values(1), keys.select(Top { k: 100, segmented: false })];
    let plans = plans.map(|request| SortPlan::new(request, &FACTS).unwrap());
    for kernel in [Kernel::SingleTile, Kernel::Histogram, Kernel::Scan, Kernel::Onesweep, Kernel::TopK] {
        let mut variants = plans.iter().flat_map(SortPlan::all_commands).map(|command| command.variant);
        let variant = variants.find(|variant| variant.kernel == kernel).unwrap();
        let text = (Source::NATIVE.text)(&variant).text;
        for from in BARRIERS {
            let barriers =
                (0..text.matches(from).count()).map(|number| Mistake { kernel, what: "no barrier", number, from, to: "" });
            mistakes.extend(barriers);
        }
    }
    let mut missed = vec![];
    for mistake in mistakes {
        *PLANTED.lock().unwrap() = Some(mistake);
        match works(mistake.kernel) {
            Ok(()) => missed.push((mistake.kernel, mistake.what, mistake.from, mistake.number)),
            Err(why) => println!("{mistake:?}: {}", why.lines().next().unwrap_or_default()),
        }
    }
    *PLANTED.lock().unwrap() = None;
    let known = UNNOTICED.map(|(kernel, barrier, number)| (kernel, "no barrier", BARRIERS[barrier], number));
    assert_eq!(missed, known);
}
