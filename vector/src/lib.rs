//! Vector search of [polysort](https://docs.rs/polysort): an index by inverted lists, on any backend that computes distances.
//!
//! ```text
//! train     k-means finds a center for each list
//! add       a vector goes into a free slot, and its slot into the list of the nearest center
//! search    query ──▶ the nprobe nearest centers ──▶ all of their lists ──▶ distances ──▶ the k nearest
//! ```
//!
//! The backend keeps the vectors ([`VectorSearch`]). The index keeps ids and lists, and selects the candidates of each query.
//!
//! ```
//! use polysort_core::Backend;
//! use polysort_rayon::RayonBackend;
//! use polysort_vector::{IvfIndex, IvfOptions};
//!
//! let points: Vec<f32> = (0..100).flat_map(|i| [i as f32, (i * i % 100) as f32]).collect();
//! let mut index = IvfIndex::train(RayonBackend::global()?, IvfOptions::new(2, 8), &points)?;
//! index.add_all(&(1000..1100).collect::<Vec<u64>>(), &points)?;
//! index.remove(1003)?;
//!
//! // The two vectors nearest to (3, 9), from all lists, without the removed vector.
//! let found = index.search(&[3.0, 9.0], 2, index.lists())?;
//! assert_eq!((found[0][0].id, found[0][0].distance), (1002, 26.0));
//! # Ok::<(), polysort_vector::IvfError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod index;
mod kmeans;

pub use error::IvfError;
pub use index::{IvfIndex, IvfOptions, Neighbor};
use polysort_core::Error;
use polysort_core::vector::{Distances, Search, Shape, VectorSearch, VectorStore};

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
/// # Ok::<(), polysort_core::Error>(())
/// ```
///
/// # Errors
/// - [`Error::LengthMismatch`] if a slice ends within a vector.
/// - [`Error::OutOfRange`] for entries that name no slot.
/// - [`Error::NotFinite`] for numbers that are infinite or NaN.
/// - The errors of [`Search::queries`], or a failure of the device.
pub fn ivf_distance<B: VectorSearch>(
    backend: &B,
    dimension: usize,
    queries: &[f32],
    vectors: &[f32],
    vector_indices: &[u32],
    candidate_indices: &[u32],
    candidate_offsets: &[u32],
) -> Result<Distances, Error> {
    let mut store = backend.vector_store(Shape::new(dimension, vectors.len() / dimension.max(1)))?;
    store.write(0, vectors)?;
    store.set_entries(vector_indices)?;
    backend.distances(&store, &Search::new(queries, candidate_indices, candidate_offsets))
}
