//! Long sorts in the memory of the device. Bindings of 64 KiB make a few thousand keys a long sort, and the pieces of its result small.

use crate::faults::{MOST, pairs, whole};
use crate::keys;
use crate::oracle::Case;
use crate::support::spans::spans;
use crate::support::{config, ensure, failed, polled};
use core::pin::pin;
use libtest_mimic::Failed;
use polysort_core::{Error, Options, SortAsync};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::testing::{self, Fault, Knobs};

/// Bytes of a binding, and of a piece.
const BINDING: u64 = 1 << 16;

/// The keys of a long sort, which has several pieces: 4 of keys, and 4 of values.
const LEN: usize = 60_001;

fn open(in_flight: u64) -> Result<WgpuBackend, Failed> {
    let mut config = config();
    config.memory.in_flight = Some(in_flight);
    testing::open(config, Knobs { max_binding: Some(BINDING), ..Knobs::default() }).map_err(failed)
}

/// Whether `work` makes two trips to the device: then the host cuts sorted runs.
fn makes_two_trips(work: impl FnOnce() -> Result<(), Failed>) -> Result<bool, Failed> {
    let (cuts, result) = spans("cut", work);
    result.map(|()| cuts > 0)
}

pub(crate) fn sorted() -> Result<(), Failed> {
    let backend = open(1 << 30)?;
    for len in [(1 << 14) - 1, 1 << 14, (1 << 14) + 1, 100_000] {
        let two = makes_two_trips(|| {
            let case = Case::<u32>::new(len, 5);
            case.sort(&backend, Options::ascending())?;
            case.argsort(&backend, Options::descending().bits(3..20))?;
            case.sort_pairs::<u128>(&backend, Options::descending())?;
            Case::<u64>::new(len, 6).sort_pairs::<u64>(&backend, Options::ascending())?;
            Case::<u128>::new(len, 7).sort(&backend, Options::ascending())
        })?;
        ensure(!two, || format!("{len} keys make two trips"))?;
    }
    Ok(())
}

/// Arrays that are longer than a buffer lie in several.
pub(crate) fn in_pages() -> Result<(), Failed> {
    let knobs = Knobs { max_binding: Some(BINDING), max_buffer: Some(40 << 10), ..Knobs::default() };
    let backend = testing::open(config(), knobs).map_err(failed)?;
    for len in [(1 << 14) + 1, 5 << 13, 100_000] {
        let two = makes_two_trips(|| {
            let case = Case::<u32>::new(len, 5);
            case.sort(&backend, Options::ascending())?;
            case.argsort(&backend, Options::descending().bits(3..20))?;
            case.sort_pairs::<u128>(&backend, Options::descending())?;
            Case::<u128>::new(len, 7).sort(&backend, Options::ascending())
        })?;
        ensure(!two, || format!("{len} keys make two trips"))?;
    }
    Ok(())
}

/// Calls may not take memory for twice the data, or the device has less: the sort makes two trips.
pub(crate) fn little_memory() -> Result<(), Failed> {
    let input = keys(LEN, 1);
    let sorts = |backend: &WgpuBackend| {
        makes_two_trips(|| [false, true].into_iter().try_for_each(|into| pairs(backend, &input, into)?.map_err(failed)))
    };
    ensure(sorts(&open(1 << 20)?)?, || "the sort takes more memory than it may".into())?;
    let backend = open(1 << 30)?;
    ensure(!sorts(&backend)?, || "there is memory, and the sort makes two trips".into())?;
    testing::set_max_buffer(&backend, Some(3 * LEN as u64));
    backend.release().map_err(failed)?;
    ensure(sorts(&backend)?, || "the sort takes more memory than there is".into())?;
    // The device is not asked again for memory that it does not have.
    testing::set_max_buffer(&backend, None);
    ensure(sorts(&backend)?, || "the sort asks again".into())
}

pub(crate) fn at_each_submission() -> Result<(), Failed> {
    let (backend, input) = (open(1 << 30)?, keys(LEN, 2));
    // Afterwards, no self-test makes submissions.
    pairs(&backend, &input, false)?.map_err(failed)?;
    for into in [false, true] {
        for submission in 0..MOST {
            testing::fail_after(&backend, submission, Fault::OutOfMemory);
            let result = pairs(&backend, &input, into)?;
            if testing::fail_no_more(&backend) {
                result.map_err(failed)?;
                ensure(submission >= 8, || format!("{submission} submissions of eight pieces"))?;
                break;
            }
            // A sort that lacks memory makes two trips. Its slices have not changed before.
            result.map_err(failed)?;
            pairs(&backend, &input, into)?.map_err(failed)?;
        }
    }
    Ok(())
}

pub(crate) fn lost() -> Result<(), Failed> {
    for submission in [0, 2, 5] {
        let (backend, input) = (open(1 << 30)?, keys(LEN, submission));
        pairs(&backend, &input, false)?.map_err(failed)?;
        for into in [true, false] {
            testing::fail_after(&backend, submission, Fault::Lost);
            let result = pairs(&backend, &input, into)?;
            ensure(matches!(result, Err(Error::DeviceLost { .. })), || format!("at submission {submission}: {result:?}"))?;
        }
    }
    Ok(())
}

pub(crate) fn dropped() -> Result<(), Failed> {
    let (backend, input) = (open(1 << 30)?, keys(LEN, 3));
    let order: Vec<u32> = (0..input.len() as u32).collect();
    pairs(&backend, &input, false)?.map_err(failed)?;
    for polls in 1..MOST as usize {
        let (mut keys, mut values) = (input.clone(), order.clone());
        let ended = polled(pin!(backend.sort_pairs_async(&mut keys, &mut values, Options::ascending())), polls);
        if let Some(result) = ended {
            whole(&input, &keys, &values, &result)?;
            return ensure(polls > 1, || format!("it ended at poll {polls}"));
        }
        ensure(keys == input && values == order, || format!("dropped after {polls} polls, a slice has changed"))?;
    }
    Err("the call never ended".into())
}
