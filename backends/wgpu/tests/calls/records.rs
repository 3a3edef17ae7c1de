//! Records of a key and other data that are sorted in place, as keys of which only some bits are compared.

use crate::recording::open;
use crate::{keys, support};
use libtest_mimic::Failed;
use polysort_core::{MaskKey, Options};
use polysort_wgpu::wgpu::CommandEncoderDescriptor;
use polysort_wgpu::{Ask, Count, DeviceSorter, SortBuffer, WgpuBackend};

const RECORDS: usize = 9001;

/// Records of 8 and of 16 bytes, by their first word, by their last one, and by a byte in the middle.
pub(crate) fn by_some_bits() -> Result<(), Failed> {
    let (backend, sorter) = open()?;
    of_words::<u64, 2>(&backend, &sorter, Options::ascending().bits(0..32), |record| record[0].into())?;
    of_words::<u64, 2>(&backend, &sorter, Options::descending().bits(32..64), |record| (!record[1]).into())?;
    of_words::<u128, 4>(&backend, &sorter, Options::ascending().bits(0..32), |record| record[0].into())?;
    of_words::<u128, 4>(&backend, &sorter, Options::ascending().bits(72..80), |record| u64::from(record[2] >> 8 & 0xff))
}

/// Sorts records of `N` words as keys of type `K`. `rank` returns the number that the records are to be sorted by.
fn of_words<K: MaskKey, const N: usize>(
    backend: &WgpuBackend,
    sorter: &DeviceSorter,
    options: Options,
    rank: impl Fn(&[u32; N]) -> u64,
) -> Result<(), Failed> {
    // Few values, so that many records are equal in the bits that count.
    let words: Vec<u32> = keys(N * RECORDS).into_iter().map(|word| word & 0x3f00_07f0).collect();
    let buffer = SortBuffer::from_slice(backend, &words).map_err(support::failed)?;
    let sort = sorter.prepare_sort::<K>(buffer.raw(), Ask::up_to(RECORDS as u32).options(options)).map_err(support::failed)?;
    let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
    sort.record_in(&mut encoder, Count::Fixed(RECORDS as u32)).map_err(support::failed)?;
    backend.queue().submit([encoder.finish()]);
    let mut expected: Vec<[u32; N]> = bytemuck::cast_slice(&words).to_vec();
    expected.sort_by_key(rank);
    let found = buffer.read().map_err(support::failed)?;
    support::ensure(*found == *bytemuck::cast_slice::<[u32; N], u32>(&expected), || format!("records of {N} words, {options:?}"))
}
