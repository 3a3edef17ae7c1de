//! `MultiBackend` on two adapters of one process, and on an adapter beside the CPU.
//!
//! `POLYSORT_TEST_ADAPTERS` names the adapters, separated by a comma: parts of their names, or indices. `scripts/software-vulkan.sh run both` sets it. Without it, the
//! tests are ignored.

use libtest_mimic::{Failed, Trial};
use polysort::gpu::{Config, WgpuBackend};
use polysort::multi::Speeds;
use polysort::{AnyBackend, Backend, DynBackend, Error, MultiBackend, RayonBackend, Sort};
use polysort_kit::{Plan, Suite};

fn main() {
    let mut suite = Suite::from_args();
    let Ok(adapters) = std::env::var("POLYSORT_TEST_ADAPTERS") else {
        let skipped = || Err("POLYSORT_TEST_ADAPTERS names no adapters".into());
        suite.add(Trial::test("several GPUs: skipped, no adapters are named", skipped).with_ignored_flag(true));
        suite.run();
    };
    let (first, second) = adapters.split_once(',').expect("POLYSORT_TEST_ADAPTERS names two adapters, separated by a comma");
    let (first, second) = (first.to_owned(), second.to_owned());
    let full = suite.is_full();
    // Kernels of software adapters take long to compile: one key, and some cases of each check. What depends on the key is in the devices, which are tested alone.
    let takes = move |check: &str| {
        let is_quick = ["u32 sort", "u32 sort_pairs", "u32 argsort"].contains(&check);
        if full || is_quick { Ok(()) } else { Err("--full runs it") }
    };
    let plan = || Plan::up_to(5000, full).sampled(if full { 40 } else { 2 }, 3);
    let both = [first.clone(), second.clone()];
    suite.enter_part("two GPUs", plan(), takes, move || multi(&both.each_ref().map(|adapter| gpu(adapter))));
    let beside = second.clone();
    suite.enter_part("GPU and CPU", plan(), takes, move || {
        multi(&[gpu(&beside), RayonBackend::with_threads(2).map(DynBackend::new)])
    });
    suite.add(Trial::test("two adapters are open side by side, by name and by index", {
        let both = [first.clone(), second.clone()];
        move || side_by_side(&both)
    }));
    suite.add(Trial::test("a device that is lost in the middle hands over, and is opened again on its adapter", move || {
        lost(&first, &second)
    }));
    suite.run();
}

fn config(adapter: &str) -> Config {
    let mut config = Config::from_env();
    config.adapter = adapter.into();
    config
}

fn gpu(adapter: &str) -> Result<DynBackend, Error> {
    WgpuBackend::open_with(config(adapter)).map(DynBackend::new)
}

/// All devices, each with a part of short inputs too.
fn multi(devices: &[Result<DynBackend, Error>]) -> Result<MultiBackend, Error> {
    let devices: Vec<DynBackend> = devices.iter().cloned().collect::<Result<_, _>>()?;
    let speeds = Speeds::new(Vec::from_iter((1..=devices.len()).map(|speed| speed as f64)), f64::INFINITY);
    Ok(MultiBackend::new(devices)?.with_speeds(speeds)?.least_part(16))
}

fn keys(len: u32) -> Vec<u32> {
    (0..len).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(9) % 1000).collect()
}

fn check(multi: &MultiBackend, len: u32) -> Result<(), Failed> {
    let (mut keys, mut values) = (keys(len), Vec::from_iter(0..len));
    let mut expected: Vec<(u32, u32)> = keys.iter().copied().zip(values.iter().copied()).collect();
    expected.sort();
    multi.sort_pairs(&mut keys, &mut values)?;
    let sorted: Vec<(u32, u32)> = keys.into_iter().zip(values).collect();
    if sorted == expected { Ok(()) } else { Err(format!("{len} pairs are in another order").into()) }
}

fn side_by_side(adapters: &[String; 2]) -> Result<(), Failed> {
    // Two GPUs of a model have one name, and places of their own on the bus.
    let identities = adapters.each_ref().map(|adapter| {
        let gpu = WgpuBackend::open_with(config(adapter))?;
        Ok::<_, Error>((gpu.info().name.clone(), gpu.info().device_pci_bus_id.clone()))
    });
    let [first, second] = identities;
    let (first, second) = (first?, second?);
    if first == second {
        return Err(format!("{adapters:?} are one adapter: {first:?}").into());
    }
    for (index, listed) in Config::from_env().adapters()?.iter().enumerate() {
        let opened = WgpuBackend::open_with(config(&index.to_string()))?;
        if opened.info() != listed {
            return Err(format!("adapter {index} is {:?}, not {listed:?}", opened.info()).into());
        }
    }
    let (first, second) = (first.0, second.0);
    let by_index = AnyBackend::open_multi("0,1,cpu")?;
    let name = by_index.name();
    if !(name.contains(&first) && name.contains(&second)) {
        return Err(format!("0,1,cpu is {name}, without {first} or {second}").into());
    }
    let multi = by_index.downcast_ref::<MultiBackend>().expect("a backend of several devices").clone().least_part(100);
    check(&multi, 3000)?;
    let report = multi.report();
    if report.devices.iter().all(|device| device.parts == 1) { Ok(()) } else { Err(format!("{report:?}").into()) }
}

fn lost(first: &str, second: &str) -> Result<(), Failed> {
    let device = WgpuBackend::open_with(config(first))?;
    let multi = multi(&[Ok(DynBackend::new(device.clone())), gpu(second)])?;
    check(&multi, 3000)?;
    device.device().destroy();
    check(&multi, 3000)?;
    let report = multi.report();
    let [gone, other] = &report.devices[..] else { unreachable!("two devices") };
    if !(gone.failures == 1
        && other.failures == 0
        && other.parts == 3
        && matches!(gone.last_failure, Some(Error::DeviceLost { .. })))
    {
        return Err(format!("the device was lost, and the report is {report:?}").into());
    }
    check(&multi, 3000)?;
    let reopened = &multi.report().devices[0];
    let is_back = reopened.parts == gone.parts + 1 && reopened.name == device.name();
    if is_back { Ok(()) } else { Err(format!("it was not opened again: {reopened:?}, and was {gone:?}").into()) }
}
