//! Sorts of more keys than one sort on the device takes.
//!
//! If the memory of the device has room for twice the data, they make one trip to the device (`one_trip.rs`). Otherwise they make two:
//!
//! ```text
//! runs      the device sorts portions of the input; each becomes a sorted run in scratch of the host
//! cuts      exact cuts through all runs divide the output into blocks that fit the device
//! blocks    the device gets the parts of the runs that lie in a block, one after another, and sorts them
//! ```
//!
//! A sort is stable, so a block has the keys of its ranks, and equal keys in the order of the input. Several portions, and then several
//! blocks, are in flight at a time: one is uploaded while others are sorted and downloaded.
//!
//! The caller's slices are written in the third step only. From the first block on, the call succeeds: if the device fails, or the future of
//! the call is dropped, the host merges the other blocks (`block.rs`).

use crate::backend::WgpuBackend;
use crate::block::{Block, Merge};
use crate::data::Data;
use crate::portions::{Portions, side_by_side};
use crate::scratch::Scratch;
use crate::wait::Waiting;
use core::ops::Range;
use polysort_core::{Error, SortedRuns, Spec, Word, permutation};
use polysort_shaders::plan::{Payload, Request};

impl WgpuBackend {
    /// Sorts any number of keys, in portions. The kinds of data are those of sorts and argsorts.
    pub(crate) async fn sort_long<W: Word>(
        &self,
        waiting: Waiting,
        count: usize,
        payload: Payload,
        mut data: Data<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        // An argsort moves the indices as values.
        let (payload, of_indices) = match payload {
            Payload::Indices => (Payload::Words(1), true),
            payload => (payload, false),
        };
        let request = Request { payload, ..Request::keys(W::BITS, spec, count as u64) }.quick_to_compile();
        fill_indices(&mut data);
        if self.sort_in_one_trip(waiting, request, &mut data).await? {
            return Ok(());
        }
        let mut keys = Scratch::new(count, size_of::<W>())?;
        let mut values = Scratch::new(count, 4 * payload.words() as usize)?;
        let mut portions = self.portions::<W>(waiting, request, count).await?;
        loop {
            let runs = match sort_runs::<W>(&portions, inputs(&data), keys.get_mut(), values.get_mut()).await {
                Ok(runs) => runs,
                Err(Error::OutOfMemory { .. }) if portions.shrink() => continue,
                Err(error) => return Err(error),
            };
            match merge_runs::<W>(&portions, (keys.get(), values.get()), &runs, &mut data, of_indices).await {
                Err(Error::OutOfMemory { .. }) if portions.shrink() => fill_indices(&mut data),
                outcome => return outcome,
            }
        }
    }
}

/// Writes the identity to the indices of an argsort, which moves them as values.
fn fill_indices(data: &mut Data<'_>) {
    if let Data::Indices(_, indices) = data {
        permutation::fill_identity(bytemuck::cast_slice_mut(indices));
    }
}

/// The slices to sort: the keys, and the values or the indices that move with them.
pub(crate) fn inputs<'a>(data: &'a Data<'_>) -> (&'a [u8], &'a [u8]) {
    match data {
        Data::Keys(keys) => (keys, &[]),
        Data::Pairs(keys, values) => (keys, values),
        Data::KeysInto(keys, _) => (keys, &[]),
        Data::PairsInto(inputs, _) => *inputs,
        Data::Indices(keys, indices) => (keys, indices),
        Data::Top(..) | Data::Parts(..) => unreachable!("selections and merges are no long sorts"),
    }
}

/// The slices for the sorted keys and for the values or indices. An argsort has no slice for its keys.
pub(crate) fn outputs<'a>(data: &'a mut Data<'_>) -> (Option<&'a mut [u8]>, &'a mut [u8]) {
    match data {
        Data::Keys(keys) | Data::KeysInto(_, keys) => (Some(keys), &mut []),
        Data::Pairs(keys, values) | Data::PairsInto(_, (keys, values)) => (Some(keys), values),
        Data::Indices(_, indices) => (None, indices),
        Data::Top(..) | Data::Parts(..) => unreachable!("selections and merges are no long sorts"),
    }
}

/// Sorts each portion of the input into the scratch. Returns where the runs lie.
async fn sort_runs<W: Word>(
    portions: &Portions,
    (keys, values): (&[u8], &[u8]),
    mut sorted_keys: &mut [u8],
    mut sorted_values: &mut [u8],
) -> Result<Vec<Range<usize>>, Error> {
    let count = keys.len() / size_of::<W>();
    let value_bytes = values.len() / count;
    let ranges = portions.ranges(count);
    let bytes_of = |range: &Range<usize>, size: usize| range.start * size..range.end * size;
    let work = |range: &Range<usize>| {
        let (keys, values) = (&keys[bytes_of(range, size_of::<W>())], &values[bytes_of(range, value_bytes)]);
        let (sorted, moved) = (first(&mut sorted_keys, keys.len()), first(&mut sorted_values, values.len()));
        let data = match values {
            [] => Data::KeysInto(keys, sorted),
            _ => Data::PairsInto((keys, values), (sorted, moved)),
        };
        portions.engine.sort(Waiting::Elsewhere, portions.request(range.len()), data, None)
    };
    side_by_side(ranges.iter().map(work).collect()).await?;
    Ok(ranges)
}

/// Removes the first `len` elements of a slice, and returns them.
pub(crate) fn first<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (first, others) = core::mem::take(rest).split_at_mut(len);
    *rest = others;
    first
}

/// Merges the runs of the scratch into the outputs, block by block.
async fn merge_runs<W: Word>(
    portions: &Portions,
    (keys, values): (&[W], &[u8]),
    ranges: &[Range<usize>],
    data: &mut Data<'_>,
    of_indices: bool,
) -> Result<(), Error> {
    let (count, value_bytes) = (keys.len(), values.len() / keys.len());
    let keys: Vec<&[W]> = ranges.iter().map(|range| &keys[range.clone()]).collect();
    let values = ranges.iter().map(|range| &values[range.start * value_bytes..range.end * value_bytes]);
    let runs = SortedRuns::new(&keys, portions.request.spec);
    // The contents of indices are unspecified after an error, so the host need not finish them.
    let copiers = &portions.engine.gpu().copiers;
    let merge = Merge::new(runs, values.collect(), value_bytes, copiers, !of_indices);
    let (mut merged_keys, mut merged_values) = outputs(data);
    let mut blocks = vec![];
    for (from, to, range) in merge.cuts(&portions.ranges(count)) {
        let keys = merged_keys.as_mut().map(|keys| first(keys, range.len() * size_of::<W>()));
        let values = first(&mut merged_values, range.len() * value_bytes);
        blocks.push(Block::new(&merge, from, to, keys, values));
    }
    let works = blocks.into_iter().map(|block| write(portions, block)).collect();
    // Blocks that are not written, the host merges when they are dropped: here, or with the future.
    match side_by_side(works).await {
        Err(error) if merge.is_begun() => {
            tracing::warn!(%error, "the host has finished a long sort");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Writes a block with the device.
async fn write<W: Word>(portions: &Portions, mut block: Block<'_, W>) -> Result<(), Error> {
    let request = portions.request(block.len());
    portions.engine.sort(Waiting::Elsewhere, request, block.data(), None).await?;
    block.is_written();
    Ok(())
}
