//! A store of any backend behind one type.

use crate::backend::{VectorSearch, VectorStore};
use crate::error::VectorError;
use crate::found::{Distances, Nearest};
use crate::search::Search;
use crate::shape::Shape;
use core::fmt;

/// Vectors in the memory of any backend. The store keeps a handle to this backend, and searches run there.
///
/// Wrappers that select a backend at run time have this type as their store.
pub struct DynStore(Box<dyn Object>);

/// A store and the backend that made it.
struct Made<B: VectorSearch> {
    backend: B,
    store: B::Store,
}

/// The part of [`Made`] that needs no type.
trait Object: Send + Sync {
    fn backend(&self) -> String;
    fn store(&self) -> &dyn VectorStore;
    fn store_mut(&mut self) -> &mut dyn VectorStore;
    fn distances(&self, search: &Search<'_>) -> Result<Distances, VectorError>;
    fn nearest(&self, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError>;
}

impl<B: VectorSearch> Object for Made<B> {
    fn backend(&self) -> String {
        self.backend.name()
    }

    fn store(&self) -> &dyn VectorStore {
        &self.store
    }

    fn store_mut(&mut self) -> &mut dyn VectorStore {
        &mut self.store
    }

    fn distances(&self, search: &Search<'_>) -> Result<Distances, VectorError> {
        self.backend.distances(&self.store, search)
    }

    fn nearest(&self, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        self.backend.nearest(&self.store, search, k)
    }
}

impl DynStore {
    /// Makes a store of this shape on `backend`, as [`VectorSearch::vector_store`] does.
    ///
    /// # Errors
    /// As [`VectorSearch::vector_store`].
    pub fn new<B: VectorSearch>(backend: &B, shape: Shape) -> Result<Self, VectorError> {
        let store = backend.vector_store(shape)?;
        Ok(Self(Box::new(Made { backend: backend.clone(), store })))
    }

    /// Returns the name of the backend that has the vectors.
    pub fn backend(&self) -> String {
        self.0.backend()
    }

    /// Computes distances on the backend that has the vectors.
    ///
    /// # Errors
    /// As [`VectorSearch::distances`].
    pub fn distances(&self, search: &Search<'_>) -> Result<Distances, VectorError> {
        self.0.distances(search)
    }

    /// Returns the `k` nearest candidates of each query, on the backend that has the vectors.
    ///
    /// # Errors
    /// As [`VectorSearch::nearest`].
    pub fn nearest(&self, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        self.0.nearest(search, k)
    }
}

impl VectorStore for DynStore {
    fn shape(&self) -> Shape {
        self.0.store().shape()
    }

    fn entries(&self) -> usize {
        self.0.store().entries()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        self.0.store_mut().write(slot, vectors)
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.0.store_mut().set_entries(slots)
    }
}

impl fmt::Debug for DynStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynStore").field("backend", &self.backend()).field("shape", &self.shape()).finish()
    }
}
