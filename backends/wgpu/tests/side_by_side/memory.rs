//! Tests of the memory that calls in flight take, and of the memory that is kept.

use crate::support::{config, ensure, failed};
use crate::{LONG, finished, keys, polled, sorts, warm};
use core::future::poll_fn;
use core::task::Poll;
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort, SortAsync};
use polysort_vector::{Search, Shape, VectorError, VectorSearch, VectorStore};
use polysort_wgpu::wgpu::DeviceType;
use polysort_wgpu::{SortBuffer, WgpuBackend};
use std::time::{Duration, Instant};

/// A sort of so many keys takes more memory than many small ones, their chunks for uploads included.
const LARGE: usize = 1 << 22;

/// Opens a device on which only one call at a time gets memory.
fn narrow(patience: Duration) -> Result<WgpuBackend, Failed> {
    let mut config = config();
    (config.memory.in_flight, config.memory.patience) = (Some(1), patience);
    WgpuBackend::open_with(config).map_err(failed)
}

pub(crate) fn calls_wait_for_room() -> Result<(), Failed> {
    let backend = narrow(Duration::from_secs(200))?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let backend = &backend;
                scope.spawn(move || match thread % 2 {
                    0 => (0..3).try_for_each(|seed| sorts(backend, LONG, seed)),
                    _ => pollster::block_on(crate::sorts_async(backend, LONG, thread)),
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

pub(crate) fn left_alone() -> Result<(), Failed> {
    let backend = narrow(Duration::from_millis(100))?;
    sorts(&backend, LONG, 1)?;
    let input = keys(LONG, 2);
    let mut slice = input.clone();
    let mut left = Box::pin(backend.sort_async(&mut slice, Options::ascending()));
    let ended = polled(left.as_mut(), 1);
    ensure(ended.is_none(), || "the call ended at its first poll".into())?;
    // The suspended call has all memory of calls in flight.
    let mut other = input.clone();
    let started = Instant::now();
    let refused = backend.sort(&mut other);
    ensure(matches!(refused, Err(Error::OutOfMemory { .. })) && other == input, || format!("{refused:?}"))?;
    ensure(started.elapsed() >= Duration::from_millis(100), || "the call did not wait".into())?;
    let refused = pollster::block_on(backend.sort_async(&mut other, Options::ascending()));
    ensure(matches!(refused, Err(Error::OutOfMemory { .. })) && other == input, || format!("{refused:?}"))?;
    finished(ended, left).map_err(failed)?;
    ensure(slice.is_sorted(), || "not sorted".into())?;
    sorts(&backend, LONG, 3)
}

/// The memory of a call counts until the device has done its commands, also if the call has returned.
pub(crate) fn submitted() -> Result<(), Failed> {
    let backend = narrow(Duration::from_millis(1))?;
    sorts(&backend, LONG, 1)?;
    let mut buffer = SortBuffer::from_slice(&backend, &keys(1 << 22, 2)).map_err(failed)?;
    backend.sort_buffer(&mut buffer, Options::ascending()).map_err(failed)?;
    let mut other = keys(LONG, 3);
    let (started, refused) = (Instant::now(), backend.sort(&mut other));
    // A GPU may be done before the next call begins. A software device takes much longer than a millisecond for these keys.
    if backend.info().device_type == DeviceType::Cpu {
        ensure(matches!(refused, Err(Error::OutOfMemory { .. })), || format!("{refused:?} after {:?}", started.elapsed()))?;
    }
    ensure(buffer.read().map_err(failed)?.is_sorted(), || "not sorted".into())?;
    sorts(&backend, LONG, 4)
}

/// More calls wait for room than there are threads that wait for the device. The calls in flight must end nevertheless.
pub(crate) fn many_wait() -> Result<(), Failed> {
    let backend = narrow(Duration::from_secs(200))?;
    sorts(&backend, 700, 1)?;
    // The most threads of the crate `blocking`, in which async calls wait for the device.
    const THREADS: u64 = 500;
    let mut calls: Vec<_> = (0..THREADS + 20).map(|seed| Box::pin(crate::sorts_async(&backend, 700, seed))).collect();
    let mut results = vec![];
    pollster::block_on(poll_fn(|context| {
        calls.retain_mut(|call| match call.as_mut().poll(context) {
            Poll::Ready(result) => {
                results.push(result);
                false
            }
            Poll::Pending => true,
        });
        if calls.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }));
    ensure(results.len() as u64 == THREADS + 20, || format!("{} calls ended", results.len()))?;
    results.into_iter().collect()
}

pub(crate) fn kept() -> Result<(), Failed> {
    let backend = warm()?;
    backend.release().map_err(failed)?;
    sorts(&backend, 1 << 20, 1)?;
    let large = backend.scratch_bytes().map_err(failed)?;
    ensure(large >= 8 << 20, || format!("{large} bytes are kept of a sort of 2^20 keys"))?;
    for seed in 0..32 {
        sorts(&backend, 700, seed)?;
    }
    let small = backend.scratch_bytes().map_err(failed)?;
    ensure(small < large / 4, || format!("{small} bytes are kept of {large}, after small sorts alone"))
}

/// A download takes the staging memory of the one before it.
pub(crate) fn downloads_share() -> Result<(), Failed> {
    let backend = warm()?;
    backend.release().map_err(failed)?;
    // Its chunk is larger than what any call may leave unused.
    let input = keys(12 << 20, 1);
    let buffer = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
    let mut copy = vec![0; input.len()];
    let mut kept = vec![];
    for _ in 0..3 {
        buffer.copy_to_slice(&mut copy).map_err(failed)?;
        kept.push(backend.scratch_bytes().map_err(failed)?);
    }
    ensure(copy == input, || "other elements".into())?;
    ensure(kept[0] > 0 && kept.iter().all(|&bytes| bytes == kept[0]), || format!("{kept:?} bytes are kept"))
}

/// An upload that finds no room changes nothing: the elements of a buffer, the vectors of a store and its entries stay.
pub(crate) fn failed_uploads() -> Result<(), Failed> {
    let backend = narrow(Duration::from_millis(50))?;
    let (old, new) = (keys(LONG, 1), keys(LONG - 1, 2));
    let mut buffer = SortBuffer::from_slice(&backend, &old).map_err(failed)?;
    let mut store = backend.vector_store(Shape::new(2, 3)).map_err(failed)?;
    store.write(0, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).map_err(failed)?;
    store.set_entries(&[2, 0]).map_err(failed)?;
    // Waits for the device, which then has no call in flight.
    sorts(&backend, LONG, 4)?;
    // A suspended call has all memory of calls in flight.
    let mut slice = keys(LONG, 3);
    let mut left = Box::pin(backend.sort_async(&mut slice, Options::ascending()));
    let ended = polled(left.as_mut(), 1);
    ensure(ended.is_none(), || "the call ended at its first poll".into())?;
    let refused =
        [buffer.copy_from_slice(&new).map_err(VectorError::from), store.write(1, &[9.0; 4]), store.set_entries(&[1; 3])];
    let is_refused = |outcome: &Result<(), VectorError>| matches!(outcome, Err(VectorError::General(Error::OutOfMemory { .. })));
    ensure(refused.iter().all(is_refused), || format!("{refused:?}"))?;
    finished(ended, left).map_err(failed)?;
    ensure(*buffer.read().map_err(failed)? == *old, || "the buffer has other elements".into())?;
    ensure(store.entries() == 2, || format!("{} entries", store.entries()))?;
    let found = backend.distances(&store, &Search::new(&[0.0, 0.0], &[0, 1], &[0, 2])).map_err(failed)?;
    ensure((&*found.slots, &*found.distances) == (&[2, 0], &[41.0, 1.0]), || format!("{found:?}"))?;
    buffer.copy_from_slice(&new).map_err(failed)?;
    ensure(*buffer.read().map_err(failed)? == *new, || "the buffer has other elements".into())
}

/// Small calls do not take the memory of a large one: it would leave no room for others.
pub(crate) fn small_beside_large() -> Result<(), Failed> {
    let small_bytes = |backend: &WgpuBackend| {
        sorts(backend, 700, 1)?;
        backend.scratch_bytes().map_err(failed)
    };
    let warm = warm()?;
    warm.release().map_err(failed)?;
    let small = small_bytes(&warm)?;
    // Room for eight small calls, and not for the memory of the large one.
    let mut config = config();
    (config.memory.in_flight, config.memory.patience) = (Some(8 * small), Duration::from_millis(100));
    let backend = WgpuBackend::open_with(config).map_err(failed)?;
    small_bytes(&backend)?;
    sorts(&backend, LARGE, 2)?;
    let kept = backend.scratch_bytes().map_err(failed)?;
    ensure(kept > 8 * small, || format!("{kept} bytes are kept of a sort of {LARGE} keys, and {small} of a small one"))?;
    let mut slices: Vec<Vec<u32>> = (0..6).map(|seed| keys(700, seed)).collect();
    let calls = slices.iter_mut().map(|slice| Box::pin(backend.sort_async(slice, Options::ascending())));
    let mut calls: Vec<_> = calls.map(|mut call| (polled(call.as_mut(), 1), call)).collect();
    // All are in flight before the first one ends.
    while let Some((ended, call)) = calls.pop() {
        finished(ended, call).map_err(failed)?;
    }
    drop(calls);
    ensure(slices.iter().all(|slice| slice.is_sorted()), || "not sorted".into())
}
