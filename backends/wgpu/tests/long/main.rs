//! Calls of more keys than the device takes at a time. Portions are tiny, so that short inputs have many of them.
//!
//! `SEED` sets the seed of the random cases.

mod faults;
mod memory;
mod one_trip;
mod oracle;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::Failed;
use oracle::{Case, Number};
use polysort_core::{Options, Segments, Sort};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::testing::{self, Knobs};
use support::{config, ensure, failed, random};

/// Keys of a portion of most trials: one launch sorts so many.
const PORTION: usize = 300;

fn main() {
    support::run("long", |label| {
        let trial = |what: &str, run: fn() -> Result<(), Failed>| support::trial(label, what, run);
        vec![
            trial("lengths around multiples of a portion are sorted", lengths),
            trial("keys of 8 bits are sorted", || cases::<u8>(1)),
            trial("keys of 16 bits are sorted", || cases::<i16>(2)),
            trial("keys of 32 bits are sorted", || cases::<f32>(3)),
            trial("keys of 64 bits are sorted", || cases::<u64>(4)),
            trial("keys of 128 bits are sorted", || cases::<u128>(5)),
            trial("portions of several tiles are sorted", several_tiles),
            trial("keys that share a value keep their order across portions", equal_keys),
            trial("segments are sorted, long ones too", segments),
            trial("faults: a submission that fails loses nothing", faults::at_each_submission),
            trial("faults: a device that is lost loses nothing", faults::lost),
            trial("faults: portions get smaller if the device has too little memory", faults::smaller_portions),
            trial("dropped: a slice is as before, or sorted", faults::dropped),
            trial("one trip: long keys and pairs are sorted in the memory of the device", one_trip::sorted),
            trial("one trip: arrays that are longer than a buffer lie in several", one_trip::in_pages),
            trial("one trip: with little memory, there are two", one_trip::little_memory),
            trial("one trip: a submission that fails loses nothing", one_trip::at_each_submission),
            trial("one trip: a device that is lost loses nothing", one_trip::lost),
            trial("one trip: a slice is as before until the end", one_trip::dropped),
            trial("memory: long calls wait for each other, and not for themselves", memory::side_by_side),
            trial("memory: a suspended long call does not block the next one for ever", memory::suspended),
            trial("memory: a long call returns its memory", memory::returned),
            trial("memory: portions use the memory of earlier ones", memory::reused),
            trial("memory: a long selection does not wait for itself", memory::selections),
        ]
    })
}

/// Opens a device that takes so many keys at a time.
fn open(portion: usize) -> Result<WgpuBackend, Failed> {
    testing::open(config(), Knobs { portion: Some(portion as u64), ..Knobs::default() }).map_err(failed)
}

/// Returns `len` keys, of which many are equal.
fn keys(len: usize, seed: u64) -> Vec<u32> {
    let mut random = random(seed);
    (0..len).map(|_| random() as u32 >> 18).collect()
}

fn lengths() -> Result<(), Failed> {
    let backend = open(PORTION)?;
    for portions in [1, 2, 3, 4, 7, 16] {
        for len in [portions * PORTION - 1, portions * PORTION, portions * PORTION + 1] {
            let case = Case::<u32>::new(len, len as u64);
            case.sort(&backend, Options::ascending())?;
            case.argsort(&backend, Options::descending())?;
        }
    }
    Ok(())
}

/// Runs random cases of each operation.
fn cases<K: Number>(seed: u64) -> Result<(), Failed> {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(seed);
    println!("SEED={seed}");
    let (backend, mut random) = (open(PORTION)?, random(seed));
    // A driver that compiles slowly gets values of few sizes.
    let slow = support::compiles_slowly(&backend);
    let rounds = match (support::is_software(&backend), polysort_kit::is_thorough()) {
        (false, _) => 100,
        (true, true) => 10,
        (true, false) => 4,
    };
    for round in 0..rounds {
        let len = PORTION * (1 + random() as usize % 12) + random() as usize % 5 - 2;
        let mut options = if random() % 2 == 0 { Options::ascending() } else { Options::descending() };
        if random() % 3 == 0 {
            let begin = random() as u32 % K::WIDTH;
            options = options.bits(begin..begin + 1 + random() as u32 % (K::WIDTH - begin));
        }
        let case = Case::<K>::new(len, random());
        let what = format!("round {round}: {len} keys, {options:?}");
        let run = || {
            case.sort(&backend, options)?;
            case.sort_pairs::<u32>(&backend, options)?;
            case.argsort(&backend, options)?;
            case.top_k(&backend, 1 + len / 100, options)?;
            case.top_k(&backend, len / 2, options)?;
            // Values of a size that the device does not move.
            case.sort_pairs::<u16>(&backend, options)?;
            if !slow || round == 0 {
                case.sort_pairs::<u64>(&backend, options)?;
                case.sort_pairs::<[u32; 3]>(&backend, options)?;
                case.sort_pairs::<u128>(&backend, options)?;
            }
            Ok(())
        };
        run().map_err(|failed: Failed| format!("{what}: {}", failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

fn several_tiles() -> Result<(), Failed> {
    let backend = open(30_000)?;
    let lengths = [30_001, 100_000, 250_007];
    let is_quick = support::is_software(&backend) && !polysort_kit::is_thorough();
    for &len in &lengths[..if is_quick { 2 } else { 3 }] {
        let case = Case::<u32>::new(len, 9);
        case.sort(&backend, Options::descending())?;
        case.argsort(&backend, Options::ascending().bits(3..9))?;
    }
    Ok(())
}

fn equal_keys() -> Result<(), Failed> {
    let backend = open(PORTION)?;
    let len = 10 * PORTION + 7;
    for distinct in [1, 2, 5] {
        let keys: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7 & (distinct - 1)).collect();
        Case::of(keys.clone()).argsort(&backend, Options::ascending())?;
        Case::of(keys).sort_pairs::<u32>(&backend, Options::descending())?;
    }
    // Sorted and reversed runs: the blocks have keys of one run each.
    Case::of((0..len as u32).collect()).sort_pairs::<u32>(&backend, Options::ascending())?;
    Case::of((0..len as u32).collect()).sort_pairs::<u32>(&backend, Options::descending())
}

fn segments() -> Result<(), Failed> {
    let backend = open(PORTION)?;
    let mut random = random(11);
    for round in 0..8 {
        // Segments of up to three portions, empty ones, and gaps between.
        let (mut begins, mut ends, mut end) = (vec![], vec![], 0);
        while end < 20 * PORTION {
            let most = [1, 20, PORTION, 3 * PORTION][random() as usize % 4] as u64;
            begins.push(end + (random() % 3) as usize);
            end = begins[begins.len() - 1] + (random() % (most + 1)) as usize;
            ends.push(end);
        }
        let case = Case::<u32>::new(end + 3, round);
        let segments = Segments::Ranges { begins: &begins, ends: &ends };
        let options = if round % 2 == 0 { Options::ascending() } else { Options::descending().bits(2..9) };
        case.segments(&backend, segments, options)?;
    }
    // Offsets that are wrong are refused.
    let mut unsorted = keys(10 * PORTION, 3);
    let refused = backend.sort_segments(&mut unsorted, &[0, 5 * PORTION, 4 * PORTION]);
    ensure(refused.is_err() && unsorted == keys(10 * PORTION, 3), || format!("{refused:?}"))
}
