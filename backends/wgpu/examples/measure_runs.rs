//! Times searches for runs of equal keys on the device: `measure_runs KEYS OUTPUTS LENGTHS RUN TRIALS [--launches]`.
//!
//! KEYS: u32, u64; OUTPUTS: encode (first keys and lengths), unique (first keys) or offsets; LENGTHS: powers of two, as 20,24; RUN: the mean
//! length of a run. Prints a row for each length: system, backend, algorithm, keys, payload, number of keys, median, p5 and p95 in nanoseconds,
//! 10^9 keys a second, whether the outputs are right. `benches/gpu/cub_runs.cu` makes the same keys.

mod device;

use polysort_core::{Backend, MaskKey, Sort};
use polysort_measure::{Line, states, warm_up};
use polysort_rayon::RayonBackend;
use polysort_wgpu::{Ask, Config, Count, DeviceSorter, RunBuffers, SortBuffer, WgpuBackend};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("u32") => run::<u32>(&arguments, |key| key as u32),
        Some("u64") => run::<u64>(&arguments, |key| key),
        other => Err(format!("no keys {other:?}").into()),
    }
}

fn run<K: MaskKey + PartialEq>(arguments: &[String], key_of: fn(u64) -> K) -> Result<(), Box<dyn Error>> {
    let [name, outputs, lengths, mean, trials, ..] = arguments else { return Err("too few arguments".into()) };
    let (mean, trials): (u64, usize) = (mean.parse()?, trials.parse()?);
    let per_launch = arguments.iter().any(|argument| argument == "--launches");
    let backend = WgpuBackend::open_with(Config::from_env())?;
    let sorter = DeviceSorter::new(backend.device(), backend.queue())?;
    eprintln!("{}", backend.name());
    for exponent in lengths.split(',') {
        let count = 1_usize << exponent.parse::<u32>()?;
        let (mut keys, mut random) = (vec![], states(0x1234_5678_9abc_def0 ^ count as u64).zip((1..).step_by(3)));
        while keys.len() < count
            && let Some((word, key)) = random.next()
        {
            let length = 1 + (word % (2 * mean - 1)) as usize;
            keys.resize(count.min(keys.len() + length), key_of(key));
        }
        let expected = RayonBackend::default().runs(&keys)?;
        let in_buffer = SortBuffer::from_slice(&backend, &keys)?;
        let unique = SortBuffer::from_slice(&backend, &keys)?;
        let words = vec![0_u32; count + 1];
        let (offsets, run_lengths) = (SortBuffer::from_slice(&backend, &words)?, SortBuffer::from_slice(&backend, &words)?);
        let found = SortBuffer::from_slice(&backend, &[0_u32])?;
        let runs = RunBuffers::counted_in(found.raw());
        let runs = match outputs.as_str() {
            "encode" => runs.unique(unique.raw()).lengths(run_lengths.raw()),
            "unique" => runs.unique(unique.raw()),
            "offsets" => runs.offsets(offsets.raw()),
            other => return Err(format!("no outputs {other}").into()),
        };
        let prepared = sorter.prepare_runs::<K>(in_buffer.raw(), runs, Ask::up_to(count as u32))?;
        let profile = |trials| prepared.profile(backend.queue(), Count::Fixed(count as u32), trials, |_| ());
        warm_up(|| profile(1).map(drop))?;
        let profile = profile(trials)?;
        let runs = expected.len();
        let mut right = found.read()?[0] as usize == runs;
        if outputs != "offsets" {
            right &= unique.read()?[..runs] == expected.unique(&keys);
        }
        if outputs == "encode" {
            right &= run_lengths.read()?.iter().map(|&length| length as usize).take(runs).eq(expected.lengths());
        }
        if outputs == "offsets" {
            right &= offsets.read()?.iter().map(|&offset| offset as usize).take(runs + 1).eq(expected.offsets.iter().copied());
        }
        let algorithm = &format!("runs {outputs} run:{mean}");
        let line = Line { system: "polysort", backend: "wgpu", algorithm, key: name, payload: "none", n: count };
        print!("{}", line.text(&device::times(&profile.device), right));
        if per_launch {
            device::print_launches(&profile);
        }
    }
    Ok(())
}
