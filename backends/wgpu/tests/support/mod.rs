//! Code that the GPU tests share: the adapter that they run on, which is part of their names, and helpers.
//!
//! `POLYSORT_TEST_DEVICE` names the adapter that the tests require: on any other adapter they fail. `scripts/software-vulkan.sh run` sets the
//! variable. If it is not set, the tests run on the best adapter. If there is no adapter, one ignored test reports it.
#![allow(dead_code, reason = "each program uses a part")]

pub(crate) mod spans;

use core::fmt::Display;
use core::pin::Pin;
use core::task::{Context, Poll};
use libtest_mimic::{Arguments, Failed, Trial};
use polysort_shaders::plan::Payload;
use polysort_wgpu::{Config, WgpuBackend, wgpu};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Wake;

/// Runs the trials that `trials` returns for the name of the adapter, and ends the program.
pub(crate) fn run(program: &'static str, trials: impl FnOnce(&str) -> Vec<Trial>) -> ! {
    let arguments = Arguments::from_args();
    spans::install();
    let all = match label() {
        Some(label) => trials(&label).into_iter().chain([adapter(&label)]).collect(),
        None => vec![skipped(program)],
    };
    libtest_mimic::run(&arguments, all).exit()
}

/// Returns a trial on the adapter with the name `label`.
pub(crate) fn trial(label: &str, what: &str, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(format!("[wgpu, {label}] {what}"), run)
}

/// Returns the adapter's name for the names of tests; `None` if there is no adapter and none is required.
pub(crate) fn label() -> Option<String> {
    expected().or_else(|| WgpuBackend::open_with(config()).ok().map(|backend| backend.info().name.clone()))
}

/// Returns the ignored trial of a program that has no adapter.
pub(crate) fn skipped(program: &'static str) -> Trial {
    Trial::test(format!("[wgpu] {program}: skipped, no adapter"), || Err("there is no adapter".into())).with_ignored_flag(true)
}

/// Returns the trial that checks the adapter: its name, its lanes and its driver.
pub(crate) fn adapter(label: &str) -> Trial {
    trial(label, "the adapter is the required one", || Ok(check_adapter()?))
}

/// Returns the default configuration of tests. `POLYSORT_SOFTWARE_GPU=1` allows an adapter that runs on the CPU; `POLYSORT_TEST_NATIVE=1`
/// allows native kernels.
pub(crate) fn config() -> Config {
    let mut config = Config::from_env();
    config.native = std::env::var_os("POLYSORT_TEST_NATIVE").is_some_and(|value| value == "1");
    config
}

/// Returns the default configuration of tests, without subgroup operations.
pub(crate) fn config_without_subgroups() -> Config {
    let mut config = config();
    config.subgroups = false;
    config
}

/// Whether a backend runs on the CPU. Tests then run fewer cases.
pub(crate) fn is_software(backend: &WgpuBackend) -> bool {
    backend.info().device_type == wgpu::DeviceType::Cpu
}

/// Whether a backend sorts so slowly that tests run only a few cases.
pub(crate) fn is_slow(backend: &WgpuBackend) -> bool {
    backend.info().name.contains("SwiftShader")
}

/// Whether the driver of a backend takes many seconds to compile a kernel. Mesa's software driver does if its vectors have more than 4 lanes.
pub(crate) fn compiles_slowly(backend: &WgpuBackend) -> bool {
    // The adapter reports the lanes of its vectors also if the backend does not use subgroups.
    backend.info().name.contains("llvmpipe") && backend.info().subgroup_max_size > 4
}

/// Whether the kernels that rank with counters compile in reasonable time for these keys. Mesa's software driver takes ten seconds for each,
/// so tests run a few of them there. SwiftShader compiles fast, so tests run all of them there.
pub(crate) fn is_cheap(backend: &WgpuBackend, key_bits: u32, payload: Payload) -> bool {
    let common = matches!((key_bits, payload), (32, Payload::None | Payload::Indices) | (64, Payload::None));
    common || !backend.info().name.contains("llvmpipe")
}

/// Returns the failure of a test for an error of the backend.
pub(crate) fn failed(error: impl Display) -> Failed {
    format!("the backend failed: {error}").into()
}

/// Returns the failure `what` unless `holds` is true.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what().into()) }
}

/// Returns a generator of pseudo-random numbers (SplitMix64), which `seed` determines.
pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

fn expected() -> Option<String> {
    std::env::var("POLYSORT_TEST_DEVICE").ok().filter(|name| !name.is_empty())
}

fn check_adapter() -> Result<(), String> {
    let backend = WgpuBackend::open_with(config()).map_err(|error| error.to_string())?;
    let (info, lanes) = (backend.info(), backend.facts().subgroups);
    println!("{} {} {}, subgroups {lanes:?}", info.name, info.driver, info.driver_info);
    let Some(expected) = expected() else { return Ok(()) };
    let (name, expected_lanes) = match expected.split_once('-') {
        Some(("lavapipe", lanes)) => ("llvmpipe", lanes.parse().map_err(|_| format!("{lanes} lanes"))?),
        None if expected == "swiftshader" => ("SwiftShader", 4),
        _ => return Err(format!("POLYSORT_TEST_DEVICE names an unknown device: {expected}")),
    };
    if !info.name.contains(name) {
        return Err(format!("the adapter is {}, not {expected}", info.name));
    }
    if lanes != Some((expected_lanes, expected_lanes)) {
        return Err(format!("subgroups of {lanes:?} lanes instead of {expected_lanes}"));
    }
    // Older versions end some loops early, without an error.
    let mesa = info.driver_info.strip_prefix("Mesa ").and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    if name == "llvmpipe" && mesa.is_none_or(|version| version < 25) {
        return Err(format!("the driver is {}, not Mesa 25 or later", info.driver_info));
    }
    let portable = WgpuBackend::open_with(config_without_subgroups()).map_err(|error| error.to_string())?;
    match portable.facts().subgroups {
        None => Ok(()),
        some => Err(format!("subgroups of {some:?} lanes in a configuration without subgroups")),
    }
}

/// A waker that another thread can wait for.
#[derive(Default)]
struct Woken(Mutex<bool>, Condvar);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().expect("nothing panics while it is locked") = true;
        self.1.notify_all();
    }
}

/// Polls a future up to `polls` times, each time after its waker was called. Returns its output, if it ended.
pub(crate) fn polled<T>(mut future: Pin<&mut impl Future<Output = T>>, polls: usize) -> Option<T> {
    let woken = Arc::new(Woken::default());
    let waker = woken.clone().into();
    for poll in 1..=polls {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
        if poll < polls {
            let asked = woken.0.lock().expect("nothing panics while it is locked");
            *woken.1.wait_while(asked, |asked| !*asked).expect("nothing panics while it is locked") = false;
        }
    }
    None
}

/// Returns the output of a future: `begun` if it has ended already, else it polls the future to its end.
pub(crate) fn finished<T>(begun: Option<T>, future: impl Future<Output = T>) -> T {
    begun.unwrap_or_else(|| pollster::block_on(future))
}
