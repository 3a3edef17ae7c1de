//! What a search returns.

use crate::error::VectorError;
use polysort_core::Error;

/// The slot that fills up the result of a query with too few candidates.
pub const NO_SLOT: u32 = u32::MAX;

/// A distance and a slot for each candidate, in the order of the candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distances {
    /// The distance of each candidate from its query.
    pub distances: Vec<f32>,
    /// The slot of each candidate's vector.
    pub slots: Vec<u32>,
}

/// The nearest candidates of each query, nearest first, equally near ones in the order of the candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearest {
    k: usize,
    distances: Vec<f32>,
    slots: Vec<u32>,
}

impl Nearest {
    /// Makes a result of `k` distances and `k` slots for each query. A query with fewer candidates must have [`NO_SLOT`] in place of each missing
    /// slot, after its other slots; the distances there are not used.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], as a [`VectorError`], if the number of distances is not that of slots.
    pub fn new(k: usize, distances: Vec<f32>, slots: Vec<u32>) -> Result<Self, VectorError> {
        Error::check_lengths("distances", distances.len(), "slots", slots.len())?;
        Ok(Self { k, distances, slots })
    }

    /// The slots of the candidates that are nearest to query `query`, and their distances: `k` of them, or all if the query has fewer candidates.
    ///
    /// # Panics
    /// If there is no such query.
    pub fn of(&self, query: usize) -> (&[u32], &[f32]) {
        let all = query * self.k..(query + 1) * self.k;
        let slots = &self.slots[all.clone()];
        let found = slots.iter().position(|&slot| slot == NO_SLOT).unwrap_or(self.k);
        (&slots[..found], &self.distances[all][..found])
    }
}
