//! Tests of devices that are lost while calls are in flight.

use crate::support::{ensure, failed};
use crate::{LONG, finished, keys, open, polled, warm};
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort, SortAsync};
use polysort_wgpu::{Ask, DeviceSorter, SortBuffer};
use std::sync::atomic::{AtomicBool, Ordering};

/// Loses a device with several blocking and async calls in flight. Each call must return an error of its own, or sort; its slice is as it was
/// or sorted.
pub(crate) fn several_in_flight() -> Result<(), Failed> {
    for delay in 0..6 {
        let backend = warm()?;
        let destroyed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let (backend, destroyed) = (&backend, &destroyed);
                    scope.spawn(move || {
                        let input = keys(LONG, thread);
                        loop {
                            let was_destroyed = destroyed.load(Ordering::SeqCst);
                            let mut slice = input.clone();
                            let result = match thread % 2 {
                                0 => backend.sort(&mut slice),
                                _ => pollster::block_on(backend.sort_async(&mut slice, Options::ascending())),
                            };
                            match result {
                                Ok(()) if slice.is_sorted() && !was_destroyed => {}
                                Err(Error::DeviceLost { .. }) if slice == input => return Ok(()),
                                result => return Err(format!("{result:?}, sorted: {}", slice.is_sorted())),
                            }
                        }
                    })
                })
                .collect();
            std::thread::sleep(std::time::Duration::from_millis(20 + 7 * delay));
            backend.device().destroy();
            destroyed.store(true, Ordering::SeqCst);
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
        })?;
        // A call that is suspended when the device is lost.
        let backend = warm()?;
        let mut slice = keys(LONG, 1);
        let mut sort = Box::pin(backend.sort_async(&mut slice, Options::ascending()));
        let begun = polled(sort.as_mut(), 1 + delay as usize % 3);
        backend.device().destroy();
        let result = finished(begun, sort);
        let lost = matches!(result, Err(Error::DeviceLost { .. })) && slice == keys(LONG, 1);
        ensure(lost || result.is_ok() && slice.is_sorted(), || format!("{result:?}"))?;
    }
    Ok(())
}

/// A `DeviceSorter` has no callback on the caller's device. It must report the loss nevertheless.
pub(crate) fn callers_device() -> Result<(), Failed> {
    let backend = open()?;
    let sorter = DeviceSorter::new(backend.device(), backend.queue()).map_err(failed)?;
    let buffer = SortBuffer::from_slice(&backend, &keys(5000, 2)).map_err(failed)?;
    let untested = DeviceSorter::new(backend.device(), backend.queue()).map_err(failed)?;
    sorter.prepare_sort::<u32>(buffer.raw(), Ask::up_to(5000)).map_err(failed)?;
    backend.device().destroy();
    for sorter in [sorter, untested] {
        let prepared = sorter.prepare_sort::<u32>(buffer.raw(), Ask::up_to(5000));
        ensure(matches!(prepared, Err(Error::DeviceLost { .. })), || format!("{:?}", prepared.err()))?;
        let prepared = pollster::block_on(sorter.prepare_argsort_async::<u32>(buffer.raw(), buffer.raw(), Ask::up_to(10)));
        ensure(prepared.is_err(), || "keys and indices in one buffer are not refused".into())?;
    }
    let opened = DeviceSorter::new(backend.device(), backend.queue());
    ensure(matches!(opened, Err(Error::DeviceLost { .. })), || format!("{:?}", opened.err()))
}
