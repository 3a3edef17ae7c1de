//! Without any one of their barriers, kernels make a mistake that is reported, or sort wrongly: the runner sees what a GPU might not show.
#![cfg(unix)]

use core::sync::atomic::{AtomicUsize, Ordering};
use polysort_core::plan::{Algorithm, Blocked, Kernel, Variant};
use polysort_core::{Options, Sort};
use polysort_msl::{Config, MslBackend, Source, Text};
use std::sync::Mutex;

/// The kernel, and which of its barriers is left out.
static KERNEL: Mutex<Option<Kernel>> = Mutex::new(None);
static LEFT_OUT: AtomicUsize = AtomicUsize::new(0);
/// How many it has.
static BARRIERS_OF: AtomicUsize = AtomicUsize::new(0);

const BARRIERS: [&str; 3] = [
    "metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);",
    "metal::threadgroup_barrier(metal::mem_flags::mem_device);",
    "metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup);",
];

const MUTANTS: Source = Source { name: "mutated", text: |variant| mutated(variant), ..Source::NAGA_ROLLED };

fn mutated(variant: &Variant) -> Text {
    let Text { text, takes_sizes } = (Source::NAGA_ROLLED.text)(variant);
    let is_it = *KERNEL.lock().unwrap() == Some(variant.kernel);
    let mut number = 0;
    let line = |line: &str| {
        let is_barrier = is_it && BARRIERS.contains(&line.trim());
        number += usize::from(is_barrier);
        let left_out = is_barrier && number == LEFT_OUT.load(Ordering::Relaxed);
        if left_out { "\n".into() } else { format!("{line}\n") }
    };
    let text = text.lines().map(line).collect();
    if is_it {
        BARRIERS_OF.store(number, Ordering::Relaxed);
    }
    Text { text, takes_sizes }
}

/// Barriers that were left out unnoticed: another one or a simdgroup operation follows at once, or these few inputs do not tell.
const UNNOTICED: &[(&str, usize)] = &[
    ("single_tile", 1),
    ("single_tile", 6),
    ("single_tile", 8),
    ("single_tile", 10),
    ("single_tile", 12),
    ("histogram", 2),
    ("onesweep", 3),
    ("onesweep", 11),
    ("onesweep", 12),
    ("onesweep", 13),
    ("onesweep", 16),
    ("upsweep", 2),
    ("spine", 5),
    ("spine", 6),
    ("downsweep", 9),
    ("downsweep", 14),
];

/// Whether keys with values come out right, each time.
fn sorts(algorithm: Option<Algorithm>, len: usize) -> Result<(), String> {
    // Blocked tiles, so that others count them.
    let blocked = if algorithm == Some(Algorithm::OneSweep) { Blocked::one_of(2) } else { Blocked::NONE };
    let config =
        Config { algorithm, blocked, reads_garbage: algorithm == Some(Algorithm::ReduceThenScan), ..Config::of(MUTANTS) };
    let backend = MslBackend::open_with(config).unwrap();
    for round in 0..4 {
        let mut keys: Vec<u32> = (0..len as u32).map(|i| (i + round).wrapping_mul(0x9e37_79b9) >> (5 * round)).collect();
        let mut expected = keys.clone();
        let mut values: Vec<u32> = (0..len as u32).collect();
        let order = {
            let mut order = values.clone();
            order.sort_by_key(|&i| keys[i as usize]);
            order
        };
        expected.sort_unstable();
        backend.sort_pairs_with(&mut keys, &mut values, Options::ascending()).map_err(|error| error.to_string())?;
        if keys != expected || values != order {
            return Err("sorted wrongly".into());
        }
    }
    Ok(())
}

#[test]
#[ignore = "for changes of the runner: another compiler may notice others"]
fn every_barrier_is_needed() {
    let (sweep, reduce) = (Some(Algorithm::OneSweep), Some(Algorithm::ReduceThenScan));
    let kernels = [
        (Kernel::SingleTile, None, 3000),
        (Kernel::Histogram, sweep, 9000),
        (Kernel::Scan, sweep, 9000),
        (Kernel::Onesweep, sweep, 14_000),
        (Kernel::Upsweep, reduce, 5000),
        (Kernel::Spine, reduce, 5000),
        (Kernel::Downsweep, reduce, 5000),
    ];
    let mut survivors = vec![];
    for (kernel, algorithm, len) in kernels {
        *KERNEL.lock().unwrap() = Some(kernel);
        LEFT_OUT.store(0, Ordering::Relaxed);
        assert_eq!(sorts(algorithm, len), Ok(()));
        for number in 1..=BARRIERS_OF.load(Ordering::Relaxed) {
            LEFT_OUT.store(number, Ordering::Relaxed);
            match sorts(algorithm, len) {
                Ok(()) => survivors.push((kernel.name(), number)),
                Err(why) => println!("{} without barrier {number}: {}", kernel.name(), why.lines().next().unwrap_or_default()),
            }
        }
    }
    assert_eq!(survivors, UNNOTICED);
}
