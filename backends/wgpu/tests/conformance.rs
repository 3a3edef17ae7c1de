//! The conformance suite on this machine's adapter, once for each algorithm, and once with tiny portions.
//!
//! The lengths lie around the tiles of the plans for this device. On an adapter that runs on the CPU, a part of the cases is drawn. `--full`
//! runs all cases; `POLYSORT_LONGEST` limits the lengths.

mod support;

use libtest_mimic::Trial;
use polysort_core::{Masks, Spec, Word};
use polysort_kit::{Plan, Suite};
use polysort_shaders::plan::{Algorithm, Facts, Payload, Request, SortPlan};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::testing::{self, Knobs};
use std::collections::BTreeSet;

fn main() {
    let mut suite = Suite::from_args();
    let Some(label) = support::label() else {
        suite.add(support::skipped("conformance"));
        suite.run()
    };
    suite.add(support::adapter(&label));
    let by = |algorithm| {
        let mut config = support::config();
        config.algorithm = Some(algorithm);
        config
    };
    let suite_is_full = suite.is_full();
    let usual = Knobs::default();
    // The inputs of the hybrid have several batches, and buckets both small and large.
    let hybrid = Knobs { batch: Some(20_000), small_bucket: Some(300), ..usual };
    let ways = [
        (label.clone(), support::config(), usual),
        (format!("{label}, no subgroups"), support::config_without_subgroups(), usual),
        (format!("{label}, OneSweep"), by(Algorithm::OneSweep), usual),
        (format!("{label}, wide digits"), by(Algorithm::WideDigits), usual),
        (format!("{label}, reduce then scan"), by(Algorithm::ReduceThenScan), usual),
        (format!("{label}, MSD hybrid"), by(Algorithm::MsdHybrid), hybrid),
        (format!("{label}, counting"), by(Algorithm::Counting), usual),
        (format!("{label}, portions"), support::config(), Knobs { portion: Some(500), ..usual }),
    ];
    for (seed, (name, config, knobs)) in (0..).zip(ways) {
        let algorithm = config.algorithm;
        let open = {
            let config = config.clone();
            move || testing::open(config.clone(), knobs)
        };
        let name = format!("wgpu, {name}");
        // If the device does not open, each trial reports the error.
        let Ok(backend) = open() else {
            suite.enter_with(&name, Plan::up_to(0, false), open);
            continue;
        };
        if algorithm == Some(Algorithm::WideDigits) && !has_wide_digits(backend.facts()) {
            let what = format!("[{name}] skipped, too little workgroup memory");
            suite.add(Trial::test(what, || Err("this device has no wide digits".into())).with_ignored_flag(true));
            continue;
        }
        let takes = |check: &str| match algorithm {
            _ if suite_is_full => true,
            _ if knobs.portion.is_some() => {
                is_common(check)
                    || !support::compiles_slowly(&backend) && named(check).0 == "u32" && !named(check).1.ends_with("by_key")
            }
            // By default, short inputs of 16 bits are not sorted by counting.
            Some(Algorithm::Counting) => ["u16 sort", "i16 sort", "f16 sort"].contains(&check),
            Some(Algorithm::WideDigits | Algorithm::MsdHybrid) if support::compiles_slowly(&backend) => {
                ["u32 sort", "u32 argsort"].contains(&check)
            }
            _ if support::compiles_slowly(&backend) && !is_common(check) => false,
            // All keys of one width have the same kernels for segments, and all algorithms have the same.
            _ if is_of_segments(check) && support::is_software(&backend) && !stands_for_segments(&backend, algorithm, check) => {
                false
            }
            // For other keys, OneSweep is the planner's choice anyway.
            Some(Algorithm::OneSweep) if support::is_software(&backend) => bits(check) == 8,
            Some(Algorithm::WideDigits | Algorithm::MsdHybrid) if support::is_software(&backend) => is_common(check),
            None if config.subgroups => true,
            _ => is_cheap(&backend, check),
        };
        suite.enter_part(&name, plan(&suite, algorithm, knobs, &backend, seed), takes, open);
    }
    suite.run()
}

/// Whether the counters of wide digits fit workgroup memory.
fn has_wide_digits(facts: &Facts) -> bool {
    let spec = Spec::new::<u64>(Masks::UNSIGNED, 0, 64).expect("a spec of all bits");
    let request = Request::keys(64, spec, 1 << 16);
    SortPlan::new(Request { algorithm: Some(Algorithm::WideDigits), ..request }, facts).is_ok()
}

/// Returns the key and the operation of a check.
fn named(check: &str) -> (&str, &str) {
    check.split_once(' ').expect("a key and an operation")
}

/// Whether a check is one of the few that run on devices that compile slowly.
fn is_common(check: &str) -> bool {
    ["u32 sort", "u32 sort_pairs", "u32 argsort", "u32 top_k", "u64 sort"].contains(&check)
}

/// Whether a check sorts segments. A selection of more keys than fit a workgroup also sorts them.
fn is_of_segments(check: &str) -> bool {
    named(check).1.ends_with("_segments")
}

/// Whether a check of segments runs on a device that runs on the CPU. On SwiftShader, which compiles fast, one check of each width runs.
fn stands_for_segments(backend: &WgpuBackend, algorithm: Option<Algorithm>, check: &str) -> bool {
    let key = named(check).0;
    let is_key = key == "u32" || support::is_slow(backend) && ["u8", "u16", "u64", "u128"].contains(&key);
    algorithm.is_none() && is_key
}

/// Returns the bits of the keys of a check; 0 for keys that [`is_cheap`] does not distinguish.
fn bits(check: &str) -> u32 {
    match named(check).0 {
        "u8" | "i8" | "bool" => 8,
        "u32" | "i32" | "f32" => 32,
        "u64" | "i64" | "f64" => 64,
        _ => 0,
    }
}

/// Whether a check compiles no slow kernel that ranks with counters.
fn is_cheap(backend: &WgpuBackend, check: &str) -> bool {
    let (_, operation) = named(check);
    let payload = match operation {
        "sort" | "sort_segments" | "partial_sort" | "partial_sort_segments" | "select_nth" | "select_nth_segments" | "runs" => {
            Payload::None
        }
        "sort_by_key" | "argsort" | "top_k" | "top_k_segments" => Payload::Indices,
        "sort_into"
        | "sort_pairs"
        | "sort_pairs_into"
        | "sort_pairs_segments"
        | "argsort_segments"
        | "async"
        | "misuse"
        | "sort_wide"
        | "broken_contract" => Payload::Words(1),
        _ => panic!("what does {operation} move with its keys?"),
    };
    support::is_cheap(backend, bits(check), payload)
}

/// Returns the cases for a device that is opened with this algorithm and these knobs.
fn plan(suite: &Suite, algorithm: Option<Algorithm>, knobs: Knobs, backend: &WgpuBackend, seed: u64) -> Plan {
    let longest = match (suite.is_full(), support::is_slow(backend)) {
        (true, false) => 3_000_000,
        (_, true) => 1 << 16,
        (false, false) => 300_000,
    };
    // Longer inputs only have more portions.
    let longest = knobs.portion.map_or(longest, |portion| 20 * portion as usize);
    let mut plan = Plan::up_to(suite.longest(longest), suite.is_full());
    if let Some(portion) = knobs.portion {
        let boundaries = [1, 2, 3, 9].map(|portions| portions * portion as usize);
        return plan.around_of(32, &boundaries).around_of(64, &boundaries).sampled(12, seed).segmented_up_to(700);
    }
    let facts = backend.facts();
    plan = plan.around_of(8, &boundaries::<u8>(facts, algorithm, knobs));
    plan = plan.around_of(16, &boundaries::<u16>(facts, algorithm, knobs));
    plan = plan.around_of(32, &boundaries::<u32>(facts, algorithm, knobs));
    plan = plan.around_of(64, &boundaries::<u64>(facts, algorithm, knobs));
    plan = plan.around_of(128, &boundaries::<u128>(facts, algorithm, knobs));
    if suite.is_full() || !support::is_software(backend) {
        return plan.segmented_up_to(20_000);
    }
    let cases = if support::is_slow(backend) { 10 } else { 12 };
    plan.sampled(cases, seed).segmented_up_to(700)
}

/// Returns the lengths at which the plans for keys of `W` change their tile or their kernels.
fn boundaries<W: Word>(facts: &Facts, algorithm: Option<Algorithm>, knobs: Knobs) -> Vec<usize> {
    let spec = Spec::new::<W>(Masks::float(W::BITS), 0, W::BITS).expect("a spec of all bits");
    let payloads = (1..=4).map(Payload::Words).chain([Payload::None, Payload::Indices]);
    let mut boundaries = BTreeSet::new();
    for payload in payloads {
        let request = Request { payload, batch: knobs.batch, ..Request::keys(W::BITS, spec, 1 << 16) };
        let request = Request { algorithm: algorithm.filter(|algorithm| algorithm.sorts(&request)), ..request };
        let Ok(plan) = SortPlan::new(request, facts) else { continue };
        boundaries.extend([plan.tile, plan.single_tile]);
        boundaries.extend([1, 2, 3, 7].map(|tiles| tiles * plan.tile));
        boundaries.extend(plan.all_commands().filter_map(|command| command.variant.tile()));
    }
    boundaries.into_iter().filter(|&length| length > 0).map(|length| length as usize).collect()
}
