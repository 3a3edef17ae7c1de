//! Tests of futures that are dropped after each of their polls: their outputs must be as before, or changed as a whole.

use crate::support::{ensure, failed};
use crate::{LONG, keys, open, polled, sorts, warm};
use core::fmt::Display;
use core::pin::pin;
use libtest_mimic::Failed;
use polysort_core::{Error, Options, SortAsync};
use polysort_vector::{Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_wgpu::testing::{self, Knobs};
use polysort_wgpu::{SortBuffer, WgpuBackend};

/// More polls than any of these calls needs.
const MOST_POLLS: usize = 8;

/// Calls `once` with 1, 2, 3, … polls, while the device also runs another sort. `once` returns whether its call ended. A call may end at its
/// first poll, if the device is done before.
fn at_every_poll(backend: &WgpuBackend, what: &str, mut once: impl FnMut(usize) -> Result<bool, Failed>) -> Result<(), Failed> {
    let mut other = SortBuffer::from_slice(backend, &keys(1 << 14, 77)).map_err(failed)?;
    let mut dropped = 0;
    for polls in 1..=MOST_POLLS {
        // These calls do not wait for the device.
        backend.sort_buffer(&mut other, Options::descending()).map_err(failed)?;
        backend.sort_buffer(&mut other, Options::ascending()).map_err(failed)?;
        if !once(polls)? {
            dropped = polls;
        }
    }
    println!("{what}: dropped after up to {dropped} polls");
    ensure(dropped < MOST_POLLS, || format!("{what} did not end within {MOST_POLLS} polls"))
}

/// Returns whether a call ended; an error of the call is a failure.
fn ended<T>(result: Option<Result<T, impl Display>>) -> Result<bool, Failed> {
    result.map_or(Ok(false), |result| result.map(|_| true).map_err(failed))
}

pub(crate) fn slices() -> Result<(), Failed> {
    let backend = warm()?;
    let options = Options::ascending();
    // The longest slice has several chunks.
    for len in [700, LONG, 3_000_000] {
        let input = keys(len, 3);
        let whole = |slice: &[u32]| ensure(*slice == *input || slice.is_sorted(), || "the slice is half sorted".into());
        at_every_poll(&backend, &format!("a sort of {len}"), |polls| {
            let mut slice = input.clone();
            let ended = ended(polled(pin!(backend.sort_async(&mut slice, options)), polls))?;
            whole(&slice)?;
            ensure(!ended || slice.is_sorted(), || "not sorted".into())?;
            Ok(ended)
        })?;
    }
    let input = keys(LONG, 3);
    at_every_poll(&backend, "a sort of pairs", |polls| {
        let (mut slice, mut values) = (input.clone(), input.clone());
        let ended = ended(polled(pin!(backend.sort_pairs_async(&mut slice, &mut values, options)), polls))?;
        ensure(slice == values && (slice == input || slice.is_sorted()), || "keys and values are half sorted".into())?;
        Ok(ended)
    })?;
    at_every_poll(&backend, "an argsort", |polls| ended(polled(pin!(backend.argsort_async(&input, options)), polls)))?;
    at_every_poll(&backend, "a selection", |polls| ended(polled(pin!(backend.top_k_async(&input, 10, options)), polls)))?;
    at_every_poll(&backend, "a sort of segments", |polls| {
        let mut slice = input.clone();
        let offsets = [0, 10, LONG / 2, LONG];
        let ended = ended(polled(pin!(backend.sort_segments_async(&mut slice, &offsets, options)), polls))?;
        let sorted = offsets.windows(2).all(|pair| slice[pair[0]..pair[1]].is_sorted());
        ensure(slice == input || sorted, || "segments are half sorted".into())?;
        Ok(ended)
    })?;
    // On a new device, the first call is dropped during the self-test of its kernels.
    let backend = open()?;
    at_every_poll(&backend, "the first sort on a device", |polls| {
        let mut slice = input.clone();
        let ended = ended(polled(pin!(backend.sort_async(&mut slice, options)), polls))?;
        ensure(slice == input || slice.is_sorted(), || "the slice is half sorted".into())?;
        Ok(ended)
    })?;
    sorts(&backend, LONG, 8)
}

pub(crate) fn buffers() -> Result<(), Failed> {
    let backend = warm()?;
    let options = Options::ascending();
    let (before, after) = (keys(500, 1), keys(3_000_000, 2));
    at_every_poll(&backend, "a copy to a buffer", |polls| {
        let mut buffer = SortBuffer::with_capacity(&backend, after.len()).map_err(failed)?;
        buffer.copy_from_slice(&before).map_err(failed)?;
        let ended = ended(polled(pin!(buffer.copy_from_slice_async(&after)), polls))?;
        let expected = if ended { &after } else { &before };
        ensure(buffer.len() == expected.len(), || format!("{} elements after {polls} polls", buffer.len()))?;
        ensure(*buffer.read().map_err(failed)? == **expected, || format!("other elements after {polls} polls"))?;
        Ok(ended)
    })?;
    at_every_poll(&backend, "an argsort of a buffer", |polls| {
        let buffer = SortBuffer::from_slice(&backend, &after[..LONG]).map_err(failed)?;
        let mut indices = SortBuffer::with_capacity(&backend, LONG).map_err(failed)?;
        indices.copy_from_slice(&before).map_err(failed)?;
        let ended = ended(polled(pin!(backend.argsort_buffer_async(&buffer, &mut indices, options)), polls))?;
        let expected = if ended { LONG } else { before.len() };
        ensure(indices.len() == expected, || format!("{} indices after {polls} polls", indices.len()))?;
        if !ended {
            ensure(*indices.read().map_err(failed)? == *before, || format!("other indices after {polls} polls"))?;
        }
        Ok(ended)
    })?;
    // A call that fails does not change the length of its output.
    let buffer = SortBuffer::from_slice(&backend, &after[..LONG]).map_err(failed)?;
    let mut indices = SortBuffer::with_capacity(&backend, LONG).map_err(failed)?;
    let elements = buffer.read().map_err(failed)?;
    // If readers map the buffer, a call that uses it on the device is an error.
    if matches!(backend.argsort_buffer(&buffer, &mut indices, options), Err(Error::InvalidBuffer { .. })) {
        ensure(indices.is_empty(), || format!("{} indices of a call that failed", indices.len()))?;
    }
    drop(elements);
    at_every_poll(&backend, "a sort of a buffer", |polls| {
        let mut buffer = SortBuffer::from_slice(&backend, &after[..LONG]).map_err(failed)?;
        let ended = ended(polled(pin!(backend.sort_buffer_async(&mut buffer, options)), polls))?;
        let elements = buffer.read().map_err(failed)?;
        ensure(*elements == after[..LONG] || elements.is_sorted(), || "the buffer is half sorted".into())?;
        Ok(ended)
    })?;
    at_every_poll(&backend, "a read", |polls| {
        let ended = ended(polled(pin!(buffer.read_async()), polls))?;
        ensure(*buffer.read().map_err(failed)? == after[..LONG], || "the buffer has other elements".into())?;
        Ok(ended)
    })
}

pub(crate) fn stores() -> Result<(), Failed> {
    let backend = warm()?;
    let knobs = Knobs { max_binding: Some(1 << 16), ..Knobs::default() };
    let paged = testing::open(crate::support::config(), knobs).map_err(failed)?;
    let (dimension, capacity) = (70, 3000);
    let number = |seed: usize| move |i: usize| ((i * 7 + seed) % 13) as f32;
    let (zeros, ones) = (vec![0.0; dimension * capacity], vec![1.0_f32; dimension * capacity]);
    let queries: Vec<f32> = (0..dimension).map(number(3)).collect();
    let (few, many): (Vec<u32>, Vec<u32>) = (vec![7, 3], (0..capacity as u32).rev().collect());
    for backend in [&backend, &paged] {
        for precision in [Precision::F32, Precision::F16] {
            let shape = Shape::new(dimension, capacity).precision(precision);
            at_every_poll(backend, "vectors of a store", |polls| {
                let mut store = backend.vector_store(shape).map_err(failed)?;
                store.write(0, &zeros).map_err(failed)?;
                store.set_entries(&many).map_err(failed)?;
                let ended = ended(polled(pin!(store.write_async(0, &ones)), polls))?;
                let all: Vec<u32> = (0..capacity as u32).collect();
                let found = backend.distances(&store, &Search::new(&queries, &all, &[0, capacity as u32])).map_err(failed)?;
                let same = found.distances.iter().all(|&distance| distance == found.distances[0]);
                ensure(same, || format!("half of the vectors are new after {polls} polls"))?;
                Ok(ended)
            })?;
        }
    }
    at_every_poll(&backend, "entries of a store", |polls| {
        let mut store = backend.vector_store(Shape::new(dimension, capacity)).map_err(failed)?;
        store.write(0, &zeros).map_err(failed)?;
        store.set_entries(&few).map_err(failed)?;
        let ended = ended(polled(pin!(store.set_entries_async(&many)), polls))?;
        let expected = if ended { &many } else { &few };
        ensure(store.entries() == expected.len(), || format!("{} entries after {polls} polls", store.entries()))?;
        let all: Vec<u32> = (0..expected.len() as u32).collect();
        let offsets = [0, expected.len() as u32];
        let found = backend.distances(&store, &Search::new(&queries, &all, &offsets)).map_err(failed)?;
        ensure(found.slots == *expected, || format!("other entries after {polls} polls"))?;
        Ok(ended)
    })
}

/// A panic drops the future of a call. The next calls must get the memory that it took.
pub(crate) fn by_a_panic() -> Result<(), Failed> {
    let backend = warm()?;
    let input = keys(LONG, 5);
    for polls in 1..6 {
        let thread = {
            let (backend, mut slice) = (backend.clone(), input.clone());
            std::thread::spawn(move || {
                let mut sort = pin!(backend.sort_async(&mut slice, Options::ascending()));
                polled(sort.as_mut(), polls);
                panic!("a panic of the caller's, with a call in flight");
            })
        };
        ensure(thread.join().is_err(), || "it did not panic".into())?;
        sorts(&backend, LONG, polls as u64)?;
    }
    // A panic in the caller's closure.
    let mut buffer = SortBuffer::<u32>::with_capacity(&backend, 10).map_err(failed)?;
    let panicked =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| buffer.write_with(3, |_| panic!("in the caller's closure"))));
    ensure(panicked.is_err() && buffer.is_empty(), || "the buffer was written".into())?;
    sorts(&backend, LONG, 9)
}
