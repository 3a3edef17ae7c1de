//! Times merges of two sorted runs on the device: `measure_merge KEYS PAYLOAD LENGTHS TRIALS [--per-thread KEYS]`.
//!
//! KEYS: u32, u64, u8; PAYLOAD: none, u32, u64; LENGTHS: powers of two, as 24,26,28: the keys of each run. Prints two rows for each length, of
//! polysort's merge and of copies of the same bytes by the device: system, backend, algorithm, keys, payload, number of keys of both runs, median, p5
//! and p95 in nanoseconds, 10^9 keys a second, whether the merge is right. Times are of batches in one submission, by the host's clock, divided by
//! their number; merges and copies take turns. With timestamps, a third row has the device's time of one merge, and then that of each launch.
//! `--per-thread` sets the keys that a thread merges. The environment variable SEED, a number, makes other keys.
//!
//! `measure_merge resident LENGTH` sorts 2^LENGTH u32 that are on the device in one call of `sort_buffer`, and checks the result. It prints the plan.

mod device;

use bytemuck::Pod;
use device::{buffer, print_launches, read, wait, write};
use polysort_core::{Backend, MaskKey, Options};
use polysort_measure::{Effort, Line, Series, Trial, split_mix, take_turns, timed, warm_up};
use polysort_rayon::RayonBackend;
use polysort_wgpu::wgpu::CommandEncoder;
use polysort_wgpu::{Ask, Config, Count, DeviceSorter, MergeAsk, SortBuffer, WgpuBackend};
use rayon::prelude::*;
use std::error::Error;
use std::time::Duration;

/// Merges, or copies, in one submission.
const BATCH: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments[0] == "resident" {
        return resident(arguments[1].parse()?);
    }
    match (arguments[0].as_str(), arguments[1].as_str()) {
        ("u8", "none") => run::<u8, ()>(&arguments),
        ("u32", "none") => run::<u32, ()>(&arguments),
        ("u32", "u32") => run::<u32, u32>(&arguments),
        ("u32", "u64") => run::<u32, u64>(&arguments),
        ("u64", "none") => run::<u64, ()>(&arguments),
        ("u64", "u32") => run::<u64, u32>(&arguments),
        (keys, payload) => Err(format!("no keys {keys} with {payload}").into()),
    }
}

fn open() -> Result<WgpuBackend, polysort_core::Error> {
    WgpuBackend::open_with(Config::from_env())
}

fn run<K: MaskKey + Send + Sync + Default + PartialEq, V: Pod + Send + Sync>(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let trials: usize = arguments[3].parse()?;
    let per_thread = arguments.iter().skip_while(|argument| *argument != "--per-thread").nth(1);
    let backend = open()?;
    let (device, queue) = (backend.device(), backend.queue());
    let sorter = DeviceSorter::new(device, queue)?;
    eprintln!("{}", backend.name());
    let seed = std::env::var("SEED").map_or(Ok(0), |seed| seed.parse::<u64>())?;
    for exponent in arguments[2].split(',') {
        let len = 1_usize << exponent.parse::<u32>()?;
        let key = |i: usize, run: u64| -> K {
            let words = [0, 99].map(|other| split_mix(i as u64 + ((2 * seed + run + other) << 40)));
            bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&words)[..size_of::<K>()])
        };
        let runs: [Vec<K>; 2] = [0, 1].map(|run| {
            let mut keys: Vec<K> = (0..len).into_par_iter().map(|i| key(i, run)).collect();
            keys.par_sort_unstable_by_key(|key| key.to_bits());
            keys
        });
        let value = |i: usize| -> V {
            let words = [i as u32, !(i as u32)];
            bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&words)[..size_of::<V>()])
        };
        let has_values = size_of::<V>() > 0;
        let values = [0..len, len..2 * len].map(|range| range.into_par_iter().map(value).collect::<Vec<V>>());
        let buffer = |bytes: usize| buffer(&backend, bytes);
        let (key_bytes, value_bytes) = (len * size_of::<K>(), len * size_of::<V>());
        let keys = [buffer(key_bytes), buffer(key_bytes)];
        let moved = [buffer(value_bytes), buffer(value_bytes)];
        let (merged, merged_values) = (buffer(2 * key_bytes), buffer(2 * value_bytes));
        for run in 0..2 {
            write(&backend, &keys[run], bytemuck::cast_slice(&runs[run]))?;
            if has_values {
                write(&backend, &moved[run], bytemuck::cast_slice(&values[run]))?;
            }
        }
        let mut ask = MergeAsk::up_to(len as u32, len as u32);
        if let Some(keys) = per_thread {
            ask = ask.keys_per_thread(keys.parse()?);
        }
        let merge = if has_values {
            let pairs = [(&keys[0], &moved[0]), (&keys[1], &moved[1])];
            sorter.prepare_merge_pairs::<K, V>(pairs, &merged, &merged_values, ask)?
        } else {
            sorter.prepare_merge::<K>([&keys[0], &keys[1]], &merged, ask)?
        };
        let counts = [Count::Fixed(len as u32); 2];
        let batch = |of_merges: bool, encoder: &mut CommandEncoder| -> Result<(), Box<dyn Error>> {
            for _ in 0..BATCH {
                if of_merges {
                    merge.record_in(encoder, counts)?;
                    continue;
                }
                for run in 0..2 {
                    let (at, bytes) = (run * key_bytes, key_bytes as u64);
                    encoder.copy_buffer_to_buffer(&keys[run], 0, &merged, at as u64, bytes);
                    if has_values {
                        let (at, bytes) = (run * value_bytes, value_bytes as u64);
                        encoder.copy_buffer_to_buffer(&moved[run], 0, &merged_values, at as u64, bytes);
                    }
                }
            }
            Ok(())
        };
        let one = |of_merges: bool| one_of_batch(&backend, |encoder| batch(of_merges, encoder));
        warm_up(|| one(false).and(one(true)).map(drop))?;
        let mut series = vec![Series::default(); 2];
        // The merges are verified after the last one.
        take_turns(&mut series, Effort::rounds(0, trials), |system| one(system == 1).map(|time| Trial::new(time, true)));
        series.iter().try_for_each(|series| series.completed().map(drop))?;
        let profile = merge.profile(queue, counts, trials, |_| {})?;
        // Of the last trial.
        let verified = {
            let (mut expected, mut expected_values) = (vec![K::default(); 2 * len], vec![V::zeroed(); 2 * len]);
            let pairs = [(&*runs[0], &*values[0]), (&*runs[1], &*values[1])];
            RayonBackend::default().merge_pairs_into(&pairs, &mut expected, &mut expected_values)?;
            read(&backend, &merged, 2 * key_bytes)? == bytemuck::cast_slice::<K, u8>(&expected)
                && (!has_values
                    || read(&backend, &merged_values, 2 * value_bytes)? == bytemuck::cast_slice::<V, u8>(&expected_values))
        };
        let by_timestamps = device::times(&profile.device);
        let rows = [("merge", series[1].ranked()), ("copy", series[0].ranked()), ("merge by timestamps", by_timestamps)];
        for (algorithm, times) in rows.iter().filter(|(_, times)| times.count() > 0) {
            let (key, payload, n) = (&arguments[0], &arguments[1], 2 * len);
            let line = Line { system: "polysort", backend: "wgpu", algorithm, key, payload, n };
            print!("{}", line.text(times, verified));
        }
        print_launches(&profile);
    }
    Ok(())
}

/// Submits a batch, and returns the time of one of its merges, or copies.
fn one_of_batch(
    backend: &WgpuBackend,
    record: impl FnOnce(&mut CommandEncoder) -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut encoder = backend.device().create_command_encoder(&Default::default());
    record(&mut encoder)?;
    let commands = encoder.finish();
    let (time, done) = timed(|| {
        backend.queue().submit([commands]);
        wait(backend)
    });
    Ok(done.map(|()| time / BATCH)?)
}

/// Sorts keys that are on the device in one call, and compares them with the CPU's sort.
fn resident(exponent: u32) -> Result<(), Box<dyn Error>> {
    let backend = open()?;
    let len = 1_usize << exponent;
    let limits = backend.device().limits();
    let name = backend.name();
    println!("{name}: buffers of up to {} bytes, bindings of {}", limits.max_buffer_size, limits.max_storage_buffer_binding_size);
    let key = |i: usize| split_mix(i as u64 + (5 << 40)) as u32;
    let mut keys: Vec<u32> = (0..len).into_par_iter().map(key).collect();
    let mut on_device = SortBuffer::<u32>::with_capacity(&backend, len)?;
    write(&backend, on_device.raw(), bytemuck::cast_slice(&keys))?;
    on_device.set_len(len)?;
    // The plan, as a sorter prints it. Its scratch is freed before the sort takes its own.
    let sorter = DeviceSorter::new(backend.device(), backend.queue())?;
    let prepared = sorter.prepare_sort::<u32>(on_device.raw(), Ask::up_to(u32::try_from(len)?))?;
    match prepared.portions() {
        Some(plan) => print!("{plan}"),
        None => print!("{}", prepared.plan()),
    }
    drop(prepared);
    for call in ["first", "second"] {
        write(&backend, on_device.raw(), bytemuck::cast_slice(&keys))?;
        let (elapsed, done) = timed(|| -> Result<(), Box<dyn Error>> {
            backend.sort_buffer(&mut on_device, Options::ascending())?;
            Ok(wait(&backend)?)
        });
        done?;
        println!("{len} u32, {call} call: {elapsed:?}, {:.2} keys a nanosecond", len as f64 / elapsed.as_nanos() as f64);
    }
    let found = read(&backend, on_device.raw(), 4 * len)?;
    keys.par_sort_unstable();
    let is_right = bytemuck::cast_slice::<u32, u8>(&keys) == found;
    println!("verified: {is_right}");
    if is_right { Ok(()) } else { Err("the sort is wrong".into()) }
}
