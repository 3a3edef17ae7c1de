//! What the GPU tests share: the adapter that they run on, which shows in their names.
//!
//! `POLYSORT_TEST_DEVICE` names the adapter that must be there: without it the tests fail. Where the variable is not set, they run on any
//! adapter, and without one a test that is ignored says so. `scripts/software-vulkan.sh run` sets it.
#![allow(dead_code, reason = "each program uses a part")]

use libtest_mimic::{Arguments, Failed, Trial};
use polysort_core::Error;
use polysort_shaders::plan::Payload;
use polysort_wgpu::{Config, WgpuBackend, wgpu};

/// Runs the trials that `trials` makes for an adapter of that name, and ends the program.
pub(crate) fn run(program: &'static str, trials: impl FnOnce(&str) -> Vec<Trial>) -> ! {
    let arguments = Arguments::from_args();
    let all = match label() {
        Some(label) => trials(&label).into_iter().chain([adapter(&label)]).collect(),
        None => vec![skipped(program)],
    };
    libtest_mimic::run(&arguments, all).exit()
}

/// A trial of the adapter of that name.
pub(crate) fn trial(label: &str, what: &str, run: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(format!("[wgpu, {label}] {what}"), run)
}

/// What the adapter is called in the names of tests; none if there is no adapter, and none was asked for.
pub(crate) fn label() -> Option<String> {
    expected().or_else(|| WgpuBackend::open_with(config()).ok().map(|backend| backend.info().name.clone()))
}

/// The trial that stands for a program that cannot run.
pub(crate) fn skipped(program: &'static str) -> Trial {
    Trial::test(format!("[wgpu] {program}: skipped, no adapter"), || Err("there is no adapter".into())).with_ignored_flag(true)
}

/// The trial that the adapter is what its name says.
pub(crate) fn adapter(label: &str) -> Trial {
    trial(label, "the adapter is the one that was asked for", || Ok(check_adapter()?))
}

/// The usual device; one that runs on the CPU if the environment variable `POLYSORT_SOFTWARE_GPU` allows that, by kernels in its own
/// language if `POLYSORT_TEST_NATIVE` says so.
pub(crate) fn config() -> Config {
    let mut config = Config::from_env();
    config.native = std::env::var_os("POLYSORT_TEST_NATIVE").is_some_and(|value| value == "1");
    config
}

/// The usual device without subgroup operations.
pub(crate) fn config_without_subgroups() -> Config {
    let mut config = config();
    config.subgroups = false;
    config
}

/// Whether a backend runs on the CPU, so that less must do.
pub(crate) fn is_software(backend: &WgpuBackend) -> bool {
    backend.info().device_type == wgpu::DeviceType::Cpu
}

/// Whether it is so slow that far less must do.
pub(crate) fn is_slow(backend: &WgpuBackend) -> bool {
    backend.info().name.contains("SwiftShader")
}

/// Whether its driver takes many seconds for a kernel: Mesa's, the more the wider the vectors of the CPU that it uses. With vectors of 4
/// lanes it takes the least.
pub(crate) fn compiles_slowly(backend: &WgpuBackend) -> bool {
    // The adapter's lanes, which are its vectors' also where a backend is told not to use subgroups.
    backend.info().name.contains("llvmpipe") && backend.info().subgroup_max_size > 4
}

/// Whether the kernels that rank without subgroups can be compiled in reasonable time for such keys: Mesa's software driver takes ten
/// seconds for each of them, so that there a few stand for all. SwiftShader, which compiles at once, gets all of them.
pub(crate) fn is_cheap(backend: &WgpuBackend, key_bits: u32, payload: Payload) -> bool {
    let common = matches!((key_bits, payload), (32, Payload::None | Payload::Indices) | (64, Payload::None));
    common || !backend.info().name.contains("llvmpipe")
}

/// An error as a failure.
pub(crate) fn failed(error: Error) -> Failed {
    format!("the backend failed: {error}").into()
}

/// Fails with `what` unless that holds.
pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(what().into()) }
}

/// Numbers that look random: the same ones for the same seed (SplitMix64).
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
        _ => return Err(format!("{expected} is no device that is known here")),
    };
    if !info.name.contains(name) {
        return Err(format!("the adapter is {}, not {expected}", info.name));
    }
    if lanes != Some((expected_lanes, expected_lanes)) {
        return Err(format!("subgroups of {lanes:?} lanes instead of {expected_lanes}"));
    }
    // Older versions end loops early, without a word.
    let mesa = info.driver_info.strip_prefix("Mesa ").and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    if name == "llvmpipe" && mesa.is_none_or(|version| version < 25) {
        return Err(format!("the driver is {}, not Mesa 25 or later", info.driver_info));
    }
    let portable = WgpuBackend::open_with(config_without_subgroups()).map_err(|error| error.to_string())?;
    match portable.facts().subgroups {
        None => Ok(()),
        some => Err(format!("subgroups of {some:?} lanes where none were wanted")),
    }
}
