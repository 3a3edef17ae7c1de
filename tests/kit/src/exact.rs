//! Distances in double precision, and how far from them a backend may be.

use crate::oracle::StdBackend;
use half::f16;
use polysort_core::Error;
use polysort_core::vector::{Distances, Metric, NO_SLOT, Precision, Search, Shape, VectorSearch, VectorStore};

/// Half the distance of 1 to the next number: what rounding changes, at most, in proportion.
const ROUNDING: f64 = 1.0 / (1_u64 << 24) as f64;

/// A distance, and what a backend may be off by.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    /// The distance.
    pub distance: f64,
    /// Backends are at most so far off.
    pub tolerance: f64,
}

impl Exact {
    /// The distance of two vectors, as they are kept.
    ///
    /// A sum of `n` terms is right to `2 * (n + 1)` roundings of the sum of their absolutes: `n - 1` for the additions, three for a
    /// term, in the worst of all orders. The cosine has three such sums, and sixteen more roundings pay for roots, quotient and
    /// difference.
    pub fn new(metric: Metric, query: &[f32], vector: &[f32]) -> Self {
        let sum = |term: fn(f64, f64) -> f64| query.iter().zip(vector).map(|(&a, &b)| term(a.into(), b.into())).sum::<f64>();
        let share = 2.0 * (query.len() + 1) as f64 * ROUNDING;
        // Numbers that are not normal may count as zero.
        let least = query.len() as f64 * f64::from(f32::MIN_POSITIVE);
        let (product, absolutes) = (sum(|a, b| a * b), sum(|a, b| (a * b).abs()));
        match metric {
            Metric::L2 => {
                let distance = sum(|a, b| (a - b) * (a - b));
                Self { distance, tolerance: share * distance + least }
            }
            Metric::InnerProduct => Self { distance: -product, tolerance: share * absolutes + least },
            Metric::Cosine => {
                let norms = (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt();
                if norms == 0.0 {
                    return Self { distance: 1.0, tolerance: 0.0 };
                }
                let cosine = product / norms;
                Self { distance: 1.0 - cosine, tolerance: share * (absolutes / norms + cosine.abs()) + 16.0 * ROUNDING }
            }
        }
    }

    /// Whether a backend may give `distance`.
    pub fn allows(&self, distance: f32) -> bool {
        (f64::from(distance) - self.distance).abs() <= self.tolerance
    }
}

/// Numbers as a store of this precision keeps them.
pub(crate) fn kept(precision: Precision, numbers: &[f32]) -> Vec<f32> {
    match precision {
        Precision::F32 => numbers.to_vec(),
        Precision::F16 => numbers.iter().map(|&number| f16::from_f32(number).to_f32()).collect(),
    }
}

/// Vectors of [`StdBackend`].
#[derive(Clone, Debug)]
pub struct StdStore {
    shape: Shape,
    /// Row by row, as they are kept.
    pub vectors: Vec<f32>,
    /// The slot of each entry.
    pub entries: Vec<u32>,
}

impl VectorStore for StdStore {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn entries(&self) -> usize {
        self.entries.len()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), Error> {
        let start = slot as usize * self.shape.dimension;
        if self.shape.check_write(slot, vectors.len())? > 0 {
            self.vectors[start..][..vectors.len()].copy_from_slice(&kept(self.shape.precision, vectors));
        }
        Ok(())
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), Error> {
        self.shape.check_entries(slots)?;
        self.entries = slots.to_vec();
        Ok(())
    }
}

/// One loop in the other, in double precision; what is nearest, by what is provided.
impl VectorSearch for StdBackend {
    type Store = StdStore;

    fn vector_store(&self, shape: Shape) -> Result<StdStore, Error> {
        shape.check()?;
        let numbers = shape.dimension.checked_mul(shape.capacity).filter(|&numbers| numbers < 1 << 40);
        let out_of_memory = Error::OutOfMemory { asked: u64::MAX, limit: None };
        Ok(StdStore { shape, vectors: vec![0.0; numbers.ok_or(out_of_memory)?], entries: vec![] })
    }

    fn distances(&self, store: &StdStore, search: &Search<'_>) -> Result<Distances, Error> {
        let dimension = store.shape.dimension;
        let queries = search.queries(dimension, store.entries())?;
        let (mut found, mut count) = (Distances::default(), 0);
        for query in 0..queries {
            let range = search.candidate_offsets[query] as usize..search.candidate_offsets[query + 1] as usize;
            let query = &search.queries[query * dimension..][..dimension];
            for &candidate in &search.candidate_indices[range] {
                let slot = store.entries.get(candidate as usize).copied().unwrap_or(NO_SLOT);
                let distance = if slot == NO_SLOT {
                    count += 1;
                    f32::INFINITY
                } else {
                    Exact::new(search.metric, query, &store.vectors[slot as usize * dimension..][..dimension]).distance as f32
                };
                found.distances.push(if distance.is_nan() { f32::NAN } else { distance });
                found.slots.push(slot);
            }
        }
        if count == 0 { Ok(found) } else { Err(Error::BadCandidates { count }) }
    }
}
