//! What goes wrong with devices: each time an error that says so, no panic, and the slices as they were.

mod support;

use libtest_mimic::{Failed, Trial};
use polysort_core::{Backend, Error, Fallback, Sort};
use polysort_rayon::RayonBackend;
use polysort_wgpu::{Config, SortBuffer, WgpuBackend};
use std::process::Command;
use std::sync::Mutex;
use support::{config, ensure, failed};

/// Set in a process whose driver is hidden, to what it is to do there.
const HIDDEN: &str = "POLYSORT_TEST_WITHOUT_DRIVER";

/// Set in a process that is to run out of memory.
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
            trial("no driver", no_driver),
            trial("an adapter on the CPU is no GPU unless asked for", software_is_refused),
            trial("too long", too_long),
            trial("too long, with values", too_long_with_values),
            trial("too long, packed keys", too_long_packed),
            trial("device lost before a sort", lost_before),
            trial("device lost between sorts", lost_between),
            trial("device lost during a sort", lost_during),
            trial("memory that was given back is had again", released),
        ];
        // Mesa's software driver does not survive memory that it is refused.
        if !label.contains("lavapipe") && !label.contains("llvmpipe") {
            trials.push(trial("out of memory", out_of_memory));
        }
        // The shared device is the one that anybody would get.
        if config() == Config::default() || std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some() {
            trials.push(trial("a lost shared device is opened again", global_opens_again));
            trials.push(trial("a fallback sorts on the CPU, and then on the device again", fallback));
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
    // On systems whose adapters come from elsewhere nothing is hidden.
    let hidden = out.starts_with("unavailable: ") && out.contains("driver");
    let elsewhere = cfg!(not(target_os = "linux")) && out.starts_with("opened");
    ensure(output.status.success() && (hidden || elsewhere), || format!("it said {out:?} and {errors:?}"))
}

fn without_driver() {
    match WgpuBackend::open() {
        Err(error @ Error::Unavailable { .. }) => {
            // Again, by the shared way, and with a CPU to fall back to.
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
            ensure(error.to_string().contains(&name), || format!("{error} does not say that {name} was passed over"))
        }
        Err(error) => Err(failed(error)),
    }
}

fn too_long() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    let limit = backend.limits().longest(size_of::<u128>());
    let mut keys = long::<u128>(limit)?;
    refused(backend.sort(&mut keys), limit)?;
    untouched(&keys)?;
    // The next call works.
    sorts(&backend)
}

fn too_long_with_values() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    let limit = backend.limits().longest(size_of::<u128>());
    let (mut keys, mut values) = (long::<u32>(limit)?, long::<u128>(limit)?);
    refused(backend.sort_pairs(&mut keys, &mut values), limit)?;
    untouched(&keys)?;
    untouched(&values)?;
    sorts(&backend)
}

fn too_long_packed() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    // While they are sorted, keys of 16 bits take a word each.
    let limit = backend.limits().longest(size_of::<u32>());
    let mut keys = long::<u16>(limit)?;
    refused(backend.sort(&mut keys), limit)?;
    untouched(&keys)?;
    sorts(&backend)
}

fn lost_before() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    backend.device().destroy();
    is_lost(&backend)
}

fn lost_between() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    sorts(&backend)?;
    ensure(!backend.is_lost(), || "the device counts as lost".into())?;
    backend.device().destroy();
    is_lost(&backend)?;
    // Every handle knows.
    is_lost(&backend.clone())
}

/// Whatever a sort was doing when the device went: the slice is as it was, or sorted.
fn lost_during() -> Result<(), Failed> {
    let mut random = support::random(7);
    let keys: Vec<u32> = (0..200_000).map(|_| random() as u32).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let mut lost = 0;
    for delay in 0..8 {
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
        lost += 1;
    }
    ensure(lost == 8, || format!("{lost} devices were lost"))
}

/// Held by what loses the shared device of the process.
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
    // What is too long for the device is not for the CPU.
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    let limit = backend.limits().longest(size_of::<u128>());
    let both = Fallback::new(Ok(backend), RayonBackend::open().map_err(failed)?);
    if limit < 1 << 24 {
        let mut keys = long::<u128>(limit)?;
        both.sort(&mut keys).map_err(failed)?;
        ensure(keys.is_sorted() && both.report().fell_back == 1, || format!("{:?}", both.report()))?;
    }
    // The shared one takes its device up again.
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
    // In a process of its own: it takes the memory away from all that runs in it.
    let output = Command::new(std::env::current_exe()?).env(STARVED, "1").output()?;
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    ensure(output.status.success() && out.ends_with("out of memory, and back\n"), || format!("it said {out:?} and {errors:?}"))
}

fn without_memory() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    // Everything but the memory is there before: pipelines, threads, staging.
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
                Ok(_) => return Err("a device that is never full".into()),
                Err(error) => break Err(error),
            }
        }
    };
    ensure(matches!(refused, Err(Error::OutOfMemory { asked, .. }) if asked > 0), || format!("{refused:?}"))?;
    ensure(unsorted == keys, || "the keys were touched".into())?;
    drop(ballast);
    backend.sort(&mut unsorted).map_err(failed)?;
    ensure(unsorted.is_sorted(), || "not sorted afterwards".into())?;
    println!("{refused:?}\nout of memory, and back");
    Ok(())
}

/// Lets this process have so many bytes more than it has, or as many as it likes again.
fn limit_memory(more: Option<u64>) -> Result<(), Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).ok_or("no VmSize")?;
    let now = 1024 * size.trim().trim_end_matches(" kB").parse::<u64>()?;
    let limit = more.map_or("unlimited".into(), |more| (now + more).to_string());
    let this = std::process::id().to_string();
    let set = Command::new("prlimit").args(["--pid", &this, &format!("--as={limit}:unlimited")]).status()?;
    ensure(set.success(), || "the limit was not set".into())
}

/// One element more than `limit`: descending at the ends, and nothing between, so that it takes no memory.
fn long<T: bytemuck::Pod + From<u8>>(limit: u64) -> Result<Vec<T>, Failed> {
    let mut elements: Vec<T> = bytemuck::zeroed_vec(usize::try_from(limit)? + 1);
    for i in 0..8 {
        let last = elements.len() - 1;
        elements[i] = T::from(200 - i as u8);
        elements[last - i] = T::from(1 + i as u8);
    }
    Ok(elements)
}

fn untouched<T: bytemuck::Pod + From<u8> + PartialEq>(elements: &[T]) -> Result<(), Failed> {
    let last = elements.len() - 1;
    let zero = T::from(0);
    let ends = (0..8).all(|i| elements[i] == T::from(200 - i as u8) && elements[last - i] == T::from(1 + i as u8));
    ensure(ends && elements[8..last - 7].iter().all(|&element| element == zero), || "the slice was touched".into())
}

fn refused(result: Result<(), Error>, most: u64) -> Result<(), Failed> {
    match result {
        Err(Error::TooLong { asked, limit, .. }) if (asked, limit) == (most + 1, most) => Ok(()),
        other => Err(format!("{other:?} where {most} is the limit").into()),
    }
}

/// That a backend whose device is gone says so and touches nothing, whatever it is asked.
fn is_lost(backend: &WgpuBackend) -> Result<(), Failed> {
    for len in [2, 500, 100_000] {
        let keys: Vec<u32> = (0..len).rev().collect();
        let mut unsorted = keys.clone();
        let result = backend.sort(&mut unsorted);
        ensure(matches!(result, Err(Error::DeviceLost { .. })) && unsorted == keys, || format!("a sort gave {result:?}"))?;
        let (mut unsorted, mut values) = (keys.clone(), keys.clone());
        let result = backend.sort_pairs(&mut unsorted, &mut values);
        let kept = unsorted == keys && values == keys;
        ensure(matches!(result, Err(Error::DeviceLost { .. })) && kept, || format!("a sort of pairs gave {result:?}"))?;
        let result = backend.argsort(&keys);
        ensure(matches!(result, Err(Error::DeviceLost { .. })), || format!("an argsort gave {result:?}"))?;
    }
    ensure(backend.is_lost(), || "it does not say that it is lost".into())?;
    ensure(backend.recounts().is_err(), || "it still counts".into())
}

fn sorts(backend: &impl Backend) -> Result<(), Failed> {
    let mut keys: Vec<i32> = (0..30_000).map(|i| (i * 7919) % 10_007 - 5000).collect();
    backend.sort(&mut keys).map_err(failed)?;
    ensure(keys.is_sorted(), || "not sorted".into())
}
