//! Vector search: distances of queries to candidates, and the nearest candidates of each query.
//!
//! ```text
//! distances   the candidates are cut into chunks of about equal work, one task each
//!     for each candidate: entry ▶ slot ▶ vector; one pass over query and vector, LANES sums at a time
//! nearest     the same tasks, cut at queries; each task keeps the best k of its candidates, and the tasks of a query join them
//! ```
//!
//! Vectors in adjacent slots are read in order, and the processor prefetches them. Vectors in scattered slots would each cost a wait for memory.
//! So a task first reads one number of each cache line of some vectors, and these waits overlap.
//!
//! The order in which a candidate's terms are added depends on the dimension only. So a distance has the same bits in both operations and on
//! every number of threads. `nearest` does not store all distances.

mod distance;
mod kept;
#[cfg(test)]
mod samples;
mod store;
mod sums;
mod task;

pub use store::RayonStore;

use crate::backend::RayonBackend;
use polysort_core::Error;
use polysort_vector::{Distances, Metric, Nearest, Search, Shape, VectorError, VectorSearch, VectorStore};
use store::Vectors;
use task::Task;

impl VectorSearch for RayonBackend {
    type Store = RayonStore;

    fn vector_store(&self, shape: Shape) -> Result<RayonStore, VectorError> {
        RayonStore::new(shape)
    }

    fn distances(&self, store: &RayonStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        checked(store, search)?;
        match &store.vectors {
            Vectors::F32(vectors) => Task { store, vectors, search }.distances(self),
            Vectors::F16(vectors) => Task { store, vectors, search }.distances(self),
        }
    }

    fn nearest(&self, store: &RayonStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        let queries = checked(store, search)?;
        match &store.vectors {
            Vectors::F32(vectors) => Task { store, vectors, search }.nearest(self, queries, k),
            Vectors::F16(vectors) => Task { store, vectors, search }.nearest(self, queries, k),
        }
    }
}

/// Checks a search by a metric that is computed here, and returns the number of its queries.
fn checked(store: &RayonStore, search: &Search<'_>) -> Result<usize, VectorError> {
    match search.metric {
        Metric::L2 | Metric::InnerProduct | Metric::Cosine => search.queries(store.shape.dimension, store.entries()),
        other => Err(Error::Unsupported { what: format!("distances by the metric {other:?}") }.into()),
    }
}
