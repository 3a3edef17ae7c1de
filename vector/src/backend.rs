//! What a backend of vector search implements.

use crate::error::VectorError;
use crate::found::{Distances, Nearest};
use crate::search::Search;
use crate::select::nearest_by;
use crate::shape::Shape;
use polysort_core::Backend;

/// Vectors in slots, in the memory of a backend. After an error the store is as it was.
pub trait VectorStore: Send + Sync {
    /// The size and the format of the store.
    fn shape(&self) -> Shape;

    /// The number of entries.
    fn entries(&self) -> usize;

    /// Writes vectors, row by row, into the slots from `slot` on.
    ///
    /// # Errors
    /// As [`Shape::check_write`], or a failure of the device.
    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError>;

    /// Replaces all entries: the vector of entry `e` lies in slot `slots[e]`.
    ///
    /// # Errors
    /// [`VectorError::OutOfRange`] with the first entry that names no slot, or a failure of the device.
    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError>;
}

/// A backend that searches vectors.
///
/// # Accuracy
/// Distances are sums in single precision, in an order that the backend chooses, so two backends may differ in the last bits. Equal input gives
/// equal output on one backend.
///
/// | metric | largest error |
/// |---|---|
/// | `L2`, `InnerProduct` | `e = 2 * (dimension + 1) * 2⁻²⁴` times the sum of the absolute terms, plus `dimension * 2⁻¹²⁶` |
/// | `Cosine` | `e` times (the sum of the absolute products over both norms, plus the absolute cosine), plus `16 * 2⁻²⁴` |
///
/// * `L2` and `InnerProduct`: if the absolute terms add up to more than `f32::MAX`, the distance may be infinite or NaN.
/// * `Cosine`: the bound holds for norms of every size, also for those whose squares are too large or too small for single precision: the backend
///   scales such vectors before it squares their numbers. Numbers below 2⁻¹²⁶ may count as zero.
/// * A NaN has its sign clear on every backend, so it is farther than all other distances.
///
/// Calls return [`VectorError::NotFinite`] for a number that is infinite or NaN, and for one that is too large for the precision of the store.
pub trait VectorSearch: Backend {
    /// The store of this backend.
    type Store: VectorStore;

    /// Makes a store of this shape without entries, with all numbers zero.
    ///
    /// # Errors
    /// As [`Shape::check`], [`Error::OutOfMemory`](polysort_core::Error::OutOfMemory), or a failure of the device.
    fn vector_store(&self, shape: Shape) -> Result<Self::Store, VectorError>;

    /// Computes the distance of each candidate from its query, and returns it with the candidate's slot.
    ///
    /// # Errors
    /// * The errors of [`Search::queries`].
    /// * [`VectorError::BadCandidates`] for wrong candidates with [`Check::Device`](crate::Check::Device).
    /// * [`Error::Unsupported`](polysort_core::Error::Unsupported) for a metric that the backend does not know.
    /// * A failure of the device.
    fn distances(&self, store: &Self::Store, search: &Search<'_>) -> Result<Distances, VectorError>;

    /// Returns the `k` nearest candidates of each query; all candidates of a query that has fewer.
    ///
    /// Distances are ordered as [`f32::total_cmp`] orders them: −0 before +0, NaN last.
    ///
    /// # Errors
    /// As [`distances`](VectorSearch::distances).
    fn nearest(&self, store: &Self::Store, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        nearest_by(self, &self.distances(store, search)?, search.candidate_offsets, k)
    }
}
