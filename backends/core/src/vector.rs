//! The contract of vector search: distances of queries to candidates, which name vectors by reference.
//!
//! ```text
//! query q ──candidate_offsets──▶ its candidates ──candidate_indices──▶ entries ──set_entries──▶ slots ──▶ vectors
//!                                     │
//!                                     └──▶ a distance and a slot for each ──▶ the k nearest of each query
//! ```
//!
//! A store keeps each vector in the slot into which it was written; slots may be unused. An entry names a slot, and an index groups its entries
//! into lists. So a list can grow, shrink and move, and no vector is copied.

use crate::{Backend, Error, Masks, Segments, Spec};

/// The slot that fills up the result of a query with too few candidates.
pub const NO_SLOT: u32 = u32::MAX;

/// The distance between two vectors. For every metric, nearer vectors have a smaller distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// The sum of the squares of the differences.
    #[default]
    L2,
    /// The inner product, negated.
    InnerProduct,
    /// One minus the cosine of the angle between the vectors; 1 if one of them is zero.
    Cosine,
}

/// The format in which a store keeps its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// Single precision, 4 bytes each: the numbers are kept as they are.
    #[default]
    F32,
    /// Half precision, 2 bytes each: the numbers are rounded to nearest, ties to even. A number that would round to infinity, of 65 520 or more, is
    /// refused. Distances are computed in single precision.
    F16,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
        }
    }

    /// The largest number of single precision that is finite in this one.
    pub fn largest(self) -> f32 {
        match self {
            Self::F32 => f32::MAX,
            // 65520 lies half way between the largest half, 65504, and the number after that. It rounds to infinity.
            Self::F16 => 65_520_f32.next_down(),
        }
    }

    /// Checks that all numbers are finite in this precision. `what` names them.
    ///
    /// # Errors
    /// [`Error::NotFinite`] with the first number that is not.
    pub fn check(self, what: &'static str, numbers: &[f32]) -> Result<(), Error> {
        let largest = self.largest();
        // A comparison with NaN is false.
        let is_finite = |number: &f32| number.abs() <= largest;
        // Every number is compared, without an exit in between: this loop is vector code.
        if numbers.iter().fold(true, |all, number| all & is_finite(number)) {
            return Ok(());
        }
        let index = numbers.iter().position(|number| !is_finite(number)).expect("one of the numbers is not finite");
        Err(Error::NotFinite { what, index, value: numbers[index], precision: self })
    }
}

/// The size and the format of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Shape {
    /// Numbers of a vector: 1 or more, at most 2³² − 2.
    pub dimension: usize,
    /// Slots, fewer than 2³².
    pub capacity: usize,
    /// The format of the numbers.
    pub precision: Precision,
}

impl Shape {
    /// A store of `capacity` vectors of `dimension` numbers, in single precision.
    pub fn new(dimension: usize, capacity: usize) -> Self {
        Self { dimension, capacity, precision: Precision::F32 }
    }

    /// The same shape with this precision.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The same shape with so many slots.
    #[must_use]
    pub fn capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// Bytes of a vector.
    pub fn vector_bytes(&self) -> usize {
        self.dimension * self.precision.bytes()
    }

    /// Checks that a store can have this shape.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a dimension of 0, [`Error::TooLong`] for a dimension above 2³² − 2 or a capacity above 2³² − 1,
    /// [`Error::OutOfMemory`] for more bytes than memory can have.
    pub fn check(&self) -> Result<(), Error> {
        if self.dimension == 0 {
            return Err(Error::Unsupported { what: "vectors of dimension 0".into() });
        }
        // Kernels round the dimension up to an even number.
        let limits = [("a vector, in numbers", self.dimension, u32::MAX - 1), ("a store, in slots", self.capacity, u32::MAX)];
        for (what, asked, limit) in limits {
            let (asked, limit) = (asked as u64, u64::from(limit));
            if asked > limit {
                return Err(Error::TooLong { what: what.into(), asked, limit });
            }
        }
        let bytes = self.dimension as u128 * self.capacity as u128 * self.precision.bytes() as u128;
        if bytes > isize::MAX as u128 {
            let asked = u64::try_from(bytes).unwrap_or(u64::MAX);
            return Err(Error::OutOfMemory { asked, limit: Some(isize::MAX as u64) });
        }
        Ok(())
    }

    /// Checks numbers that are to be written from `slot` on, and returns the number of vectors that they are.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a part of a vector, [`Error::OutOfRange`] for a vector after the last slot, [`Error::NotFinite`] for a number
    /// that is infinite or NaN, or too large for the precision.
    pub fn check_write(&self, slot: u32, numbers: &[f32]) -> Result<usize, Error> {
        let vectors = numbers.len() / self.dimension;
        Error::check_lengths("the numbers", numbers.len(), "whole vectors of them", vectors * self.dimension)?;
        let free = (self.capacity as u64).saturating_sub(slot.into());
        if vectors as u64 > free {
            let (value, limit) = (u64::from(slot) + vectors as u64 - 1, self.capacity as u64);
            return Err(Error::OutOfRange { what: "the slot of a vector", index: free as usize, value, limit });
        }
        self.precision.check("the vectors", numbers)?;
        Ok(vectors)
    }

    /// Checks that entries name slots of the store.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] with the first entry that does not.
    pub fn check_entries(&self, slots: &[u32]) -> Result<(), Error> {
        check_below("slots of entries", slots, self.capacity)
    }
}

/// Where a search detects candidates that name no entry, and entries that name no slot. No search reads outside of its arrays either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Check {
    /// The host detects them before anything is computed. The error names the first one.
    #[default]
    Host,
    /// The device detects them while it computes distances. The error contains their number. The host does not read the candidates then.
    Device,
}

/// Queries, and the candidates of each query.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Search<'a> {
    /// The metric of the distances.
    pub metric: Metric,
    /// The queries, row by row: number `d` of query `q` is `queries[q * dimension + d]`.
    pub queries: &'a [f32],
    /// The entries that are candidates: those of the first query, of the second one, and so on.
    pub candidate_indices: &'a [u32],
    /// The candidates of query `q` are `candidate_offsets[q] .. candidate_offsets[q + 1]`: one offset more than there are queries.
    pub candidate_offsets: &'a [u32],
    /// Where wrong candidates are detected.
    pub check: Check,
}

impl<'a> Search<'a> {
    /// A search by squared distance whose candidates the host checks.
    pub fn new(queries: &'a [f32], candidate_indices: &'a [u32], candidate_offsets: &'a [u32]) -> Self {
        Self { metric: Metric::L2, queries, candidate_indices, candidate_offsets, check: Check::Host }
    }

    /// The same search by this metric.
    #[must_use]
    pub fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// The same search whose candidates are checked there.
    #[must_use]
    pub fn check(self, check: Check) -> Self {
        Self { check, ..self }
    }

    /// Checks the search, in a store of vectors of that `dimension` with that many `entries`, and returns the number of queries.
    ///
    /// # Errors
    /// * [`Error::LengthMismatch`] if the offsets are not those of as many queries, or do not end at the last candidate,
    /// * [`Error::InvalidOffsets`] with the first query whose candidates end before they begin, or after the last one,
    /// * [`Error::OutOfRange`] for a first offset that is not 0 and, with [`Check::Host`], for the first candidate that is no entry,
    /// * [`Error::NotFinite`] for a query with a number that is infinite or NaN.
    pub fn queries(&self, dimension: usize, entries: usize) -> Result<usize, Error> {
        let (offsets, candidates) = (self.candidate_offsets, self.candidate_indices.len());
        let count = offsets.len().saturating_sub(1);
        Error::check_lengths(
            "the queries",
            self.queries.len(),
            "as many as the offsets are for",
            count.saturating_mul(dimension),
        )?;
        check_below("candidate_offsets", &offsets[..offsets.len().min(1)], 1)?;
        for (index, pair) in offsets.windows(2).enumerate() {
            let (begin, end) = (pair[0] as usize, pair[1] as usize);
            if end < begin || end > candidates {
                return Err(Error::InvalidOffsets { index, begin, end, at_least: begin, keys: candidates });
            }
        }
        let covered = offsets.last().map_or(0, |&last| last as usize);
        Error::check_lengths("candidate_indices", candidates, "what candidate_offsets cover", covered)?;
        Precision::F32.check("the queries", self.queries)?;
        if self.check == Check::Host {
            check_below("candidate_indices", self.candidate_indices, entries)?;
        }
        Ok(count)
    }
}

/// Checks that all `values` are below `limit`; the error has the first one that is not.
fn check_below(what: &'static str, values: &[u32], limit: usize) -> Result<(), Error> {
    // Candidates are many. The largest one is found without an exit in between: this loop is vector code.
    if limit > 0 && (values.iter().fold(0, |largest, &value| value.max(largest)) as usize) < limit {
        return Ok(());
    }
    match values.iter().position(|&value| value as usize >= limit) {
        None => Ok(()),
        Some(index) => Err(Error::OutOfRange { what, index, value: values[index].into(), limit: limit as u64 }),
    }
}

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
    /// The result with these distances and slots: `k` for each query, filled up with [`NO_SLOT`].
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if they differ in number.
    pub fn new(k: usize, distances: Vec<f32>, slots: Vec<u32>) -> Result<Self, Error> {
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
    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), Error>;

    /// Replaces all entries: the vector of entry `e` lies in slot `slots[e]`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] with the first entry that names no slot, or a failure of the device.
    fn set_entries(&mut self, slots: &[u32]) -> Result<(), Error>;
}

/// A backend that searches vectors.
///
/// # Accuracy
/// Distances are sums in single precision, in an order that the backend chooses, so two backends may differ in the last bits. Equal input gives
/// equal output on one backend.
///
/// | metric | largest error |
/// |---|---|
/// | `L2`, `InnerProduct` | `e = 2 * (dimension + 1) * 2⁻²⁴` times the sum of the absolute terms, and `dimension * 2⁻¹²⁶` |
/// | `Cosine` | `e` times (the sum of the absolute products over both norms, plus the absolute cosine), and `16 * 2⁻²⁴` |
///
/// * `L2` and `InnerProduct`: if the absolute terms add up to more than `f32::MAX`, the distance may be infinite or NaN.
/// * `Cosine`: the bound holds for norms of every size, also for those whose squares are too large or too small for single precision: the backend
///   scales such vectors before it squares their numbers. Numbers below 2⁻¹²⁶ may count as zero.
/// * A NaN has its sign clear on every backend, so it is farther than all other distances.
///
/// Stores and queries have finite numbers only: others are refused with [`Error::NotFinite`].
pub trait VectorSearch: Backend {
    /// The store of this backend.
    type Store: VectorStore;

    /// Makes a store of this shape without entries, with all numbers zero.
    ///
    /// # Errors
    /// As [`Shape::check`], [`Error::OutOfMemory`], or a failure of the device.
    fn vector_store(&self, shape: Shape) -> Result<Self::Store, Error>;

    /// Computes the distance of each candidate from its query, and returns it with the candidate's slot.
    ///
    /// # Errors
    /// As [`Search::queries`]; [`Error::BadCandidates`] with [`Check::Device`] if candidates are wrong; [`Error::Unsupported`] for a metric that the
    /// backend does not know; or a failure of the device.
    fn distances(&self, store: &Self::Store, search: &Search<'_>) -> Result<Distances, Error>;

    /// Returns the `k` nearest candidates of each query; all candidates of a query that has fewer.
    ///
    /// Distances are ordered as [`f32::total_cmp`] orders them: −0 before +0, NaN last.
    ///
    /// # Errors
    /// As [`distances`](VectorSearch::distances).
    fn nearest(&self, store: &Self::Store, search: &Search<'_>, k: usize) -> Result<Nearest, Error> {
        nearest_by(self, &self.distances(store, search)?, search.candidate_offsets, k)
    }
}

/// Selects the `k` nearest candidates of each query from all distances, on `backend`.
///
/// # Errors
/// As [`Backend::top_k_segments_bits`].
pub fn nearest_by<B: Backend>(backend: &B, found: &Distances, candidate_offsets: &[u32], k: usize) -> Result<Nearest, Error> {
    let offsets: Vec<usize> = candidate_offsets.iter().map(|&offset| offset as usize).collect();
    let keys = bytemuck::cast_slice(&found.distances);
    let selected = backend.top_k_segments_bits::<u32>(keys, k, Segments::Offsets(&offsets), BY_DISTANCE)?;
    nearest_of(found, candidate_offsets, k, &selected)
}

/// The order of distances as words of 32 bits.
pub const BY_DISTANCE: Spec = Spec { masks: Masks::float(32), begin: 0, end: 32 };

/// Returns the `k` nearest candidates of each query. `selected` has, for each query, the positions of its first `k` distances by
/// [`BY_DISTANCE`], or of all of them if there are fewer.
///
/// # Errors
/// As [`Nearest::new`].
///
/// # Panics
/// If a position is not that of a distance.
pub fn nearest_of(found: &Distances, candidate_offsets: &[u32], k: usize, selected: &[u32]) -> Result<Nearest, Error> {
    let Distances { distances, slots } = found;
    let lengths = || candidate_offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
    let most = lengths().max().unwrap_or(0).min(k);
    let (mut near, mut near_slots, mut rest) = (vec![], vec![], selected);
    for length in lengths() {
        let (positions, others) = rest.split_at(length.min(k));
        near.extend(positions.iter().map(|&position| distances[position as usize]));
        near_slots.extend(positions.iter().map(|&position| slots[position as usize]));
        near.resize(near.len() + most - positions.len(), f32::INFINITY);
        near_slots.resize(near.len(), NO_SLOT);
        rest = others;
    }
    Nearest::new(most, near, near_slots)
}
