//! Tests of blocking and async calls at the same time.

use crate::support::{ensure, failed, random};
use crate::{LONG, finished, keys, polled, rounds, sorts, sorts_async, warm};
use core::pin::pin;
use libtest_mimic::Failed;
use polysort_core::{Options, Sort};
use polysort_wgpu::{Ask, DeviceSorter, SortBuffer};

/// One thread suspends async calls and makes each kind of blocking call. Then it polls the async calls to their end.
pub(crate) fn on_one_thread() -> Result<(), Failed> {
    let backend = warm()?;
    for round in rounds() {
        let polls = 1 + round as usize % 6;
        let mut buffer = SortBuffer::from_slice(&backend, &keys(LONG, round)).map_err(failed)?;
        let mut other = SortBuffer::from_slice(&backend, &keys(LONG, !round)).map_err(failed)?;
        let mut sort = Box::pin(sorts_async(&backend, LONG, round));
        let input = keys(3_000_000, round);
        let mut copy = Box::pin(other.copy_from_slice_async(&input[..LONG]));
        let mut resident = Box::pin(backend.sort_buffer_async(&mut buffer, Options::ascending()));
        let pending = (polled(sort.as_mut(), polls), polled(copy.as_mut(), polls), polled(resident.as_mut(), polls));
        sorts(&backend, LONG, round + 1)?;
        sorts(&backend, 700, round + 2)?;
        backend.scratch_bytes().map_err(failed)?;
        backend.recounts().map_err(failed)?;
        backend.release().map_err(failed)?;
        let sorter = DeviceSorter::new(backend.device(), backend.queue()).map_err(failed)?;
        sorter.scratch_bytes::<u32>(0, 1000).map_err(failed)?;
        finished(pending.0, sort)?;
        finished(pending.1, copy).map_err(failed)?;
        finished(pending.2, resident).map_err(failed)?;
        ensure(buffer.read().map_err(failed)?.is_sorted(), || "the buffer is not sorted".into())?;
        ensure(*other.read().map_err(failed)? == input[..LONG], || "the copy has other elements".into())?;
    }
    Ok(())
}

/// Several threads make calls of random kinds and lengths.
pub(crate) fn on_several_threads() -> Result<(), Failed> {
    let backend = warm()?;
    let sorter = DeviceSorter::new(backend.device(), backend.queue()).map_err(failed)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (backend, sorter) = (backend.clone(), sorter.clone());
                scope.spawn(move || {
                    let mut random = random(thread);
                    for _ in rounds() {
                        let (choice, seed) = (random() % 6, random());
                        let len = [2, 700, 5000, LONG][random() as usize % 4];
                        match choice {
                            0 => sorts(&backend, len, seed)?,
                            1 => pollster::block_on(sorts_async(&backend, len, seed))?,
                            // Two calls at a time on one thread.
                            2 => {
                                let mut one = Box::pin(sorts_async(&backend, len, seed));
                                let begun = polled(one.as_mut(), 2);
                                pollster::block_on(sorts_async(&backend, 700, !seed))?;
                                finished(begun, one)?;
                            }
                            3 => {
                                let order = backend.argsort(&keys(len, seed)).map_err(failed)?;
                                let keys = keys(len, seed);
                                let sorted = order.windows(2).all(|pair| keys[pair[0] as usize] <= keys[pair[1] as usize]);
                                ensure(sorted, || "the indices are wrong".into())?;
                            }
                            4 => {
                                let buffer = SortBuffer::from_slice(&backend, &keys(len, seed)).map_err(failed)?;
                                sorter.prepare_sort::<u32>(buffer.raw(), Ask::up_to(len as u32)).map_err(failed)?;
                                ensure(*buffer.read().map_err(failed)? == keys(len, seed), || "it was written".into())?;
                            }
                            _ => backend.release().map_err(failed)?,
                        }
                    }
                    Ok::<(), Failed>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

/// Several threads read one buffer repeatedly. Some of their reads are dropped before they end.
pub(crate) fn readers() -> Result<(), Failed> {
    let backend = warm()?;
    let input = keys(5000, 9);
    let buffer = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let (buffer, input) = (&buffer, &input);
                scope.spawn(move || {
                    for round in rounds() {
                        if (round + thread) % 3 == 0 {
                            let polls = 1 + round as usize % 3;
                            if let Some(elements) = polled(pin!(buffer.read_async()), polls) {
                                ensure(*elements.map_err(failed)? == *input, || "the read elements are wrong".into())?;
                            }
                        } else {
                            let elements = buffer.read().map_err(failed)?;
                            ensure(*elements == *input, || "the read elements are wrong".into())?;
                        }
                    }
                    Ok::<(), Failed>(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    // After all readers, the buffer can be sorted.
    let mut buffer = buffer;
    backend.sort_buffer(&mut buffer, Options::ascending()).map_err(failed)?;
    ensure(buffer.read().map_err(failed)?.is_sorted(), || "not sorted".into())
}

/// Two threads use two buffers in opposite orders. For a third one, one buffer is keys and values of a call.
pub(crate) fn inputs() -> Result<(), Failed> {
    let backend = warm()?;
    let [a, b] = [1, 2].map(|seed| SortBuffer::from_slice(&backend, &keys(LONG, seed)));
    let (a, b) = (a.map_err(failed)?, b.map_err(failed)?);
    let sorts = |keys: &SortBuffer<u32>, values: &SortBuffer<u32>| -> Result<(), Failed> {
        let [sorted, moved] = [0, 1].map(|_| SortBuffer::with_capacity(&backend, LONG));
        let (mut sorted, mut moved) = (sorted.map_err(failed)?, moved.map_err(failed)?);
        for _ in rounds() {
            // At most four sorts are in the queue: a slow device would take minutes for the sorts that a thread submits in seconds.
            for _ in 0..4 {
                let into = (&mut sorted, &mut moved);
                backend.sort_pairs_buffer_into(keys, values, into, Options::ascending()).map_err(failed)?;
            }
            ensure(sorted.read().map_err(failed)?.is_sorted(), || "not sorted".into())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others = [(&b, &a), (&a, &a)].map(|(keys, values)| scope.spawn(|| sorts(keys, values)));
        sorts(&a, &b)?;
        others.into_iter().try_for_each(|other| other.join().map_err(|_| "a thread panicked")?)
    })
}

/// All handles of a backend are dropped while calls are in flight. The buffers keep the device open.
pub(crate) fn dropped_backend() -> Result<(), Failed> {
    for round in rounds() {
        let backend = warm()?;
        let mut buffer = SortBuffer::from_slice(&backend, &keys(LONG, round)).map_err(failed)?;
        let clone = backend.clone();
        let thread = std::thread::spawn(move || (0..3).try_for_each(|seed| sorts(&clone, LONG, seed)));
        drop(backend);
        buffer.copy_from_slice(&keys(700, round)).map_err(failed)?;
        ensure(*buffer.read().map_err(failed)? == keys(700, round), || "the copy has other elements".into())?;
        thread.join().map_err(|_| "a thread panicked")??;
    }
    Ok(())
}
