//! The ways to call, but for the blocking sorts of slices, which are the suite's: commands that are recorded, buffers that stay on the device,
//! calls that do not block.

mod buffers;
mod recording;
#[path = "../support/mod.rs"]
mod support;
mod twins;

use libtest_mimic::Failed;
use polysort_core::{Segments, Sort};
use polysort_wgpu::WgpuBackend;

fn main() {
    support::run("calls", |label| {
        let trial = |what: &str, run: fn() -> Result<(), Failed>| support::trial(label, what, run);
        vec![
            trial("recording: two counts in one encoder", recording::two_counts),
            trial("recording: a part of a buffer that starts anywhere, and a count on the device", recording::parts),
            trial("recording: the first keys, of as many as there are", recording::first_keys),
            trial("recording: buffers that cannot be sorted are refused", recording::refused),
            trial("recording: makes no object, submits nothing, takes no time", recording::makes_nothing),
            trial("buffers: sorted, with values, and by their indices", buffers::sorted),
            trial("buffers: read where they lie", buffers::read_in_place),
            trial("buffers: what does not fit is refused", buffers::refused),
            trial("segments: words that hold the segment too need not fit", segments_that_just_fit),
            trial("twins: the answers of the blocking calls", twins::same_answers),
            trial("twins: the caller's tasks go on", twins::go_on),
            trial("twins: a call that is given up touches nothing", twins::given_up),
        ]
    })
}

fn open() -> Result<WgpuBackend, Failed> {
    WgpuBackend::open_with(support::config()).map_err(support::failed)
}

fn keys(len: usize) -> Vec<u32> {
    let mut random = support::random(len as u64);
    (0..len).map(|_| random() as u32 >> 7).collect()
}

/// Keys that fill a binding, and half of it with each of them as wide again.
fn segments_that_just_fit() -> Result<(), Failed> {
    let mut config = support::config();
    config.max_binding = Some(1 << 16);
    let backend = WgpuBackend::open_with(config).map_err(support::failed)?;
    let unsorted = keys((1 << 16) / size_of::<u32>());
    let offsets = [0, 5, 5, 9000, unsorted.len()];
    let mut expected = unsorted.clone();
    offsets.windows(2).for_each(|ends| expected[ends[0]..ends[1]].sort_unstable());
    let mut sorted = unsorted.clone();
    backend.sort_segments(&mut sorted, Segments::Offsets(&offsets)).map_err(support::failed)?;
    let order = backend.argsort_segments(&unsorted, Segments::Offsets(&offsets)).map_err(support::failed)?;
    let gathered: Vec<u32> = order.iter().map(|&at| unsorted[at as usize]).collect();
    support::ensure(sorted == expected && gathered == expected, || "segments are not sorted".into())
}
