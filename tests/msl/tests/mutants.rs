//! Planted mistakes in our own kernels: each is reported by the runner, or makes a sort go wrong.
#![cfg(unix)]

use polysort_core::plan::{Algorithm, Blocked, Kernel, Request, SortPlan, Variant};
use polysort_core::{Options, Sort, Spec};
use polysort_msl::{Config, FACTS, MslBackend, Source, Text};
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

const MUTANTS: Source = Source { name: "mutated", text: |variant| mutated(variant), ..Source::NATIVE };

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
const UNNOTICED: [(Kernel, usize, usize); 2] = [
    // The next step begins with a ballot, which waits for all lanes here; a GPU need not order memory there.
    (Kernel::SingleTile, 2, 0),
    (Kernel::Onesweep, 2, 0),
];

const fn in_onesweep(what: &'static str, from: &'static str, to: &'static str) -> Mistake {
    Mistake { kernel: Kernel::Onesweep, what, number: 0, from, to }
}

/// Mistakes that somebody could make.
const MISTAKES: [Mistake; 12] = [
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
    Mistake {
        kernel: Kernel::Histogram,
        what: "the last key is not counted",
        number: 0,
        from: "if (start + k * GROUP + index < present)",
        to: "if (start + k * GROUP + index + 1u < present)",
    },
    Mistake {
        kernel: Kernel::SingleTile,
        what: "one key too many",
        number: 0,
        from: "if (item < me.held && at < present)",
        to: "if (item < me.held && at <= present)",
    },
];

/// Whether keys with values come out right, by one launch and by many.
fn sorts() -> Result<(), String> {
    // Blocked tiles, so that others count them.
    let long = Config { algorithm: Some(Algorithm::OneSweep), blocked: Blocked::one_of(2), ..Config::of(MUTANTS) };
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

#[test]
fn every_mistake_is_found() {
    assert_eq!(sorts(), Ok(()));
    let mut mistakes = MISTAKES.to_vec();
    let request = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 40_000).with_values(1);
    let plan = SortPlan::new(request, &FACTS).unwrap();
    for kernel in [Kernel::SingleTile, Kernel::Histogram, Kernel::Scan, Kernel::Onesweep] {
        let variant = plan.all_commands().map(|command| command.variant).find(|variant| variant.kernel == kernel).unwrap();
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
        match sorts() {
            Ok(()) => missed.push((mistake.kernel, mistake.what, mistake.from, mistake.number)),
            Err(why) => println!("{mistake:?}: {}", why.lines().next().unwrap_or_default()),
        }
    }
    *PLANTED.lock().unwrap() = None;
    let known = UNNOTICED.map(|(kernel, barrier, number)| (kernel, "no barrier", BARRIERS[barrier], number));
    assert_eq!(missed, known);
}
