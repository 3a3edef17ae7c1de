//! Long calls that share the memory for calls in flight.

use crate::support::spans::spans;
use crate::support::{config, ensure, failed, finished, polled};
use crate::{PORTION, keys, open};
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort, SortAsync};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::testing::{self, Knobs};
use std::time::Duration;

/// Opens a device on which only one call at a time gets memory.
fn narrow(patience: Duration) -> Result<WgpuBackend, Failed> {
    let mut config = config();
    (config.memory.in_flight, config.memory.patience) = (Some(1), patience);
    testing::open(config, Knobs { portion: Some(PORTION as u64), ..Knobs::default() }).map_err(failed)
}

fn sorts(backend: &WgpuBackend, len: usize, seed: u64) -> Result<(), Failed> {
    let (mut sorted, mut expected) = (keys(len, seed), keys(len, seed));
    backend.sort(&mut sorted).map_err(failed)?;
    expected.sort_unstable();
    ensure(sorted == expected, || format!("{len} keys of seed {seed}"))
}

pub(crate) fn side_by_side() -> Result<(), Failed> {
    let backend = narrow(Duration::from_secs(200))?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let backend = &backend;
                scope.spawn(move || match thread % 3 {
                    0 => (0..3).try_for_each(|seed| sorts(backend, 7 * PORTION + 1, seed)),
                    1 => sorts(backend, PORTION / 2, thread),
                    _ => {
                        let mut slice = keys(9 * PORTION, thread);
                        pollster::block_on(backend.sort_async(&mut slice, Options::ascending())).map_err(failed)?;
                        ensure(slice.is_sorted(), || "not sorted".into())
                    }
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

pub(crate) fn suspended() -> Result<(), Failed> {
    let backend = narrow(Duration::from_millis(100))?;
    sorts(&backend, 4 * PORTION, 1)?;
    let input = keys(9 * PORTION, 2);
    let mut slice = input.clone();
    let mut left = Box::pin(backend.sort_async(&mut slice, Options::ascending()));
    let ended = polled(left.as_mut(), 2);
    ensure(ended.is_none(), || "the call ended at its second poll".into())?;
    for len in [PORTION / 2, 4 * PORTION] {
        let mut other = keys(len, 3);
        let refused = backend.sort(&mut other);
        ensure(matches!(refused, Err(Error::OutOfMemory { .. })) && other == keys(len, 3), || format!("{len}: {refused:?}"))?;
    }
    finished(ended, left).map_err(failed)?;
    ensure(slice.is_sorted(), || "not sorted".into())?;
    sorts(&backend, 4 * PORTION, 3)
}

/// The selection from the selected keys of all portions takes the memory that the portions had.
pub(crate) fn selections() -> Result<(), Failed> {
    let backend = narrow(Duration::from_millis(100))?;
    let keys = keys(10 * PORTION, 1);
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by_key(|&index| std::cmp::Reverse(keys[index as usize]));
    let found = backend.top_k(&keys, 5).map_err(failed)?;
    ensure(found.indices == expected[..5], || format!("{:?}", found.indices))
}

pub(crate) fn returned() -> Result<(), Failed> {
    // The next call finds room at once, also after futures that were dropped.
    let backend = narrow(Duration::from_millis(1000))?;
    sorts(&backend, 5 * PORTION, 1)?;
    for polls in 1..12 {
        let mut slice = keys(5 * PORTION, 2);
        let mut left = Box::pin(backend.sort_async(&mut slice, Options::ascending()));
        drop(polled(left.as_mut(), polls));
        drop(left);
        sorts(&backend, 5 * PORTION, 3)?;
    }
    let wide = open(PORTION)?;
    sorts(&wide, 50 * PORTION, 1)?;
    wide.release().map_err(failed)?;
    let kept = wide.scratch_bytes().map_err(failed)?;
    ensure(kept == 0, || format!("{kept} bytes are kept"))
}

/// The portions of a call use the memory of earlier ones, also of a backend that keeps little memory between calls.
pub(crate) fn reused() -> Result<(), Failed> {
    let mut config = config();
    config.memory.kept = 0;
    let backend = testing::open(config, Knobs { portion: Some(PORTION as u64), ..Knobs::default() }).map_err(failed)?;
    sorts(&backend, 3 * PORTION, 1)?;
    let allocations = |portions: usize| {
        let (count, result) = spans("allocate", || sorts(&backend, portions * PORTION, 1));
        result.map(|()| count)
    };
    let (few, many) = (allocations(6)?, allocations(60)?);
    ensure(few > 0 && many <= few + few / 2, || format!("{few} buffers for 6 portions, {many} for 60"))
}
