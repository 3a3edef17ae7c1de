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
mod sums;
mod task;

use crate::backend::RayonBackend;
use half::f16;
use half::slice::HalfFloatSliceExt;
use polysort_core::Error;
use polysort_vector::{Distances, Metric, Nearest, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};
use task::Task;

/// The vectors and entries of a [`RayonBackend`], in the memory of the host.
#[derive(Clone, Debug)]
pub struct RayonStore {
    shape: Shape,
    vectors: Vectors,
    entries: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Vectors {
    F32(Vec<f32>),
    F16(Vec<f16>),
}

impl VectorStore for RayonStore {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn entries(&self) -> usize {
        self.entries.len()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        if self.shape.check_write(slot, vectors)? == 0 {
            return Ok(());
        }
        let start = slot as usize * self.shape.dimension;
        let place = start..start + vectors.len();
        match &mut self.vectors {
            Vectors::F32(kept) => kept[place].copy_from_slice(vectors),
            Vectors::F16(kept) => kept[place].convert_from_f32_slice(vectors),
        }
        Ok(())
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.shape.check_entries(slots)?;
        self.entries.clear();
        self.entries.extend_from_slice(slots);
        Ok(())
    }
}

impl VectorSearch for RayonBackend {
    type Store = RayonStore;

    fn vector_store(&self, shape: Shape) -> Result<RayonStore, VectorError> {
        shape.check()?;
        let vectors = match shape.precision {
            Precision::F32 => Vectors::F32(zeros(shape)?),
            Precision::F16 => Vectors::F16(zeros(shape)?),
            other => return Err(Error::Unsupported { what: format!("vectors in the precision {other:?}") }.into()),
        };
        Ok(RayonStore { shape, vectors, entries: vec![] })
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

/// The numbers of an empty store, whose shape has been checked.
fn zeros<T: Clone + Default>(shape: Shape) -> Result<Vec<T>, Error> {
    let len = shape.dimension * shape.capacity;
    let mut numbers = vec![];
    let no_memory = |_| Error::OutOfMemory { asked: len as u64 * size_of::<T>() as u64, limit: None };
    numbers.try_reserve_exact(len).map_err(no_memory)?;
    numbers.resize(len, T::default());
    Ok(numbers)
}
