//! Keys on the device are sorted by their masks, also if their type has no in-place view.

use crate::{keys, recording, support};
use libtest_mimic::Failed;
use polysort_core::{MaskKey, Masks, Options, Sort, Sortable};
use polysort_wgpu::wgpu::CommandEncoderDescriptor;
use polysort_wgpu::{Ask, Count, SortBuffer};
use support::{ensure, failed};

/// A key in the order of its `f32`, without `IN_PLACE`.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Depth(f32);

impl Sortable for Depth {
    type Bits = u32;

    fn to_bits(self) -> u32 {
        Self::MASKS.apply(self.0.to_bits())
    }

    fn from_bits(bits: u32) -> Self {
        Depth(f32::from_bits(Self::MASKS.invert(bits)))
    }
}

impl MaskKey for Depth {
    const MASKS: Masks = Masks::float(32);
}

pub(crate) fn without_a_view() -> Result<(), Failed> {
    let (backend, sorter) = recording::open()?;
    let input: Vec<Depth> = keys(3000).into_iter().map(|bits| Depth((bits as f32 - 2.0_f32.powi(24)) / 7.0)).collect();
    for (options, descends) in [(Options::ascending(), false), (Options::descending(), true)] {
        let mut expected = input.clone();
        expected.sort_by(|a, b| if descends { b.0.total_cmp(&a.0) } else { a.0.total_cmp(&b.0) });
        let mut on_host = input.clone();
        backend.sort_with(&mut on_host, options).map_err(failed)?;
        ensure(on_host == expected, || format!("a host slice, {options:?}"))?;
        let mut buffer = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
        backend.sort_buffer(&mut buffer, options).map_err(failed)?;
        ensure(*buffer.read().map_err(failed)? == expected, || format!("a buffer, {options:?}"))?;
        buffer.copy_from_slice(&input).map_err(failed)?;
        let sort = sorter.prepare_sort::<Depth>(buffer.raw(), Ask::up_to(3000).options(options)).map_err(failed)?;
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        sort.record_in(&mut encoder, Count::Fixed(3000)).map_err(failed)?;
        backend.queue().submit([encoder.finish()]);
        ensure(*buffer.read().map_err(failed)? == expected, || format!("a recorded sort, {options:?}"))?;
    }
    Ok(())
}
