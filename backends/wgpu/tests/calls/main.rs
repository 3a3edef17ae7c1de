//! Tests of calls other than blocking sorts of slices, which the conformance suite tests: recorded sorts, buffers on the device, async variants.

mod async_variants;
mod buffers;
mod gather;
mod masks;
mod merges;
mod portions;
mod recording;
mod records;
mod repeated;
mod runs;
mod segments;
mod sequences;
mod slices;
#[path = "../support/mod.rs"]
mod support;
mod wide_indices;

use libtest_mimic::Failed;
use polysort_core::Error;
use polysort_wgpu::{Adapter, WgpuBackend};
use std::sync::LazyLock;

fn main() {
    if std::env::var_os(repeated::ALONE).is_some() {
        repeated::alone();
        return;
    }
    support::run("calls", |label| {
        let trial = |what: &str, run: fn() -> Result<(), Failed>| support::trial(label, what, run);
        let mut trials = vec![
            trial("recording: one command encoder takes sorts of two counts", recording::two_counts),
            trial("recording: keys start at any word, and a buffer has their number", recording::parts),
            trial("recording: the first keys are selected for any number of keys", recording::first_keys),
            trial("recording: keys and selected indices may lie in one buffer", recording::first_keys_in_one_buffer),
            trial("recording: segments are sorted by offsets on the device", segments::offsets_on_the_device),
            trial("recording: the first keys of each segment are selected", segments::first_of_each),
            trial("recording: each row of a matrix is sorted", segments::rows),
            trial("recording: invalid segments change nothing around the keys", segments::invalid),
            trial("runs: keys and outputs start at any word, and a buffer has their number", runs::outputs),
            trial("runs: keys and outputs may lie in one buffer", runs::in_one_buffer),
            trial("records: they are sorted in place by some of their bits", records::by_some_bits),
            trial("gather: elements of any size come in the order of their indices", gather::elements),
            trial("wide indices: argsorts write indices of 64 bits", wide_indices::argsorts),
            trial("wide indices: selections write indices of 64 bits", wide_indices::selections),
            trial("wide indices: argsorts and selections of segments and rows write them", wide_indices::segments),
            trial("wide indices: they may lie in the buffer of the keys; other calls refuse them", wide_indices::in_one_buffer),
            trial("wide indices: async variants write them", wide_indices::async_variants),
            trial("runs: buffers that cannot take the runs are refused", runs::refused),
            trial("recording: passes of a tuned shape sort", recording::tuned),
            trial("recording: a sorter without a queue tests its sorts later", recording::untested),
            trial("recording: the planned algorithm passes its self-test", recording::planned),
            trial("recording: buffers that cannot be sorted are refused", recording::refused),
            trial("recording: it creates no object and submits nothing", recording::makes_nothing),
            trial("buffers: keys are sorted, with values, and by their indices", buffers::sorted),
            trial("buffers: a sort into another buffer keeps its input", buffers::sorted_into),
            trial("buffers: readers share the memory of the device, if the host can", buffers::read_in_place),
            trial("buffers: a reader that begins before the submission makes a call fail", buffers::read_before_the_submission),
            trial("buffers: slices and values that do not fit are refused", buffers::refused),
            trial("buffers: elements that are never dropped cause errors only", buffers::forgotten),
            trial("buffers: impossible lengths are refused", buffers::impossible_lengths),
            trial("buffers: what is uploaded through the memory of the host arrives", buffers::of_the_host),
            trial("merges: two runs are merged stably, with values", merges::merged),
            trial("merges: every key and every value can be merged", merges::kinds),
            trial("merges: runs that do not fit a binding are merged in parts", merges::in_parts),
            trial("merges: runs and outputs in several buffers are merged", merges::in_pages),
            trial("merges: a recording takes counts from host and device, and parts of buffers", merges::recorded),
            trial("merges: runs that are not sorted change nothing around the output", merges::unsorted),
            trial("merges: buffers that cannot be merged are refused", merges::refused),
            trial("merges: a sorter without a queue tests its merges later", merges::untested),
            trial("portions: keys that do not fit a binding are sorted, with values", portions::sorted),
            trial("portions: they are sorted without subgroups", portions::without_subgroups),
            trial("portions: a recording takes counts from host and device", portions::recorded),
            trial("portions: arrays that are longer than a buffer lie in several", portions::in_pages),
            trial("portions: what has no portions is refused", portions::refused),
            trial("slices: a sort into other slices keeps its inputs", slices::sorted_into),
            trial("masks: a key without an in-place view is sorted", masks::without_a_view),
            trial("segments: keys that fill a binding are sorted", segments::that_just_fit),
            trial("repeated: thousands of sorts leave the memory as it was", repeated::memory_stays),
            trial("adapters: an index and a part of the name open the adapter", adapters),
            trial("async variants: they give the results of blocking calls", async_variants::same_results),
            trial("async variants: other tasks run while one waits", async_variants::side_by_side),
            trial("async variants: a dropped call changes nothing", async_variants::dropped),
            trial("async variants: they compile kernels on other threads", async_variants::compiled_elsewhere),
        ];
        // The kernels of one sequence take minutes to compile there.
        match label {
            "lavapipe-8" | "lavapipe-16" => eprintln!("not run on {label}: random sequences of calls"),
            _ => trials.push(trial("sequences: random calls leave each buffer as a model has it", sequences::random_calls)),
        }
        trials
    })
}

/// Opens the adapter of the tests by its name and by its index, and an adapter that does not exist.
fn adapters() -> Result<(), Failed> {
    let name = open()?.info().name.clone();
    let opened = |adapter: Adapter| {
        let mut config = support::config();
        config.adapter = adapter;
        WgpuBackend::open_with(config).map(|backend| backend.info().name.clone())
    };
    let by_name = opened(Adapter::Named(name.to_uppercase())).map_err(support::failed)?;
    support::ensure(by_name == name, || format!("{by_name} was opened by the name {name}"))?;
    opened(Adapter::Index(0)).map_err(support::failed)?;
    for adapter in [Adapter::Index(1000), Adapter::from("no such adapter")] {
        match opened(adapter.clone()) {
            Err(error @ Error::Unavailable { .. }) => {
                support::ensure(error.to_string().contains(&name), || format!("{error} does not list {name}"))?;
            }
            other => return Err(format!("{adapter:?} gave {other:?}").into()),
        }
    }
    Ok(())
}

/// Returns a backend that tests share, so that the driver compiles each kernel once.
fn open() -> Result<WgpuBackend, Failed> {
    static SHARED: LazyLock<Result<WgpuBackend, Error>> = LazyLock::new(|| WgpuBackend::open_with(support::config()));
    SHARED.clone().map_err(support::failed)
}

/// Opens a device that no other test uses: for tests that count what happens on it.
fn open_alone() -> Result<WgpuBackend, Failed> {
    WgpuBackend::open_with(support::config()).map_err(support::failed)
}

fn keys(len: usize) -> Vec<u32> {
    let mut random = support::random(len as u64);
    (0..len).map(|_| random() as u32 >> 7).collect()
}
