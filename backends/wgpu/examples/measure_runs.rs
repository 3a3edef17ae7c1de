//! Times searches for runs of equal keys on the device: `measure_runs KEYS OUTPUTS LENGTHS RUN TRIALS [--launches]`.
//!
//! KEYS: u32, u64; OUTPUTS: encode (first keys and lengths), unique (first keys) or offsets; LENGTHS: powers of two, as 20,24; RUN: the mean
//! length of a run. Prints a row for each length: system, backend, algorithm, keys, payload, number of keys, median, p5 and p95 in nanoseconds,
//! 10^9 keys a second, whether the outputs are right. `benches/gpu/cub_runs.cu` makes the same keys.

use polysort_core::{MaskKey, Sort};
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
    let mut config = Config::default();
    config.software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some();
    let backend = WgpuBackend::open_with(config)?;
    let sorter = DeviceSorter::new(backend.device(), backend.queue())?;
    eprintln!("{}", polysort_core::Backend::name(&backend));
    for exponent in lengths.split(',') {
        let count = 1_usize << exponent.parse::<u32>()?;
        let mut state = 0x1234_5678_9abc_def0_u64 ^ count as u64;
        let (mut keys, mut key) = (vec![], 1);
        while keys.len() < count {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let length = 1 + (state % (2 * mean - 1)) as usize;
            keys.resize(count.min(keys.len() + length), key_of(key));
            key += 3;
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
        // The clock of an idle device is low.
        prepared.profile(backend.queue(), Count::Fixed(count as u32), trials, |_| ())?;
        let profile = prepared.profile(backend.queue(), Count::Fixed(count as u32), trials, |_| ())?;
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
        let times = &profile.device;
        let at = |percent| times.percentile(percent).as_nanos();
        let speed = count as f64 / at(50).max(1) as f64;
        let times = format!("{},{},{},{speed:.2}", at(50), at(5), at(95));
        println!("polysort,wgpu,runs {outputs} run:{mean},{name},none,{count},{times},{right}");
        if per_launch {
            for (kernel, times) in &profile.launches {
                eprintln!("  {kernel}: {:?}", times.median());
            }
        }
    }
    Ok(())
}
