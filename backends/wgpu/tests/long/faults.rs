//! Long calls whose device fails, or whose future is dropped: their slices must be as before, or sorted.

use crate::support::{config, ensure, failed, polled};
use crate::{PORTION, keys, open};
use core::pin::pin;
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort, SortAsync};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::testing::{self, Fault, Knobs};

/// More submissions than any of these calls makes.
pub(crate) const MOST: u64 = 200;

/// Fails unless the slices are as before, or sorted.
pub(crate) fn whole(input: &[u32], keys: &[u32], values: &[u32], result: &Result<(), Error>) -> Result<(), Failed> {
    let mut order: Vec<u32> = (0..input.len() as u32).collect();
    let as_before = keys == input && values == order;
    order.sort_by_key(|&i| input[i as usize]);
    let sorted = values == order && keys.iter().zip(&order).all(|(&key, &i)| key == input[i as usize]);
    ensure(if result.is_ok() { sorted } else { as_before }, || format!("{result:?}: as before {as_before}, sorted {sorted}"))
}

/// Sorts pairs in place and into other slices. A submission fails.
pub(crate) fn pairs(backend: &WgpuBackend, input: &[u32], into: bool) -> Result<Result<(), Error>, Failed> {
    let (mut keys, mut values) = (input.to_vec(), (0..input.len() as u32).collect::<Vec<_>>());
    let result = if into {
        let (from_keys, from_values) = (keys.clone(), values.clone());
        backend.sort_pairs_into(&from_keys, &from_values, &mut keys, &mut values)
    } else {
        backend.sort_pairs(&mut keys, &mut values)
    };
    whole(input, &keys, &values, &result)?;
    Ok(result)
}

pub(crate) fn at_each_submission() -> Result<(), Failed> {
    let backend = open(PORTION)?;
    let input = keys(5 * PORTION + 3, 1);
    pairs(&backend, &input, false)?.map_err(failed)?;
    for into in [false, true] {
        let (mut refused, mut finished) = (0, 0);
        for submission in 0..MOST {
            testing::fail_after(&backend, submission, Fault::OutOfMemory);
            let result = pairs(&backend, &input, into)?;
            if testing::fail_no_more(&backend) {
                result.map_err(failed)?;
                break;
            }
            match result {
                Ok(()) => finished += 1,
                Err(Error::OutOfMemory { .. }) => refused += 1,
                Err(error) => return Err(failed(error)),
            }
            // The next call works.
            pairs(&backend, &input, into)?.map_err(failed)?;
        }
        println!("into {into}: {refused} calls failed, and the host finished {finished}");
        ensure(refused >= 6 && finished >= 3, || format!("{refused} calls failed, and {finished} were finished"))?;
    }
    // An argsort that fails leaves the keys alone, and the next one works. So do segments and selections.
    for submission in 0..MOST {
        testing::fail_after(&backend, submission, Fault::OutOfMemory);
        let (mut segmented, offsets) = (input.clone(), [0, 10, 3 * PORTION, input.len()]);
        let results = [
            backend.sort_segments(&mut segmented, &offsets).map_err(|error| error.to_string()),
            backend.argsort(&input).map(drop).map_err(|error| error.to_string()),
            backend.top_k(&input, 9).map(drop).map_err(|error| error.to_string()),
        ];
        let sorted = offsets.windows(2).all(|ends| segmented[ends[0]..ends[1]].is_sorted());
        ensure(if results[0].is_ok() { sorted } else { segmented == input }, || format!("segments: {results:?}"))?;
        if testing::fail_no_more(&backend) {
            return ensure(results.iter().all(Result::is_ok), || format!("{results:?}"));
        }
    }
    Err("the failure never came".into())
}

pub(crate) fn lost() -> Result<(), Failed> {
    let (mut refused, mut finished) = (0, 0);
    for submission in [0, 3, 9, 14, 16] {
        let backend = open(PORTION)?;
        let input = keys(8 * PORTION + 3, submission);
        pairs(&backend, &input, false)?.map_err(failed)?;
        testing::fail_after(&backend, submission, Fault::Lost);
        match pairs(&backend, &input, false)? {
            Ok(()) => finished += 1,
            Err(Error::DeviceLost { .. }) => refused += 1,
            Err(error) => return Err(failed(error)),
        }
        let next = pairs(&backend, &input, false)?;
        ensure(matches!(next, Err(Error::DeviceLost { .. })), || format!("the next call: {next:?}"))?;
    }
    ensure(refused > 0 && finished > 0, || format!("{refused} calls failed, and {finished} were finished"))
}

pub(crate) fn smaller_portions() -> Result<(), Failed> {
    let backend = open(100_000)?;
    let input = keys(230_000, 1);
    pairs(&backend, &input, false)?.map_err(failed)?;
    // Device memory for a quarter of a portion.
    testing::set_max_buffer(&backend, Some(150_000));
    backend.release().map_err(failed)?;
    pairs(&backend, &input, false)?.map_err(failed)?;
    pairs(&backend, &input, true)?.map_err(failed)?;
    let mut segmented = input.clone();
    let offsets = [0, 10, 30_000, 50_000, 75_000, 76_000, 220_000];
    backend.sort_segments(&mut segmented, &offsets).map_err(failed)?;
    ensure(offsets.windows(2).all(|ends| segmented[ends[0]..ends[1]].is_sorted()), || "segments are not sorted".into())?;
    let order = backend.argsort(&input).map_err(failed)?;
    ensure(order.windows(2).all(|pair| input[pair[0] as usize] <= input[pair[1] as usize]), || "an argsort is wrong".into())?;
    // Memory for no portion at all.
    testing::set_max_buffer(&backend, Some(1000));
    backend.release().map_err(failed)?;
    let refused = pairs(&backend, &input, false)?;
    ensure(matches!(refused, Err(Error::OutOfMemory { .. })), || format!("{refused:?}"))?;
    testing::set_max_buffer(&backend, None);
    pairs(&backend, &input, false)?.map_err(failed)
}

pub(crate) fn dropped() -> Result<(), Failed> {
    let backend = testing::open(config(), Knobs { portion: Some(PORTION as u64), ..Knobs::default() }).map_err(failed)?;
    let input = keys(5 * PORTION + 3, 1);
    let order: Vec<u32> = (0..input.len() as u32).collect();
    pairs(&backend, &input, false)?.map_err(failed)?;
    let (mut before, mut sorted) = (0, 0);
    for polls in 1..MOST as usize {
        let (mut keys, mut values) = (input.clone(), order.clone());
        let ended = polled(pin!(backend.sort_pairs_async(&mut keys, &mut values, Options::ascending())), polls);
        let is_before = keys == input && values == order;
        if let Some(result) = ended {
            result.map_err(failed)?;
            whole(&input, &keys, &values, &Ok(()))?;
            println!("dropped after up to {} polls: {before} as before, {sorted} sorted", polls - 1);
            return ensure(before > 0 && sorted > 0, || format!("{before} slices are as before, {sorted} sorted"));
        }
        if is_before {
            before += 1;
        } else {
            whole(&input, &keys, &values, &Ok(()))?;
            sorted += 1;
        }
    }
    Err("the call never ended".into())
}
