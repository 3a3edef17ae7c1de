//! Distances in double precision, and how far from them a backend may be.

use crate::oracle::StdBackend;
use half::f16;
use polysort_core::Error;
use polysort_vector::{Distances, Metric, NO_SLOT, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};

/// Half the distance from 1 to the next number: the largest share by which rounding changes a number.
const ROUNDING: f64 = 1.0 / (1_u64 << 24) as f64;

/// A distance in double precision, and how far a backend may be from it.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    /// The distance.
    pub distance: f64,
    /// The largest error that a backend may make; infinite if the terms of the sum exceed single precision.
    pub tolerance: f64,
}

impl Exact {
    /// The distance of two vectors, whose numbers are those of the store.
    ///
    /// The tolerance is the largest error that [`VectorSearch`] allows. A sum of `n` terms is right to `2 * (n + 1)` roundings of the sum of its absolute
    /// terms: `n - 1` for the additions in the worst order, three for a term. A cosine has three such sums, and sixteen more roundings for roots, quotient
    /// and difference. Numbers and terms below 2⁻¹²⁶ may count as zero.
    ///
    /// # Panics
    /// If the metric is not known.
    pub fn new(metric: Metric, query: &[f32], vector: &[f32]) -> Self {
        let sum = |term: fn(f64, f64) -> f64| query.iter().zip(vector).map(|(&a, &b)| term(a.into(), b.into())).sum::<f64>();
        let share = 2.0 * (query.len() + 1) as f64 * ROUNDING;
        let lost_terms = query.len() as f64 * f64::from(f32::MIN_POSITIVE);
        let product = sum(|a, b| a * b);
        match metric {
            Metric::L2 => {
                let distance = sum(|a, b| (a - b) * (a - b));
                Self::of_sum(distance, distance, share, lost_terms)
            }
            Metric::InnerProduct => {
                let lost_numbers = sum(|a, b| if is_tiny(a) || is_tiny(b) { (a * b).abs() } else { 0.0 });
                Self::of_sum(-product, sum(|a, b| (a * b).abs()), share, lost_terms + lost_numbers)
            }
            Metric::Cosine => {
                let (of_query, of_vector) = (sum(|a, _| a * a).sqrt(), sum(|_, b| b * b).sqrt());
                if of_query == 0.0 || of_vector == 0.0 {
                    return Self { distance: 1.0, tolerance: 0.0 };
                }
                let (cosine, absolutes) = (product / of_query / of_vector, sum(|a, b| (a * b).abs()) / of_query / of_vector);
                // Without its tiny numbers a vector has another direction: by twice the share of its norm that they are, at most.
                let lost = sum(|a, _| if is_tiny(a) { a * a } else { 0.0 }).sqrt() / of_query
                    + sum(|_, b| if is_tiny(b) { b * b } else { 0.0 }).sqrt() / of_vector;
                let tolerance = share * (absolutes + cosine.abs()) + 16.0 * ROUNDING + 2.0 * lost;
                Self { distance: 1.0 - cosine, tolerance }
            }
            other => panic!("the suite does not know the metric {other:?}"),
        }
    }

    fn of_sum(distance: f64, absolutes: f64, share: f64, lost: f64) -> Self {
        let exceeds = absolutes * (1.0 + share) > f64::from(f32::MAX);
        Self { distance, tolerance: if exceeds { f64::INFINITY } else { share * absolutes + lost } }
    }

    /// Whether a backend may give `distance`.
    pub fn allows(&self, distance: f32) -> bool {
        self.tolerance == f64::INFINITY || (f64::from(distance) - self.distance).abs() <= self.tolerance
    }
}

/// Whether a device may take a number for zero.
fn is_tiny(number: f64) -> bool {
    number.abs() < f64::from(f32::MIN_POSITIVE)
}

/// Numbers as a store of this precision keeps them.
pub(crate) fn kept(precision: Precision, numbers: &[f32]) -> Vec<f32> {
    match precision {
        Precision::F32 => numbers.to_vec(),
        Precision::F16 => numbers.iter().map(|&number| f16::from_f32(number).to_f32()).collect(),
        other => panic!("the suite does not know the precision {other:?}"),
    }
}

/// The vectors of [`StdBackend`].
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

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        let start = slot as usize * self.shape.dimension;
        if self.shape.check_write(slot, vectors)? > 0 {
            self.vectors[start..][..vectors.len()].copy_from_slice(&kept(self.shape.precision, vectors));
        }
        Ok(())
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.shape.check_entries(slots)?;
        self.entries = slots.to_vec();
        Ok(())
    }
}

/// Distances in double precision, by two loops; the nearest by the provided method. A distance whose terms exceed single precision is NaN.
impl VectorSearch for StdBackend {
    type Store = StdStore;

    fn vector_store(&self, shape: Shape) -> Result<StdStore, VectorError> {
        shape.check()?;
        let numbers = shape.dimension * shape.capacity;
        let mut vectors = vec![];
        let no_memory = |_| Error::OutOfMemory { asked: 4 * numbers as u64, limit: None };
        vectors.try_reserve_exact(numbers).map_err(no_memory)?;
        vectors.resize(numbers, 0.0);
        Ok(StdStore { shape, vectors, entries: vec![] })
    }

    fn distances(&self, store: &StdStore, search: &Search<'_>) -> Result<Distances, VectorError> {
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
                    let exact = Exact::new(search.metric, query, &store.vectors[slot as usize * dimension..][..dimension]);
                    if exact.tolerance == f64::INFINITY { f32::NAN } else { exact.distance as f32 }
                };
                found.distances.push(distance);
                found.slots.push(slot);
            }
        }
        VectorError::check_candidates(count)?;
        Ok(found)
    }
}
