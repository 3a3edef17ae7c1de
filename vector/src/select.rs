//! The nearest candidates of each query, selected from all distances.

use crate::error::VectorError;
use crate::found::{Distances, NO_SLOT, Nearest};
use polysort_core::{Backend, Operation, Segments, Spec, selected_len};

/// The order of distances as words of 32 bits.
pub const BY_DISTANCE: Spec = Spec::ascending::<f32>();

/// Selects the `k` nearest candidates of each query from all distances, on `backend`.
///
/// # Errors
/// As [`Backend::run`].
pub fn nearest_by<B: Backend>(
    backend: &B,
    found: &Distances,
    candidate_offsets: &[u32],
    k: usize,
) -> Result<Nearest, VectorError> {
    let offsets: Vec<usize> = candidate_offsets.iter().map(|&offset| offset as usize).collect();
    let keys: &[u32] = bytemuck::cast_slice(&found.distances);
    let segments = Some(Segments::Offsets(&offsets));
    let mut selected = vec![0; selected_len(k, segments, found.distances.len())];
    backend.run(Operation::TopK { keys, k, segments, indices: &mut selected }.into(), BY_DISTANCE)?;
    nearest_of(found, candidate_offsets, k, &selected)
}

/// Returns the `k` nearest candidates of each query, from a selection of their distances. The candidates of query `q` are those from
/// `candidate_offsets[q]` to `candidate_offsets[q + 1]`.
///
/// `selected` has, for each query in turn, the indices in `found` of the `k` smallest distances, nearest first, in the order [`BY_DISTANCE`]. A query
/// with fewer candidates has as many indices as candidates.
///
/// # Errors
/// None: [`Nearest::new`] gets as many distances as slots.
///
/// # Panics
/// If an index is not less than the number of distances or of slots, if `selected` has fewer indices than the queries have results, or if offsets descend.
pub fn nearest_of(found: &Distances, candidate_offsets: &[u32], k: usize, selected: &[u32]) -> Result<Nearest, VectorError> {
    let Distances { distances, slots } = found;
    let lengths = || candidate_offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
    let most = lengths().max().unwrap_or(0).min(k);
    let (mut near, mut near_slots, mut rest) = (vec![], vec![], selected);
    for length in lengths() {
        let (positions, others) = rest.split_at(length.min(k));
        near.extend(positions.iter().map(|&position| distances[position as usize]));
        near_slots.extend(positions.iter().map(|&position| slots[position as usize]));
        near.resize(near.len() + most - positions.len(), f32::INFINITY);
        near_slots.resize(near.len(), NO_SLOT);
        rest = others;
    }
    Nearest::new(most, near, near_slots)
}
