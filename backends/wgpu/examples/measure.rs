//! Times sorts of data that is on the device: `measure KEYS PAYLOAD LENGTHS TRIALS [ALGORITHM] [--launches] [--host] [--top K]
//! [--pattern PATTERN] [--segments SEGMENTS] [--descending] [--quick] [--shape SHAPE]`.
//!
//! KEYS: u32, u64, i32, f32, u16, u8; PAYLOAD: none, u32, u64; LENGTHS: powers of two, as 16,20,24; ALGORITHM: auto, onesweep, wide, hybrid, scan.
//! Prints a row for each length: system, backend, algorithm, keys, payload, number of keys, median, p5 and p95 in nanoseconds, 10^9 keys a second,
//! whether it is right, and with values whether they went along, equal keys' in order. With `--launches`, the time of each launch; with `--host`, of
//! a sort of keys that are on the host; with `--top`, of the selection of the first K keys instead. Keys are uniform, or by PATTERN, for those of 32
//! bits: sorted, equal, low16, which is uniform in the low 16 bits, or one of the conformance suite, as NearlySorted. SEGMENTS are sorted by
//! themselves: as 12 for 2^12 of the same length, or zipf for 2^20 whose lengths are as 1, 1/2, 1/3 and so on, in no order. The environment variable
//! SEED, a number, makes other keys that are uniform. SHAPE is that of a pass, instead of the built-in one: threads, keys per thread and slices, as
//! 512,32,2.

mod device;

use device::{buffer, print_launches, read, run as submit, times, write};
use polysort_core::{Backend, MaskKey, Options, Sort};
use polysort_kit::Pattern;
use polysort_measure::{Effort, Line, Series, Trial, is_stable_order, take_turns, timed, warm_up, words};
use polysort_rayon::RayonBackend;
use polysort_shaders::plan::Algorithm;
use polysort_wgpu::wgpu::CommandEncoder;
use polysort_wgpu::{Ask, Config, Count, DeviceSorter, PassKind, PassShape, Setup, Tuned, WgpuBackend};
use rayon::prelude::*;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments[0].as_str() {
        "u8" => run::<u8>(&arguments),
        "u16" => run::<u16>(&arguments),
        "u32" => run::<u32>(&arguments),
        "i32" => run::<i32>(&arguments),
        "f32" => run::<f32>(&arguments),
        "u64" => run::<u64>(&arguments),
        other => Err(format!("no keys {other}").into()),
    }
}

fn run<K: MaskKey + Send + Sync + PartialEq + Default + std::fmt::Debug>(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let (trials, per_launch) = (arguments[3].parse()?, arguments.iter().any(|argument| argument == "--launches"));
    let named = |name: &str| arguments.iter().skip_while(|argument| *argument != name).nth(1).cloned();
    let mut config = Config::from_env();
    config.algorithm = match arguments.get(4).map(String::as_str) {
        Some("onesweep") => Some(Algorithm::OneSweep),
        Some("wide") => Some(Algorithm::WideDigits),
        Some("hybrid") => Some(Algorithm::MsdHybrid),
        Some("scan") => Some(Algorithm::ReduceThenScan),
        Some(other) if other != "auto" && !other.starts_with("--") => return Err(format!("no algorithm {other}").into()),
        _ => None,
    };
    let algorithm = config.algorithm;
    let backend = WgpuBackend::open_with(config)?;
    let seed = std::env::var("SEED").map_or(Ok(0), |seed| seed.parse::<u64>())?;
    let queue = backend.queue();
    let value_bytes = match arguments[1].as_str() {
        "none" => 0,
        "u32" => 4,
        "u64" => 8,
        other => return Err(format!("no values {other}").into()),
    };
    let mut setup = Setup::tested_on(queue);
    if let Some(shape) = named("--shape") {
        let [group, keys, slices] = *shape.split(',').map(str::parse).collect::<Result<Vec<u32>, _>>()? else {
            return Err(format!("{shape} is no shape").into());
        };
        let kind = PassKind::new(size_of::<K>().div_ceil(4) as u32, value_bytes as u32 / 4);
        setup = setup.tuned(Tuned::NONE.with(kind, PassShape { group, keys, slices })?);
    }
    let sorter = DeviceSorter::with(backend.device(), setup)?;
    eprintln!("{}", backend.name());
    for exponent in arguments[2].split(',') {
        let count = 1_usize << exponent.parse::<u32>()?;
        let mut bytes = vec![0_u8; count * size_of::<K>()];
        for (chunk, word) in bytes.chunks_mut(8).zip(words(0x1234_5678_9abc_def0 ^ count as u64 ^ seed << 40)) {
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
        let words: &mut [u32] = bytemuck::cast_slice_mut(&mut bytes);
        match named("--pattern").as_deref() {
            Some("sorted") => words.iter_mut().zip(0..).for_each(|(word, i)| *word = i),
            Some("equal") => words.fill(0x9e37_79b9),
            Some("low16") => words.iter_mut().for_each(|word| *word &= 0xffff),
            Some(other) => {
                let pattern = Pattern::ALL.into_iter().find(|pattern| format!("{pattern:?}") == other);
                let keys: Vec<u32> = pattern.ok_or_else(|| format!("no pattern {other}"))?.keys(words.len(), 7);
                words.copy_from_slice(&keys);
            }
            None => {}
        }
        let buffer = |bytes: usize| buffer(&backend, bytes);
        let (source, keys) = (buffer(bytes.len()), buffer(bytes.len()));
        write(&backend, &source, &bytes)?;
        let descending = arguments.iter().any(|argument| argument == "--descending");
        let options = if descending { Options::descending() } else { Options::ascending() };
        let mut ask = Ask::up_to(count as u32).options(options);
        if let Some(algorithm) = algorithm {
            ask = ask.algorithm(algorithm);
        }
        if arguments.iter().any(|argument| argument == "--quick") {
            ask = ask.quick_to_compile();
        }
        let offsets = named("--segments").map(|segments| offsets_of(&segments, count)).transpose()?;
        let offset_buffer = buffer(4 * offsets.as_ref().map_or(1, Vec::len));
        if let Some(offsets) = &offsets {
            write(&backend, &offset_buffer, bytemuck::cast_slice(offsets))?;
            ask = ask.segments(&offset_buffer, offsets.len() as u32 - 1);
        }
        let values = buffer(count * value_bytes);
        // Each value is its position, in a second word with all bits turned.
        let positions: Vec<u32> = (0..count as u32).flat_map(|place| [place, !place].into_iter().take(value_bytes / 4)).collect();
        let position_buffer = buffer(count * value_bytes);
        write(&backend, &position_buffer, bytemuck::cast_slice(&positions))?;
        let top: Option<u32> = named("--top").map(|k| k.parse()).transpose()?;
        let selected = buffer(4 * top.unwrap_or(1) as usize);
        let prepared = match value_bytes {
            _ if top.is_some() => sorter.prepare_top_k::<K>(&keys, &selected, top.unwrap_or(1), ask)?,
            0 => sorter.prepare_sort::<K>(&keys, ask)?,
            4 => sorter.prepare_sort_pairs::<K, u32>(&keys, &values, ask)?,
            _ => sorter.prepare_sort_pairs::<K, u64>(&keys, &values, ask)?,
        };
        let restore = |encoder: &mut CommandEncoder| {
            encoder.copy_buffer_to_buffer(&source, 0, &keys, 0, keys.size());
            if value_bytes > 0 {
                encoder.copy_buffer_to_buffer(&position_buffer, 0, &values, 0, values.size());
            }
        };
        let count32 = Count::Fixed(offsets.as_ref().map_or(count, |offsets| offsets.len() - 1) as u32);
        warm_up(|| {
            submit::<Box<dyn Error>>(&backend, |encoder| {
                for _ in 0..8 {
                    restore(encoder);
                    prepared.record_in(encoder, count32)?;
                }
                Ok(())
            })
        })?;
        let profile = prepared.profile(queue, count32, trials, restore)?;
        // Of the last trial.
        let input: Vec<K> = bytemuck::cast_slice(&bytes).to_vec();
        let mut sorted = input.clone();
        let verified = match top {
            Some(k) => {
                read(&backend, &selected, 4 * k as usize)?
                    == bytemuck::cast_slice(&RayonBackend::default().bottom_k(&sorted, k as usize)?.indices)
            }
            None => {
                match &offsets {
                    Some(offsets) => offsets.windows(2).for_each(|ends| {
                        sorted[ends[0] as usize..ends[1] as usize].sort_unstable_by_key(|key| key.to_bits());
                    }),
                    None => sorted.par_sort_unstable_by_key(|key| key.to_bits()),
                }
                if descending {
                    sorted.reverse();
                }
                read(&backend, &keys, bytes.len())? == bytemuck::cast_slice::<K, u8>(&sorted)
                    && (value_bytes == 0 || went_along(&input, &sorted, &read(&backend, &values, count * value_bytes)?))
            }
        };
        let algorithm = match (top, named("--segments")) {
            (Some(k), _) => format!("top {k}"),
            (_, Some(segments)) => format!("segments {segments}"),
            _ if descending => format!("{:?} descending", prepared.plan().algorithm),
            _ => format!("{:?}", prepared.plan().algorithm),
        };
        let line =
            |algorithm, payload| Line { system: "polysort", backend: "wgpu", algorithm, key: &arguments[0], payload, n: count };
        print!("{}", line(&algorithm, &arguments[1]).text(&times(&profile.device), verified));
        if arguments.iter().any(|argument| argument == "--host") {
            let (mut expected, mut host, mut series) = (input.clone(), input.clone(), [Series::default()]);
            expected.par_sort_unstable_by_key(|key| key.to_bits());
            // The first call compiles.
            take_turns(&mut series, Effort::rounds(1, trials), |_| {
                host.copy_from_slice(&input);
                let (time, sorted) = timed(|| backend.sort(&mut host));
                let is_right = bytemuck::cast_slice::<K, u8>(&host) == bytemuck::cast_slice(&expected);
                sorted.map(|()| Trial::new(time, is_right))
            });
            let host = series[0].completed()?;
            print!("{}", line("host", "none").text(&host.ranked(), host.is_verified()));
        }
        if per_launch {
            print_launches(&profile);
        }
    }
    Ok(())
}

/// Where each of the segments begins, and the last ends.
fn offsets_of(segments: &str, count: usize) -> Result<Vec<u32>, Box<dyn Error>> {
    if segments != "zipf" {
        let segments = 1_usize << segments.parse::<u32>()?;
        return Ok((0..=segments).map(|i| (count / segments * i) as u32).collect());
    }
    // The harmonic number of 2^20 is 14.44. A multiplication by an odd number puts the ranks out of order.
    let rank = |i: u32| u64::from(i.wrapping_mul(0x9e37_79b1) % (1 << 20)) + 1;
    let mut offsets = vec![0];
    for i in 0..1 << 20 {
        offsets.push(offsets[offsets.len() - 1] + (count as u64 * 2 / (29 * rank(i))) as u32);
    }
    offsets.push(count as u32);
    Ok(offsets)
}

/// Whether each key has a value that leads to it, and equal keys have theirs in order.
fn went_along<K: MaskKey + Sync>(input: &[K], sorted: &[K], values: &[u8]) -> bool {
    let values: Vec<u32> = bytemuck::pod_collect_to_vec(values);
    let words = values.len() / input.len();
    let is_whole = |value: &[u32]| value[1..].iter().all(|&word| word == !value[0]);
    values.par_chunks(words).all(is_whole) && is_stable_order(input, sorted, |key| key.to_bits(), |i| values[i * words] as usize)
}
