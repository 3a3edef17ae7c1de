//! Gathers of elements by indices.

use crate::recording::open;
use crate::{keys, support};
use libtest_mimic::Failed;
use polysort_core::Error;
use polysort_wgpu::wgpu::CommandEncoderDescriptor;
use polysort_wgpu::{Ask, Column, Count, DeviceSorter, Part, SortBuffer, WgpuBackend};

/// Elements of several sizes, in buffers of their own or in one buffer; indices that occur twice, and indices that are too large.
pub(crate) fn elements() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    of_size::<1>(&backend, &sorter)?;
    of_size::<2>(&backend, &sorter)?;
    of_size::<4>(&backend, &sorter)?;
    of_size::<12>(&backend, &sorter)?;
    of_size::<64>(&backend, &sorter)?;
    let buffer = SortBuffer::from_slice(&backend, &[0_u32; 1000]).map_err(support::failed)?;
    let part = |word: u64| Part { buffer: buffer.raw(), offset: 4 * word };
    let column = |len| Column { elements: part(0), len };
    let ask = Ask::up_to(100);
    let refused = sorter.prepare_gather::<[u8; 3]>(column(100), part(300), part(500), ask).map(|_| ());
    support::ensure(matches!(refused, Err(Error::Unsupported { .. })), || format!("3 bytes: {refused:?}"))?;
    let cases = [
        ("a result on the elements", sorter.prepare_gather::<u64>(column(200), part(500), part(399), ask)),
        ("a result on the indices", sorter.prepare_gather::<u64>(column(100), part(500), part(599), ask)),
        ("more elements than the buffer has", sorter.prepare_gather::<u64>(column(501), part(500), part(0), Ask::up_to(0))),
        ("room for too few results", sorter.prepare_gather::<u64>(column(100), part(400), part(900), ask)),
        ("a count in the buffer of the result", {
            sorter.prepare_gather::<u64>(column(100), part(400), part(600), ask.counted_by(buffer.raw(), 0))
        }),
    ];
    for (what, result) in cases {
        let result = result.map(|_| ());
        support::ensure(matches!(result, Err(Error::InvalidBuffer { .. })), || format!("{what}: {result:?}"))?;
    }
    Ok(())
}

fn of_size<const N: usize>(backend: &WgpuBackend, sorter: &DeviceSorter) -> Result<(), Failed> {
    const ELEMENTS: usize = 1003;
    const MAX: usize = 3000;
    let words = |elements: usize| (elements * N).div_ceil(4);
    let indices: Vec<u32> = keys(MAX).into_iter().map(|key| if key % 50 == 0 { key | 1 << 31 } else { key % 1100 }).collect();
    let counts = SortBuffer::from_slice(backend, &[0, 0, 2001]).map_err(support::failed)?;
    // Words of the elements, of the indices, and of the result, with one word before and after each.
    let starts = [1, words(ELEMENTS) + 2, words(ELEMENTS) + MAX + 3];
    let mut all: Vec<u32> = keys(starts[2] + words(MAX) + 1);
    all[starts[1]..][..MAX].copy_from_slice(&indices);
    for in_one in [false, true] {
        for (count, there) in
            [(Count::Fixed(MAX as u32), MAX), (Count::OnDevice, 2001), (Count::Fixed(7), 7), (Count::Fixed(0), 0)]
        {
            let buffer = || SortBuffer::from_slice(backend, &all).map_err(support::failed);
            let buffers = [buffer()?, buffer()?, buffer()?];
            let part = |i: usize| Part { buffer: buffers[if in_one { 0 } else { i }].raw(), offset: 4 * starts[i] as u64 };
            let column = Column { elements: part(0), len: ELEMENTS as u32 };
            let ask = Ask::up_to(MAX as u32).counted_by(counts.raw(), 2);
            let gather = sorter.prepare_gather::<[u8; N]>(column, part(1), part(2), ask).map_err(support::failed)?;
            let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
            gather.record_in(&mut encoder, count).map_err(support::failed)?;
            backend.queue().submit([encoder.finish()]);
            let mut expected = all.clone();
            let elements: &[[u8; N]] = bytemuck::cast_slice(&bytemuck::cast_slice::<u32, u8>(&all[starts[0]..])[..ELEMENTS * N]);
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut expected[starts[2]..]);
            for (element, &index) in bytes.chunks_exact_mut(N).zip(&indices[..there]) {
                element.copy_from_slice(elements.get(index as usize).unwrap_or(&[0; N]));
            }
            let found = buffers[if in_one { 0 } else { 2 }].read().map_err(support::failed)?;
            support::ensure(*found == expected[..], || format!("{there} elements of {N} bytes, in one buffer: {in_one}"))?;
        }
    }
    Ok(())
}
