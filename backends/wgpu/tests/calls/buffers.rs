//! Sorts of keys and values that stay on the device.

use crate::{keys, open, open_alone, support};
use libtest_mimic::Failed;
use polysort_core::{Error, Options};
use polysort_wgpu::{SortBuffer, testing};
use std::pin::pin;
use support::{ensure, failed, finished, polled};

pub(crate) fn sorted() -> Result<(), Failed> {
    let backend = open()?;
    for len in [0, 1, 2, 700, 40_001] {
        let input = keys(len);
        let mut order: Vec<u32> = (0..len as u32).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(input[i as usize]));
        let sorted: Vec<u32> = order.iter().map(|&i| input[i as usize]).collect();
        let mut indices = SortBuffer::with_capacity(&backend, len).map_err(failed)?;
        let mut on_device = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
        backend.argsort_buffer(&on_device, &mut indices, Options::descending()).map_err(failed)?;
        ensure(*indices.read().map_err(failed)? == order, || format!("the indices of {len}"))?;
        ensure(*on_device.read().map_err(failed)? == input, || format!("{len} keys were changed"))?;
        let wide: Vec<[u32; 3]> = (0..len as u32).map(|i| [i, 7, !i]).collect();
        let mut values = SortBuffer::from_slice(&backend, &wide).map_err(failed)?;
        backend.sort_pairs_buffer(&mut on_device, &mut values, Options::descending()).map_err(failed)?;
        let mut moved = vec![[0; 3]; len];
        values.copy_to_slice(&mut moved).map_err(failed)?;
        ensure(moved.iter().zip(&order).all(|(value, &i)| *value == wide[i as usize]), || format!("the values of {len}"))?;
        ensure(*on_device.read().map_err(failed)? == sorted, || format!("{len} keys with values"))?;
        on_device.copy_from_slice(&input).map_err(failed)?;
        backend.sort_buffer(&mut on_device, Options::descending()).map_err(failed)?;
        ensure(*on_device.read().map_err(failed)? == sorted, || format!("{len} keys"))?;
    }
    Ok(())
}

/// Sorts into other buffers: the input stays as it is.
pub(crate) fn sorted_into() -> Result<(), Failed> {
    let backend = open()?;
    for len in [0, 1, 700, 40_001] {
        let input: Vec<u16> = keys(len).into_iter().map(|key| key as u16).collect();
        let mut order: Vec<u32> = (0..len as u32).collect();
        order.sort_by_key(|&i| input[i as usize]);
        let sorted: Vec<u16> = order.iter().map(|&i| input[i as usize]).collect();
        let from = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
        let values = SortBuffer::from_slice(&backend, &(0..len as u32).collect::<Vec<_>>()).map_err(failed)?;
        // The outputs have more room than needed, and other elements before the sort.
        let mut to = SortBuffer::from_slice(&backend, &vec![7_u16; len + 9]).map_err(failed)?;
        let mut moved = SortBuffer::from_slice(&backend, &vec![7_u32; len + 9]).map_err(failed)?;
        backend.sort_buffer_into(&from, &mut to, Options::ascending()).map_err(failed)?;
        ensure(*to.read().map_err(failed)? == sorted, || format!("{len} keys"))?;
        to.set_len(0).map_err(failed)?;
        let both = (&mut to, &mut moved);
        backend.sort_pairs_buffer_into(&from, &values, both, Options::ascending()).map_err(failed)?;
        ensure(*to.read().map_err(failed)? == sorted, || format!("{len} keys with values"))?;
        ensure(*moved.read().map_err(failed)? == order, || format!("the values of {len}"))?;
        ensure(*from.read().map_err(failed)? == input, || format!("{len} keys were changed"))?;
        let mut narrow = SortBuffer::<u16>::with_capacity(&backend, len / 2).map_err(failed)?;
        let refused = backend.sort_buffer_into(&from, &mut narrow, Options::ascending());
        let fits = len / 2 == len;
        ensure(fits || matches!(refused, Err(Error::TooLong { .. })) && narrow.is_empty(), || format!("{refused:?}"))?;
    }
    Ok(())
}

pub(crate) fn read_in_place() -> Result<(), Failed> {
    let backend = open()?;
    let input = keys(5000);
    let mut buffer = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
    let mut other = SortBuffer::<u32>::with_capacity(&backend, 5000).map_err(failed)?;
    let one = buffer.read().map_err(failed)?;
    let two = buffer.read().map_err(failed)?;
    ensure(*one == input && *two == input, || "two readers see other elements".into())?;
    let shared = one.as_ptr() == two.as_ptr();
    println!("readers share memory: {shared}");
    // A software device works in the memory of the host.
    ensure(shared || !support::is_software(&backend), || "it was copied".into())?;
    drop(one);
    if shared {
        let refused = backend.argsort_buffer(&buffer, &mut other, Options::ascending());
        ensure(matches!(refused, Err(Error::InvalidBuffer { .. })), || format!("{refused:?}"))?;
    }
    drop(two);
    backend.sort_buffer(&mut buffer, Options::ascending()).map_err(failed)?;
    ensure(buffer.read().map_err(failed)?.is_sorted(), || "not sorted".into())?;
    buffer.write_with(3, |elements| elements.copy_from_slice(&[3, 1, 2])).map_err(failed)?;
    backend.sort_buffer(&mut buffer, Options::ascending()).map_err(failed)?;
    ensure(*buffer.read().map_err(failed)? == [1, 2, 3], || "not written".into())
}

/// A reader that begins after a sort or a merge was called, and before its commands are submitted, makes the call fail.
pub(crate) fn read_before_the_submission() -> Result<(), Failed> {
    // A busy machine can let a call end at its first poll: the thread that waits for the sort's kernels polls the device for the merge too.
    for _ in 0..100 {
        if read_while_both_wait()? {
            return Ok(());
        }
    }
    Err("in 100 attempts, a call always ended at its first poll".into())
}

/// Returns whether both calls waited when the reader began.
fn read_while_both_wait() -> Result<bool, Failed> {
    // No kernel of this backend is tested yet, so both calls test theirs first.
    let backend = open_alone()?;
    let input = keys(5000);
    let buffer = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
    let mut sorted = SortBuffer::<u32>::with_capacity(&backend, 5000).map_err(failed)?;
    let mut merged = SortBuffer::<u32>::with_capacity(&backend, 10_000).map_err(failed)?;
    let mut sort = pin!(backend.sort_buffer_into_async(&buffer, &mut sorted, Options::ascending()));
    let mut merge = pin!(backend.merge_buffers_into_async([&buffer, &buffer], &mut merged, Options::ascending()));
    match (polled(sort.as_mut(), 1), polled(merge.as_mut(), 1)) {
        (None, None) => {}
        (sorted, merged) => {
            sorted.into_iter().chain(merged).try_for_each(|ended| ended.map_err(failed))?;
            return Ok(false);
        }
    }
    let elements = buffer.read().map_err(failed)?;
    let (sorted, merged) = (finished(None, sort), finished(None, merge));
    let is_refused = |result: &Result<(), Error>| matches!(result, Err(Error::InvalidBuffer { .. }));
    // A software device maps the buffer. Other devices may copy it, and then the calls succeed.
    let shared = support::is_software(&backend);
    ensure(is_refused(&sorted) || !shared && sorted.is_ok(), || format!("the sort: {sorted:?}"))?;
    ensure(is_refused(&merged) || !shared && merged.is_ok(), || format!("the merge: {merged:?}"))?;
    ensure(*elements == input, || "the reader sees other elements".into())?;
    Ok(true)
}

/// Elements that are never dropped keep their buffer mapped. Calls that would use the buffer must return an error, and must not panic.
pub(crate) fn forgotten() -> Result<(), Failed> {
    let backend = open()?;
    let mut buffer = SortBuffer::from_slice(&backend, &keys(100)).map_err(failed)?;
    // A software device maps the buffer. Other devices may copy it, and then the calls succeed.
    let shared = support::is_software(&backend);
    std::mem::forget(buffer.read().map_err(failed)?);
    let written = buffer.copy_from_slice(&[1, 2]);
    let refused = |result: &Result<(), Error>| matches!(result, Err(Error::InvalidBuffer { .. })) || !shared && result.is_ok();
    ensure(refused(&written), || format!("{written:?}"))?;
    let sorted = backend.sort_buffer(&mut buffer, Options::ascending());
    ensure(refused(&sorted), || format!("{sorted:?}"))?;
    let mut copied = vec![0; buffer.len()];
    let copied = buffer.copy_to_slice(&mut copied);
    ensure(refused(&copied), || format!("{copied:?}"))?;
    // The buffer can still be read, and other buffers are not affected.
    ensure(buffer.read().map_err(failed)?.len() == buffer.len(), || "it cannot be read".into())?;
    let mut other = SortBuffer::from_slice(&backend, &[2, 1]).map_err(failed)?;
    backend.sort_buffer(&mut other, Options::ascending()).map_err(failed)?;
    ensure(*other.read().map_err(failed)? == [1, 2], || "the other buffer is not sorted".into())
}

/// Lengths whose bytes overflow 64 bits, and lengths that no device has memory for.
pub(crate) fn impossible_lengths() -> Result<(), Failed> {
    let backend = open()?;
    for capacity in [usize::MAX, usize::MAX / 8 + 1, usize::MAX / 8, 1 << 61, (1 << 61) + 2, 1 << 50] {
        let buffer = SortBuffer::<u64>::with_capacity(&backend, capacity);
        let refused = matches!(buffer, Err(Error::OutOfMemory { asked, .. }) if asked >= 1 << 50);
        ensure(refused, || format!("{capacity}: {buffer:?}"))?;
    }
    let mut empty = SortBuffer::<()>::with_capacity(&backend, usize::MAX).map_err(failed)?;
    empty.set_len(usize::MAX).map_err(failed)
}

pub(crate) fn refused() -> Result<(), Failed> {
    let (backend, stranger) = (open()?, open_alone()?);
    let mut keys = SortBuffer::from_slice(&backend, &[3_u16, 1, 2]).map_err(failed)?;
    let foreign = stranger.sort_buffer(&mut keys, Options::ascending());
    ensure(matches!(foreign, Err(Error::InvalidBuffer { .. })), || format!("{foreign:?}"))?;
    let long = keys.copy_from_slice(&[1; 4]);
    ensure(matches!(long, Err(Error::TooLong { asked: 4, limit: 3, .. })), || format!("{long:?}"))?;
    let short = keys.copy_to_slice(&mut [0; 2]);
    ensure(matches!(short, Err(Error::LengthMismatch { left_len: 3, right_len: 2, .. })), || format!("{short:?}"))?;
    let mut values = SortBuffer::from_slice(&backend, &[[0_u8; 6]; 3]).map_err(failed)?;
    let odd = backend.sort_pairs_buffer(&mut keys, &mut values, Options::ascending());
    ensure(matches!(odd, Err(Error::Unsupported { .. })), || format!("{odd:?}"))?;
    ensure(*keys.read().map_err(failed)? == [3, 1, 2], || "a refused call changed keys".into())
}

/// Buffers for uploads in the memory of the host: all devices of Vulkan have them.
pub(crate) fn of_the_host() -> Result<(), Failed> {
    let backend = open()?;
    let is_there = backend.info().backend == wgpu::Backend::Vulkan && cfg!(any(target_os = "linux", target_os = "windows"));
    for len in [1, 3, 1 << 20] {
        let bytes: Vec<u8> = keys(len).into_iter().flat_map(u32::to_le_bytes).collect();
        let back = testing::through_host_memory(&backend, &bytes).map_err(failed)?;
        ensure(back == is_there.then_some(bytes), || format!("{len} words, and the device is one of Vulkan: {is_there}"))?;
    }
    Ok(())
}
