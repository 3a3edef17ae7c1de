//! Vector search: that of the engine.

use crate::MetalBackend;
use polysort_vector::{Distances, Nearest, Search, Shape, VectorError, VectorSearch};
use polysort_wgpu::WgpuStore;

impl VectorSearch for MetalBackend {
    type Store = WgpuStore;

    fn vector_store(&self, shape: Shape) -> Result<WgpuStore, VectorError> {
        self.gpu().vector_store(shape)
    }

    fn distances(&self, store: &WgpuStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        self.gpu().distances(store, search)
    }

    fn nearest(&self, store: &WgpuStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        self.gpu().nearest(store, search, k)
    }
}
