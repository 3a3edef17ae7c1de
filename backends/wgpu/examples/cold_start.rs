//! The first sorts of a process: how long they take, and where the time goes.
//!
//!   cold_start CALL KEYS     KEYS: the number of keys, all u32
//!
//! CALL, for keys of the host: none, u32 (with values), argsort, segments (of 1000 keys), top (the first 100), runs; for keys on the device: prepared,
//! prepared-pairs, prepared-quick, prepared-quick-pairs (the last two with `Ask::quick_to_compile`).
//!
//! One line for each step: the step, its milliseconds, and of the spans in it the number and the milliseconds of all together, which is more than
//! that of the step if threads work at the same time. The driver keeps compiled kernels for later processes; NVIDIA's driver begins anew with the
//! environment variable `__GL_SHADER_DISK_CACHE_PATH` set to an empty folder.

mod device;
mod spans;

use polysort_core::{Error, Sort};
use polysort_measure::timed;
use polysort_wgpu::{Ask, Config, Count, DeviceSorter, WgpuBackend};

/// Runs a step, and prints its time.
fn step<T>(name: &str, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    spans::clear();
    let (time, result) = timed(run);
    print!("{name},{:.1}", time.as_secs_f64() * 1e3);
    for (span, (time, count)) in spans::times() {
        print!(",{count} x {span} {:.1}", time.as_secs_f64() * 1e3);
    }
    println!();
    result
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, count] = &arguments[..] else {
        panic!(
            "usage: cold_start none|u32|argsort|segments|top|runs|prepared|prepared-pairs|prepared-quick|prepared-quick-pairs KEYS"
        )
    };
    let count: u32 = count.parse().expect("KEYS is a number");
    spans::collect();
    let backend = step("open", || WgpuBackend::open_with(Config::from_env()))?;
    let input: Vec<u32> = (0..count).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(11).wrapping_mul(0x85eb_ca6b)).collect();
    if kind.starts_with("prepared") {
        let [keys, values] = [(); 2].map(|()| device::buffer(&backend, 4 * count as usize));
        let sorter = step("sorter", || DeviceSorter::new(backend.device(), backend.queue()))?;
        let ask = if kind.contains("quick") { Ask::up_to(count).quick_to_compile() } else { Ask::up_to(count) };
        let prepared = step("prepare", || match kind.ends_with("pairs") {
            true => sorter.prepare_sort_pairs::<u32, u32>(&keys, &values, ask),
            false => sorter.prepare_sort::<u32>(&keys, ask),
        })?;
        return step("first frame", || {
            let mut encoder = backend.device().create_command_encoder(&Default::default());
            prepared.record_in(&mut encoder, Count::Fixed(count))?;
            backend.queue().submit([encoder.finish()]);
            device::wait(&backend).expect("the device is there");
            Ok(())
        });
    }
    let mut values = input.clone();
    let offsets: Vec<usize> = (0..=count / 1000).map(|segment| 1000 * segment as usize).collect();
    for name in ["first", "second", "third"] {
        let mut keys = input.clone();
        step(name, || match &**kind {
            "none" => backend.sort(&mut keys),
            "u32" => backend.sort_pairs(&mut keys, &mut values),
            "argsort" => {
                backend.argsort(&keys).map(|order| assert!(order.is_sorted_by_key(|&at| keys[at as usize]), "not sorted"))
            }
            "segments" => backend.sort_segments(&mut keys, &*offsets),
            "top" => backend.top_k(&keys, 100).map(|top| assert!(top.keys.is_sorted_by(|a, b| a >= b), "not the largest first")),
            // No two keys are equal.
            "runs" => backend.runs(&keys).map(|runs| assert_eq!(runs.len(), keys.len(), "wrong runs")),
            other => panic!("no call {other}"),
        })?;
        assert!(!matches!(&**kind, "none" | "u32") || keys.is_sorted(), "not sorted");
        assert!(kind != "segments" || offsets.windows(2).all(|ends| keys[ends[0]..ends[1]].is_sorted()), "not sorted");
    }
    Ok(())
}
