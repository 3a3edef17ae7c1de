//! The ways to call, but for the blocking sorts of slices, which are the suite's: commands that are recorded, buffers that stay on the device,
//! calls that do not block.

mod buffers;
mod masks;
mod recording;
mod segments;
#[path = "../support/mod.rs"]
mod support;
mod futures;

use libtest_mimic::Failed;
use polysort_wgpu::WgpuBackend;

fn main() {
    support::run("calls", |label| {
        let trial = |what: &str, run: fn() -> Result<(), Failed>| support::trial(label, what, run);
        vec![
            trial("recording: two counts in one encoder", recording::two_counts),
            trial("recording: a part of a buffer that starts anywhere, and a count on the device", recording::parts),
            trial("recording: the first keys, of as many as there are", recording::first_keys),
            trial("recording: the first keys, to the buffer that they are in", recording::first_keys_in_one_buffer),
            trial("recording: segments that are told on the device", segments::told_on_the_device),
            trial("recording: segments that cannot be harm nothing", segments::that_cannot_be),
            trial("recording: passes of another shape", recording::tuned),
            trial("recording: by the algorithm that was planned", recording::planned),
            trial("recording: buffers that cannot be sorted are refused", recording::refused),
            trial("recording: makes no object, submits nothing", recording::makes_nothing),
            trial("buffers: sorted, with values, and by their indices", buffers::sorted),
            trial("buffers: sorted elsewhere", buffers::sorted_elsewhere),
            trial("buffers: read where they lie", buffers::read_in_place),
            trial("buffers: what does not fit is refused", buffers::refused),
            trial("buffers: elements that are never dropped", buffers::forgotten),
            trial("buffers: absurd lengths", buffers::absurd_lengths),
            trial("masks: a key without an in-place view", masks::without_a_view),
            trial("segments: keys that fill a binding", segments::that_just_fit),
            trial("futures: the answers of the blocking calls", futures::same_answers),
            trial("futures: the caller's tasks go on", futures::go_on),
            trial("futures: a call that is given up touches nothing", futures::given_up),
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
