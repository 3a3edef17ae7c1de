//! Failures of devices: each gives an error that names it, no panic, and leaves the slices as they were.

mod allocations;
mod kernels;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::{Failed, Trial};
use polysort_core::{Backend, Error, Sort};
use polysort_fallback::Fallback;
use polysort_rayon::RayonBackend;
use polysort_wgpu::testing::{self, Fault};
use polysort_wgpu::{Config, SortBuffer, WgpuBackend};
use std::process::Command;
use std::sync::Mutex;
use support::{config, ensure, failed};

/// The environment variable that makes this program run [`without_driver`].
const HIDDEN: &str = "POLYSORT_TEST_WITHOUT_DRIVER";

/// The environment variable that makes this program run [`without_memory`].
const STARVED: &str = "POLYSORT_TEST_WITHOUT_MEMORY";

fn main() {
    if std::env::var_os(STARVED).is_some() {
        if let Err(failed) = without_memory() {
            println!("{}", failed.message().unwrap_or("failed"));
        }
        return;
    }
    if std::env::var_os(HIDDEN).is_some() {
        without_driver();
        return;
    }
    support::run("faults", |label| {
        let trial = |what: &str, run: fn() -> Result<(), Failed>| support::trial(label, what, run);
        let mut trials: Vec<Trial> = vec![
            trial("without a driver, opening a device is an error", no_driver),
            trial("an adapter on the CPU is not opened unless it is allowed", software_is_refused),
            trial("a sort on a lost device is an error", lost_before),
            trial("a device that is lost between two sorts is an error", lost_between),
            trial("a device that is lost during a sort is an error", lost_during),
            trial("a device that is lost after a submission is an error", lost_after),
            trial("memory that was freed is allocated again", released),
            trial("allocations: each one that fails is an error that loses nothing", allocations::each),
            trial("kernels: where one does not compile, or writes nothing, others sort", kernels::replaced),
            trial("kernels: where none compiles, or all write nothing, each call is an error", kernels::none),
            trial("kernels: a fallback sorts on the CPU where they fail their self-test", kernels::fallback),
        ];
        // Mesa's software driver crashes if an allocation fails.
        if !label.contains("lavapipe") && !label.contains("llvmpipe") {
            trials.push(trial("a device without free memory is an error, and sorts again later", out_of_memory));
        } else {
            eprintln!("not run on {label}: out of memory");
        }
        // The shared device opens with the configuration of the environment only.
        if config() == Config::from_env() {
            trials.push(trial("a lost shared device is opened again", global_opens_again));
            trials.push(trial("a fallback sorts on the CPU after a loss, and then on a new device", fallback));
        }
        trials
    })
}

fn no_driver() -> Result<(), Failed> {
    let this = std::env::current_exe()?;
    let mut child = Command::new(this);
    child.env(HIDDEN, "1").env("VK_DRIVER_FILES", "/nowhere.json").env("VK_ICD_FILENAMES", "/nowhere.json");
    let output = child.env("POLYSORT_SOFTWARE_GPU", "1").output()?;
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    // The environment variables hide Vulkan drivers only: other systems have other adapters.
    let hidden = out.starts_with("unavailable: ") && out.contains("driver");
    let elsewhere = cfg!(not(target_os = "linux")) && out.starts_with("opened");
    ensure(output.status.success() && (hidden || elsewhere), || format!("it said {out:?} and {errors:?}"))
}

fn without_driver() {
    match WgpuBackend::open() {
        Err(error @ Error::Unavailable { .. }) => {
            // The same with the shared device, and with a fallback to the CPU.
            assert!(matches!(WgpuBackend::global(), Err(Error::Unavailable { .. })));
            let fallback = Fallback::<WgpuBackend, RayonBackend>::open().expect("there is a CPU");
            let mut keys = [3, 1, 2];
            fallback.sort(&mut keys).expect("the CPU sorts");
            assert_eq!((keys, fallback.report().fell_back), ([1, 2, 3], 1));
            println!("unavailable: {error}");
        }
        Err(error) => println!("another error: {error:?}"),
        Ok(backend) => println!("opened {}", backend.name()),
    }
}

fn software_is_refused() -> Result<(), Failed> {
    let mut hardware = Config::default();
    hardware.software = false;
    match WgpuBackend::open_with(hardware) {
        Ok(backend) => ensure(!support::is_software(&backend), || format!("{} was opened", backend.name())),
        Err(error @ Error::Unavailable { .. }) => {
            let name = WgpuBackend::open_with(config()).map_err(failed)?.info().name.clone();
            ensure(error.to_string().contains(&name), || format!("{error} does not name {name}, which was not opened"))
        }
        Err(error) => Err(failed(error)),
    }
}

fn lost_before() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    backend.device().destroy();
    is_lost(&backend)
}

fn lost_between() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    sorts(&backend)?;
    ensure(!backend.is_lost(), || "the device is reported as lost".into())?;
    backend.device().destroy();
    is_lost(&backend)?;
    // Other handles report the loss too.
    is_lost(&backend.clone())
}

/// Destroys a device at several times during sorts. Each slice must be as it was, or sorted.
fn lost_during() -> Result<(), Failed> {
    let mut random = support::random(7);
    let keys: Vec<u32> = (0..200_000).map(|_| random() as u32).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    for delay in (0..8).step_by(polysort_kit::step(3)) {
        let backend = WgpuBackend::open_with(config()).map_err(failed)?;
        backend.sort(&mut [2, 1]).map_err(failed)?;
        let sorting = backend.clone();
        let (before, after) = (keys.clone(), sorted.clone());
        let thread = std::thread::spawn(move || {
            for _ in 0..10_000 {
                let mut keys = before.clone();
                match sorting.sort(&mut keys) {
                    Ok(()) if keys == after => {}
                    Ok(()) => return Err("wrong keys".to_owned()),
                    Err(Error::DeviceLost { .. }) if keys == before => return Ok(()),
                    Err(error) => return Err(format!("{error:?}, keys untouched: {}", keys == before)),
                }
            }
            Err("the device was never lost".to_owned())
        });
        std::thread::sleep(std::time::Duration::from_micros(3_000 + 2_700 * delay));
        backend.device().destroy();
        thread.join().map_err(|_| "it panicked")??;
        is_lost(&backend)?;
    }
    Ok(())
}

/// Loses a device right after each submission of a call in turn, while the host waits for the results.
fn lost_after() -> Result<(), Failed> {
    let input: Vec<u32> = (0..30_000).map(|i| i * 7919 % 10_007).collect();
    for submission in 0.. {
        let backend = WgpuBackend::open_with(config()).map_err(failed)?;
        backend.sort(&mut input.clone()).map_err(failed)?;
        testing::fail_after(&backend, submission, Fault::LostAfter);
        let mut keys = input.clone();
        let result = backend.sort(&mut keys);
        if testing::fail_no_more(&backend) {
            result.map_err(failed)?;
            println!("a sort has {submission} submissions");
            return ensure(submission > 0, || "a sort has no submission".into());
        }
        ensure(matches!(result, Err(Error::DeviceLost { .. })) && keys == input, || {
            format!("submission {submission}: {result:?}")
        })?;
        is_lost(&backend)?;
    }
    unreachable!("a call has few submissions")
}

/// The lock of trials that destroy the shared device of the process.
static SHARED: Mutex<()> = Mutex::new(());

fn global_opens_again() -> Result<(), Failed> {
    let _alone = SHARED.lock();
    let one = WgpuBackend::global().map_err(failed)?;
    sorts(&one)?;
    one.device().destroy();
    is_lost(&one)?;
    let other = WgpuBackend::global().map_err(failed)?;
    ensure(!other.is_lost(), || "the new device is lost too".into())?;
    sorts(&other)
}

fn fallback() -> Result<(), Failed> {
    let _alone = SHARED.lock();
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    let both = Fallback::new(Ok(backend.clone()), RayonBackend::open().map_err(failed)?);
    sorts(&both)?;
    ensure((both.report().taken, both.report().fell_back) == (1, 0), || format!("{:?}", both.report()))?;
    backend.device().destroy();
    sorts(&both)?;
    let report = both.report();
    let reason = matches!(report.last_reason, Some(Error::DeviceLost { .. }));
    ensure((report.taken, report.fell_back) == (1, 1) && reason, || format!("{report:?}"))?;
    // The shared fallback opens a new device after a loss.
    let shared = Fallback::<WgpuBackend, RayonBackend>::global().map_err(failed)?;
    if let Ok(device) = shared.primary() {
        device.device().destroy();
        sorts(&shared)?;
    }
    let shared = Fallback::<WgpuBackend, RayonBackend>::global().map_err(failed)?;
    sorts(&shared)?;
    ensure(shared.report().taken == 1, || format!("{:?}", shared.report()))
}

fn released() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    sorts(&backend)?;
    let held = backend.scratch_bytes().map_err(failed)?;
    backend.release().map_err(failed)?;
    let rest = backend.scratch_bytes().map_err(failed)?;
    ensure(held > 0 && rest == 0, || format!("{held} bytes, then {rest}"))?;
    sorts(&backend)
}

fn out_of_memory() -> Result<(), Failed> {
    // The test limits the memory of its whole process, so it runs in a process of its own.
    let output = Command::new(std::env::current_exe()?).env(STARVED, "1").output()?;
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    ensure(output.status.success() && out.ends_with("out of memory, and back\n"), || format!("it printed {out:?} and {errors:?}"))
}

fn without_memory() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    // A first sort compiles the kernels, and starts the threads: only memory is missing later.
    let mut random = support::random(5);
    let keys: Vec<u32> = (0..1 << 24).map(|_| random() as u32).collect();
    let (mut unsorted, mut short) = (keys.clone(), keys[..300_000].to_vec());
    backend.sort(&mut short).map_err(failed)?;
    let mut ballast = vec![];
    let refused = if support::is_software(&backend) {
        limit_memory(Some(40 << 20))?;
        let refused = backend.sort(&mut unsorted);
        limit_memory(None)?;
        refused
    } else {
        loop {
            match SortBuffer::<u32>::with_capacity(&backend, 1 << 26) {
                Ok(buffer) if ballast.len() < 4096 => ballast.push(buffer),
                Ok(_) => return Err("the device never runs out of memory".into()),
                Err(error) => break Err(error),
            }
        }
    };
    ensure(matches!(refused, Err(Error::OutOfMemory { asked, .. }) if asked > 0), || format!("{refused:?}"))?;
    ensure(unsorted == keys, || "the keys were changed".into())?;
    drop(ballast);
    backend.sort(&mut unsorted).map_err(failed)?;
    ensure(unsorted.is_sorted(), || "not sorted afterwards".into())?;
    println!("{refused:?}\nout of memory, and back");
    Ok(())
}

/// Limits the address space of this process to its size plus `more` bytes, or removes the limit.
fn limit_memory(more: Option<u64>) -> Result<(), Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).ok_or("no VmSize")?;
    let now = 1024 * size.trim().trim_end_matches(" kB").parse::<u64>()?;
    let limit = more.map_or("unlimited".into(), |more| (now + more).to_string());
    let this = std::process::id().to_string();
    let set = Command::new("prlimit").args(["--pid", &this, &format!("--as={limit}:unlimited")]).status()?;
    ensure(set.success(), || "the limit was not set".into())
}

/// Checks that every call on a lost device is an error and changes nothing.
fn is_lost(backend: &WgpuBackend) -> Result<(), Failed> {
    for len in [2, 500, 100_000] {
        let keys: Vec<u32> = (0..len).rev().collect();
        let mut unsorted = keys.clone();
        let result = backend.sort(&mut unsorted);
        ensure(matches!(result, Err(Error::DeviceLost { .. })) && unsorted == keys, || format!("a sort returned {result:?}"))?;
        let (mut unsorted, mut values) = (keys.clone(), keys.clone());
        let result = backend.sort_pairs(&mut unsorted, &mut values);
        let kept = unsorted == keys && values == keys;
        ensure(matches!(result, Err(Error::DeviceLost { .. })) && kept, || format!("a sort of pairs returned {result:?}"))?;
        let result = backend.argsort(&keys);
        ensure(matches!(result, Err(Error::DeviceLost { .. })), || format!("an argsort returned {result:?}"))?;
    }
    ensure(backend.is_lost(), || "the backend does not report the loss".into())?;
    ensure(backend.recounts().is_err(), || "recounts are still read".into())
}

fn sorts(backend: &impl Backend) -> Result<(), Failed> {
    let mut keys: Vec<i32> = (0..30_000).map(|i| (i * 7919) % 10_007 - 5000).collect();
    backend.sort(&mut keys).map_err(failed)?;
    ensure(keys.is_sorted(), || "not sorted".into())
}
