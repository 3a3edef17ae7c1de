//! One sort on several devices at once.
//!
//! ```sh
//! cargo run --release --example several_devices                  # two pools of CPU threads
//! cargo run --release --example several_devices -- 0,1           # the first two adapters: their indices, or parts of their names
//! cargo run --release --example several_devices -- 0,cpu
//! ```
//!
//! Each device sorts a part of the input, and the CPU merges the parts. The program shows what each device did, and divides a second sort by the speeds that the
//! first one showed.

use polysort::multi::Report;
use polysort::{AnyBackend, Backend, DynBackend, Error, MultiBackend, RayonBackend, Sort};

fn main() -> Result<(), Error> {
    let multi = match std::env::args().nth(1) {
        Some(devices) => {
            let any = AnyBackend::open_multi(&devices)?;
            any.downcast_ref::<MultiBackend>().expect("a backend of several devices").clone()
        }
        // Any open backends: GPUs by `WgpuBackend::open_with`, or backends of your own.
        None => {
            let pools = [RayonBackend::with_threads(1)?, RayonBackend::with_threads(2)?];
            MultiBackend::new(pools.map(DynBackend::new))?
        }
    };
    println!("{}", multi.name());
    let keys: Vec<u32> =
        (0..1 << 22).map(|i: u32| i.wrapping_mul(0x9e37_79b9).rotate_left(15).wrapping_mul(0x85eb_ca6b)).collect();
    sort(&multi, &keys)?;
    let report = multi.report();
    print(&report);

    // Nothing measures in secret: the caller reads the speeds of earlier calls, and states the speeds of later ones.
    let Some(speeds) = report.speeds() else { return Ok(()) };
    println!("speeds of the first sort, in bytes per second: {speeds:?}");
    let multi = multi.with_speeds(speeds)?;
    sort(&multi, &keys)?;
    print(&multi.report());
    Ok(())
}

fn sort(multi: &MultiBackend, keys: &[u32]) -> Result<(), Error> {
    let mut sorted = keys.to_vec();
    multi.sort(&mut sorted)?;
    assert!(sorted.is_sorted());
    Ok(())
}

fn print(report: &Report) {
    for device in &report.devices {
        let failure = device.last_failure.as_ref().map_or_else(String::new, |why| format!(", last failure: {why}"));
        println!("  {}: {} parts, {} bytes, {:.1?}{failure}", device.name, device.parts, device.bytes, device.time);
    }
    println!("  merges on the CPU: {} bytes, {:.1?}", report.merged_bytes, report.merge_time);
}
