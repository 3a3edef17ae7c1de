//! The memory that calls in flight take, and the memory that is kept.

use crate::support::{config, ensure, failed};
use crate::{LONG, finished, keys, polled, sorts, warm};
use core::future::poll_fn;
use core::task::Poll;
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort};
use polysort_wgpu::wgpu::DeviceType;
use polysort_wgpu::{SortBuffer, WgpuBackend};
use std::time::{Duration, Instant};

/// A device whose calls in flight may take so little that each is alone.
fn narrow(patience: Duration) -> Result<WgpuBackend, Failed> {
    let mut config = config();
    (config.memory.in_flight, config.memory.patience) = (1, patience);
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
    ensure(ended.is_none(), || "it ended at once".into())?;
    // It holds all that calls in flight may take, and nobody polls it.
    let mut other = input.clone();
    let started = Instant::now();
    let refused = backend.sort(&mut other);
    ensure(matches!(refused, Err(Error::OutOfMemory { .. })) && other == input, || format!("{refused:?}"))?;
    ensure(started.elapsed() >= Duration::from_millis(100), || "it did not wait".into())?;
    let refused = pollster::block_on(backend.sort_async(&mut other, Options::ascending()));
    ensure(matches!(refused, Err(Error::OutOfMemory { .. })) && other == input, || format!("{refused:?}"))?;
    finished(ended, left).map_err(failed)?;
    ensure(slice.is_sorted(), || "not sorted".into())?;
    sorts(&backend, LONG, 3)
}

/// What a call submitted counts until the device has done it, also if the call has returned.
pub(crate) fn submitted() -> Result<(), Failed> {
    let backend = narrow(Duration::from_millis(1))?;
    sorts(&backend, LONG, 1)?;
    let mut buffer = SortBuffer::from_slice(&backend, &keys(1 << 22, 2)).map_err(failed)?;
    backend.sort_buffer(&mut buffer, Options::ascending()).map_err(failed)?;
    let mut other = keys(LONG, 3);
    let (started, refused) = (Instant::now(), backend.sort(&mut other));
    // A GPU may be done before the next call begins; the CPU takes much longer than a millisecond for so many keys.
    if backend.info().device_type == DeviceType::Cpu {
        ensure(matches!(refused, Err(Error::OutOfMemory { .. })), || format!("{refused:?} after {:?}", started.elapsed()))?;
    }
    ensure(buffer.read().map_err(failed)?.is_sorted(), || "not sorted".into())?;
    sorts(&backend, LONG, 4)
}

/// More calls wait for room than there are threads for waiting, and those in flight end all the same.
pub(crate) fn many_wait() -> Result<(), Failed> {
    let backend = narrow(Duration::from_secs(200))?;
    sorts(&backend, 700, 1)?;
    // The limit of the crate `blocking`, which waits for the device.
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
