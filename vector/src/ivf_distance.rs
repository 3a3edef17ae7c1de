//! Distances with all data in slices, for callers that keep no store.

use crate::backend::{VectorSearch, VectorStore};
use crate::error::VectorError;
use crate::found::Distances;
use crate::search::Search;
use crate::shape::Shape;

/// Computes the squared distances of queries to candidates, with all data in slices.
///
/// | argument | shape | holds |
/// |---|---|---|
/// | `queries` | queries × `dimension` | the queries, row by row |
/// | `vectors` | slots × `dimension` | all vectors, row by row; no search reads a slot that no entry names |
/// | `vector_indices` | entries | the slot of each entry |
/// | `candidate_indices` | candidates | the entry of each candidate, query by query |
/// | `candidate_offsets` | queries + 1 | the candidates of query `q` are `candidate_offsets[q] .. candidate_offsets[q + 1]` |
///
/// Each call copies all vectors to a new store of the backend. To search the same vectors again, keep a [`VectorStore`].
///
/// ```
/// # use polysort_core::Backend;
/// # use polysort_rayon::RayonBackend;
/// # use polysort_vector::ivf_distance;
/// let vectors = [1.0, 0.0, /* a gap */ 0.0, 0.0, /**/ 0.0, 3.0];
/// let found = ivf_distance(&RayonBackend::global()?, 2, &[1.0, 0.0], &vectors, &[0, 2], &[1, 0], &[0, 2])?;
/// assert_eq!((found.distances, found.slots), (vec![10.0, 0.0], vec![2, 0]));
/// # Ok::<(), polysort_vector::VectorError>(())
/// ```
///
/// # Errors
/// - [`Error::LengthMismatch`](polysort_core::Error::LengthMismatch) if a slice ends within a vector.
/// - [`VectorError::OutOfRange`] for entries that name no slot.
/// - [`VectorError::NotFinite`] for numbers that are infinite or NaN.
/// - The errors of [`Search::queries`], or a failure of the device.
pub fn ivf_distance<B: VectorSearch>(
    backend: &B,
    dimension: usize,
    queries: &[f32],
    vectors: &[f32],
    vector_indices: &[u32],
    candidate_indices: &[u32],
    candidate_offsets: &[u32],
) -> Result<Distances, VectorError> {
    let mut store = backend.vector_store(Shape::new(dimension, vectors.len() / dimension.max(1)))?;
    store.write(0, vectors)?;
    store.set_entries(vector_indices)?;
    backend.distances(&store, &Search::new(queries, candidate_indices, candidate_offsets))
}
