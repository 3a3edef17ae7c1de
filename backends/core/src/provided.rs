//! Every operation by the two sorts that each backend has.

use crate::{Backend, Error, Operation, Segments, Spec, ValuesMut, Word, permutation, runs};
use core::ops::Range;

impl<W: Word> Operation<'_, W> {
    /// Runs the operation with the two required sorts of a backend. This is the default of [`Backend::run`].
    ///
    /// An override of `run` may pass an operation here, but not `Sort` or `SortPairs` without segments if its two sorts come from
    /// [`sorts_by_run!`](crate::sorts_by_run): they would call each other for ever.
    ///
    /// # Errors
    /// Those of [`check`](Operation::check) and of the sorts.
    pub fn by_two_sorts<B: Backend>(self, backend: &B, spec: Spec) -> Result<(), Error> {
        self.check(spec)?;
        match self {
            Operation::TopK { indices: [], .. } => Ok(()),
            Operation::Sort { keys, segments: None } => backend.sort_bits(keys, spec),
            Operation::Sort { keys, segments: Some(segments) } => {
                let mut sorted = keys.to_vec();
                for range in segments.ranges().filter(moves) {
                    backend.sort_bits(&mut sorted[range], spec)?;
                }
                keys.copy_from_slice(&sorted);
                Ok(())
            }
            Operation::SortPairs { keys, values, segments: None } => match values.size() {
                0 => backend.sort_bits(keys, spec),
                1 => backend.sort_pairs_bits(keys, values.arrays::<1>(), spec),
                2 => backend.sort_pairs_bits(keys, values.arrays::<2>(), spec),
                4 => backend.sort_pairs_bits(keys, values.arrays::<4>(), spec),
                8 => backend.sort_pairs_bits(keys, values.arrays::<8>(), spec),
                12 => backend.sort_pairs_bits(keys, values.arrays::<12>(), spec),
                16 => backend.sort_pairs_bits(keys, values.arrays::<16>(), spec),
                _ => pairs_by_argsort(backend, keys, values, None, spec),
            },
            Operation::SortPairs { keys, values, segments } => pairs_by_argsort(backend, keys, values, segments, spec),
            Operation::SortInto { keys, sorted } => {
                let mut copy = keys.to_vec();
                backend.sort_bits(&mut copy, spec)?;
                sorted.copy_from_slice(&copy);
                Ok(())
            }
            Operation::SortPairsInto { keys, values, sorted_keys, mut sorted_values } => {
                let mut order = permutation::room(keys.len())?;
                backend.run(Operation::Argsort { keys, segments: None, indices: &mut order }.into(), spec)?;
                sorted_keys.copy_from_slice(&permutation::gather(keys, &order));
                sorted_values.copy_from(values);
                sorted_values.permute(&order);
                Ok(())
            }
            // A sort puts all keys where they belong.
            Operation::PartialSort { keys, segments, .. } => Operation::Sort { keys, segments }.by_two_sorts(backend, spec),
            Operation::Argsort { keys, segments, indices } => {
                let (mut copy, mut order) = (keys.to_vec(), permutation::identity(keys.len())?);
                match segments {
                    None => backend.sort_pairs_bits(&mut copy, &mut order, spec)?,
                    Some(segments) => {
                        for range in segments.ranges().filter(moves) {
                            backend.sort_pairs_bits(&mut copy[range.clone()], &mut order[range], spec)?;
                        }
                    }
                }
                indices.copy_from_slice(&order);
                Ok(())
            }
            Operation::TopK { keys, k, segments, indices } => {
                let mut order = permutation::room(keys.len())?;
                backend.run(Operation::Argsort { keys, segments, indices: &mut order }.into(), spec)?;
                first_of_each(&order, k, segments, indices);
                Ok(())
            }
            // One read of the keys. No sort is needed.
            Operation::Runs { keys, offsets } => {
                *offsets = runs::offsets(keys, spec);
                Ok(())
            }
        }
    }
}

/// Sorts pairs stably, by an argsort of the keys and a gather of keys and values on the CPU. This is for values of a size that the backend's own sort
/// does not move. A backend with a [`run`](Backend::run) of its own calls this function there.
///
/// # Errors
/// Those of the argsort.
pub fn pairs_by_argsort<B: Backend, W: Word>(
    backend: &B,
    keys: &mut [W],
    mut values: ValuesMut<'_>,
    segments: Option<Segments<'_>>,
    spec: Spec,
) -> Result<(), Error> {
    let mut order = permutation::room(keys.len())?;
    backend.run(Operation::Argsort { keys, segments, indices: &mut order }.into(), spec)?;
    permutation::gather_keys(keys, &order);
    values.permute(&order);
    Ok(())
}

/// Whether a sort of this segment can move a key.
fn moves(range: &Range<usize>) -> bool {
    range.len() > 1
}

/// Copies the first `k` indices of each segment of `order` to `indices`, one segment after the other, without gaps.
///
/// `order` is a permutation that sorts each segment separately. Its indices count from the start of the whole array. `None` for `segments` means
/// one segment, the whole of `order`. Of a segment with fewer than `k` keys, all indices are copied.
///
/// # Panics
/// If the length of `indices` is not [`selected_len`](crate::selected_len)`(k, segments, order.len())`.
pub fn first_of_each(order: &[u32], k: usize, segments: Option<Segments<'_>>, indices: &mut [u32]) {
    let whole = [0, order.len()];
    let segments = segments.unwrap_or(Segments::Offsets(&whole));
    let mut rest = indices;
    for range in segments.ranges() {
        let (own, others) = rest.split_at_mut(range.len().min(k));
        own.copy_from_slice(&order[range][..own.len()]);
        rest = others;
    }
    assert!(rest.is_empty(), "{} indices too many", rest.len());
}
