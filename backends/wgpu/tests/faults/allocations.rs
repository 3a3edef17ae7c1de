//! Allocations of device memory that fail, each in turn: the call is an error that loses nothing, or it finds another way, and the next call works.

use crate::support::{config, ensure, failed};
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort};
use polysort_wgpu::testing;
use polysort_wgpu::{Ask, Count, DeviceSorter, SortBuffer, WgpuBackend};

/// A call. It fails if the result is wrong, or if an error changed what the caller has.
type Call = fn(&WgpuBackend, &[u32]) -> Result<Result<(), Error>, Failed>;

const CALLS: [(&str, Call); 7] = [
    ("sort_pairs", sort_pairs),
    ("argsort", argsort),
    ("sort_segments", sort_segments),
    ("top_k", top_k),
    ("runs", runs),
    ("SortBuffer", sort_buffer),
    ("DeviceSorter", device_sorter),
];

pub(crate) fn each() -> Result<(), Failed> {
    let backend = WgpuBackend::open_with(config()).map_err(failed)?;
    let keys: Vec<u32> = (0..20_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 9).collect();
    for (what, call) in CALLS {
        call(&backend, &keys)?.map_err(failed)?;
        for allocation in 0.. {
            // Without memory that earlier calls left, the call allocates all that it uses.
            backend.release().map_err(failed)?;
            testing::fail_allocation(&backend, allocation);
            let result = call(&backend, &keys).map_err(|failure| format!("{what}, allocation {allocation}: {failure:?}"))?;
            if testing::fail_no_more(&backend) {
                result.map_err(failed)?;
                println!("{what}: {allocation} allocations");
                ensure(allocation > 0, || format!("{what} allocates nothing"))?;
                break;
            }
            let is_right = matches!(result, Ok(()) | Err(Error::OutOfMemory { .. }));
            ensure(is_right, || format!("{what}, allocation {allocation}: {result:?}"))?;
            call(&backend, &keys)?.map_err(failed)?;
        }
    }
    Ok(())
}

/// Returns the result of a call that must have sorted, or left everything as it was.
fn whole(result: Result<(), Error>, is_sorted: bool, is_as_before: bool) -> Result<Result<(), Error>, Failed> {
    let holds = if result.is_ok() { is_sorted } else { is_as_before };
    ensure(holds, || format!("{result:?}, sorted: {is_sorted}, as before: {is_as_before}"))?;
    Ok(result)
}

/// The stable order of keys.
fn order_of(keys: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|&at| keys[at as usize]);
    order
}

fn sorted(keys: &[u32]) -> Vec<u32> {
    let mut sorted = keys.to_vec();
    sorted.sort_unstable();
    sorted
}

fn sort_pairs(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let before: Vec<u32> = (0..input.len() as u32).collect();
    let (mut keys, mut values) = (input.to_vec(), before.clone());
    let result = backend.sort_pairs(&mut keys, &mut values);
    whole(result, keys == sorted(input) && values == order_of(input), keys == input && values == before)
}

fn argsort(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let result = backend.argsort(input);
    let is_sorted = result.as_ref().is_ok_and(|order| *order == order_of(input));
    whole(result.map(drop), is_sorted, true)
}

fn sort_segments(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let offsets = [0, 7, 3000, input.len()];
    let (mut keys, mut expected) = (input.to_vec(), input.to_vec());
    offsets.windows(2).for_each(|ends| expected[ends[0]..ends[1]].sort_unstable());
    let result = backend.sort_segments(&mut keys, &offsets);
    whole(result, keys == expected, keys == input)
}

fn top_k(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let result = backend.bottom_k(input, 100);
    let is_sorted = result.as_ref().is_ok_and(|first| first.indices == order_of(input)[..100]);
    whole(result.map(drop), is_sorted, true)
}

fn runs(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let result = backend.runs(input);
    let begins = (1..input.len()).filter(|&at| input[at - 1] != input[at]);
    let is_right =
        result.as_ref().is_ok_and(|runs| runs.offsets.iter().copied().eq([0].into_iter().chain(begins).chain([input.len()])));
    whole(result.map(drop), is_right, true)
}

fn sort_buffer(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let mut buffer = match SortBuffer::from_slice(backend, input) {
        Ok(buffer) => buffer,
        Err(error) => return Ok(Err(error)),
    };
    let result = backend.sort_buffer(&mut buffer, Options::ascending());
    match buffer.read() {
        Ok(keys) => whole(result, *keys == *sorted(input), *keys == *input),
        Err(error) => Ok(Err(error)),
    }
}

fn device_sorter(backend: &WgpuBackend, input: &[u32]) -> Result<Result<(), Error>, Failed> {
    let sorter = testing::sorter(backend);
    let outcome = recorded(backend, &sorter, input);
    match outcome {
        Ok(keys) => whole(Ok(()), keys == sorted(input), false),
        Err(error) => Ok(Err(error)),
    }
}

/// Records a sort, and reads the keys back.
fn recorded(backend: &WgpuBackend, sorter: &DeviceSorter, input: &[u32]) -> Result<Vec<u32>, Error> {
    let buffer = SortBuffer::from_slice(backend, input)?;
    let prepared = sorter.prepare_sort::<u32>(buffer.raw(), Ask::up_to(input.len() as u32))?;
    let mut encoder = backend.device().create_command_encoder(&Default::default());
    prepared.record_in(&mut encoder, Count::Fixed(input.len() as u32))?;
    backend.queue().submit([encoder.finish()]);
    Ok(buffer.read()?.to_vec())
}
