//! The seam of vector search: how far queries are from candidates, which are told by reference.
//!
//! ```text
//! query q ──candidate_offsets──▶ its candidates ──candidate_indices──▶ entries ──set_entries──▶ slots ──▶ vectors
//!                                     │
//!                                     └──▶ a distance and a slot each ──▶ the k nearest of each query
//! ```
//!
//! An index has entries, list by list; vectors stay in the slots where they were first put, with gaps where some were removed. So a
//! list can grow, shrink and move without a vector being copied.

use crate::{Backend, Error, Masks, Segments, Spec};

/// The slot of nothing: what fills up the result of a query with too few candidates.
pub const NO_SLOT: u32 = u32::MAX;

/// How far apart two vectors are. Whatever it is, nearer is smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The sum of the squares of the differences.
    #[default]
    L2,
    /// The inner product, negated.
    InnerProduct,
    /// One less the cosine of the angle between them; 1 if either is zero.
    Cosine,
}

/// How a store keeps its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// As they are, 4 bytes each.
    #[default]
    F32,
    /// Rounded to the nearest of half precision, ties to even, 2 bytes each. Distances are computed in single precision all the
    /// same.
    F16,
}

/// What a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Numbers of a vector, 1 or more.
    pub dimension: usize,
    /// Slots, fewer than 2³².
    pub capacity: usize,
    /// How they are kept.
    pub precision: Precision,
}

impl Shape {
    /// A store of `capacity` vectors of `dimension` numbers, kept as they are.
    pub fn new(dimension: usize, capacity: usize) -> Self {
        Self { dimension, capacity, precision: Precision::F32 }
    }

    /// Kept like this.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Bytes of a vector.
    pub fn vector_bytes(&self) -> usize {
        self.dimension * if self.precision == Precision::F16 { 2 } else { 4 }
    }

    /// Whether a store can have this shape.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for vectors of no numbers, [`Error::TooLong`] for slots that 32 bits cannot tell.
    pub fn check(&self) -> Result<(), Error> {
        if self.dimension == 0 {
            return Err(Error::Unsupported { what: "vectors of dimension 0".into() });
        }
        let limit = u64::from(NO_SLOT);
        if self.capacity as u64 > limit {
            return Err(Error::TooLong { what: "a store, in slots".into(), asked: self.capacity as u64, limit });
        }
        Ok(())
    }

    /// The number of vectors that `numbers` are, to be written from `slot` on.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a part of a vector, [`Error::OutOfRange`] for one past the last slot.
    pub fn check_write(&self, slot: u32, numbers: usize) -> Result<usize, Error> {
        let vectors = numbers / self.dimension;
        Error::check_lengths("the numbers", numbers, "whole vectors of them", vectors * self.dimension)?;
        let free = (self.capacity as u64).saturating_sub(slot.into());
        if vectors as u64 > free {
            let (value, limit) = (u64::from(slot) + vectors as u64 - 1, self.capacity as u64);
            return Err(Error::OutOfRange { what: "the slot of a vector", index: free as usize, value, limit });
        }
        Ok(vectors)
    }

    /// Whether entries name slots that there are.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] with the first that does not.
    pub fn check_entries(&self, slots: &[u32]) -> Result<(), Error> {
        below("slots of entries", slots, self.capacity)
    }
}

/// Who finds candidates that name entries, or entries that name slots, which are not there. Nobody reads past an end either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Check {
    /// The host, before anything is computed: the error names the first of them.
    #[default]
    Host,
    /// Whoever computes the distance: the error tells how many there are. The host then reads the candidates only to pass them on.
    Device,
}

/// Queries, and the candidates of each.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// How far is measured.
    pub metric: Metric,
    /// The queries, row by row: number `d` of query `q` is `queries[q * dimension + d]`.
    pub queries: &'a [f32],
    /// The entries that are candidates: those of the first query, of the second, and so on.
    pub candidate_indices: &'a [u32],
    /// The candidates of query `q` are `candidate_offsets[q] .. candidate_offsets[q + 1]`: one offset more than there are queries.
    pub candidate_offsets: &'a [u32],
    /// Who finds wrong candidates.
    pub check: Check,
}

impl<'a> Search<'a> {
    /// By squared distance, checked by the host.
    pub fn new(queries: &'a [f32], candidate_indices: &'a [u32], candidate_offsets: &'a [u32]) -> Self {
        Self { metric: Metric::L2, queries, candidate_indices, candidate_offsets, check: Check::Host }
    }

    /// By this metric.
    #[must_use]
    pub fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// Checked by whom.
    #[must_use]
    pub fn check(self, check: Check) -> Self {
        Self { check, ..self }
    }

    /// The number of queries, in a store of vectors of that `dimension` with that many `entries`.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for queries that are not as many as the offsets say, or offsets that do not end at the last
    /// candidate; [`Error::InvalidOffsets`] with the first query whose candidates end before they begin, or past the last one;
    /// [`Error::OutOfRange`] for a first offset that is not 0 and, if the host is to check them, with the first candidate that is no entry.
    pub fn queries(&self, dimension: usize, entries: usize) -> Result<usize, Error> {
        let (offsets, candidates) = (self.candidate_offsets, self.candidate_indices.len());
        let count = offsets.len().saturating_sub(1);
        Error::check_lengths("the queries", self.queries.len(), "as many as offsets tell", count * dimension)?;
        below("candidate_offsets", &offsets[..offsets.len().min(1)], 1)?;
        for (index, pair) in offsets.windows(2).enumerate() {
            let (begin, end) = (pair[0] as usize, pair[1] as usize);
            if end < begin || end > candidates {
                return Err(Error::InvalidOffsets { index, begin, end, at_least: begin, keys: candidates });
            }
        }
        let covered = offsets.last().map_or(0, |&last| last as usize);
        Error::check_lengths("candidate_indices", candidates, "what candidate_offsets cover", covered)?;
        if self.check == Check::Host {
            below("candidate_indices", self.candidate_indices, entries)?;
        }
        Ok(count)
    }
}

/// The first of `values` that is not below `limit`, as an error.
fn below(what: &'static str, values: &[u32], limit: usize) -> Result<(), Error> {
    // All of them first, without an end in between: that is vector code, and candidates are many.
    if limit > 0 && (values.iter().fold(0, |largest, &value| value.max(largest)) as usize) < limit {
        return Ok(());
    }
    match values.iter().position(|&value| value as usize >= limit) {
        None => Ok(()),
        Some(index) => Err(Error::OutOfRange { what, index, value: values[index].into(), limit: limit as u64 }),
    }
}

/// A distance and a slot for each candidate, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distances {
    /// How far it is from its query.
    pub distances: Vec<f32>,
    /// Where its vector lies.
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
    /// Of distances and slots for each query, `k` each, filled up with [`NO_SLOT`].
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if they differ in number.
    pub fn new(k: usize, distances: Vec<f32>, slots: Vec<u32>) -> Result<Self, Error> {
        Error::check_lengths("distances", distances.len(), "slots", slots.len())?;
        Ok(Self { k, distances, slots })
    }

    /// The slots of what is nearest to query `query`, and how far each is: as many as there are candidates, `k` at most.
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

/// Vectors in slots, where a backend computes with them. On an error it is as it was.
pub trait VectorStore: Send + Sync {
    /// What it holds.
    fn shape(&self) -> Shape;

    /// How many entries there are.
    fn entries(&self) -> usize;

    /// Puts vectors, row by row, into the slots from `slot` on.
    ///
    /// # Errors
    /// As [`Shape::check_write`], or a failure of the device.
    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), Error>;

    /// Says in which slot the vector of each entry lies: `slots[e]` is that of entry `e`. All earlier entries are forgotten.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] with the first entry whose slot is not there, or a failure of the device.
    fn set_entries(&mut self, slots: &[u32]) -> Result<(), Error>;
}

/// A backend that searches vectors.
///
/// Distances are sums of single precision, in an order that the backend chooses, so two backends may differ in the last bits. Each
/// sum is right to `2 * (dimension + 1) * 2⁻²⁴` of the sum of its absolute terms; terms below 2⁻¹²⁶ may count as zero. A cosine is
/// a quotient of such sums: it is right to that share of the product's absolute terms over both lengths, and of itself, and
/// `16 * 2⁻²⁴` more. On the same backend equal input gives equal output.
///
/// Vectors with numbers that are infinite or none have distances that may be anything; no other distance changes. One that is no
/// number has its sign clear, whatever the device makes of it, so it is farther than all others.
pub trait VectorSearch: Backend {
    /// Where it keeps vectors.
    type Store: VectorStore;

    /// A store of this shape, all zeros, without entries.
    ///
    /// # Errors
    /// As [`Shape::check`], [`Error::OutOfMemory`], or a failure of the device.
    fn vector_store(&self, shape: Shape) -> Result<Self::Store, Error>;

    /// How far each candidate is from its query, and in which slot it lies.
    ///
    /// # Errors
    /// As [`Search::queries`]; [`Error::BadCandidates`] if wrong candidates are found only now; or a failure of the device.
    fn distances(&self, store: &Self::Store, search: &Search<'_>) -> Result<Distances, Error>;

    /// The `k` nearest candidates of each query; all of a query that has fewer.
    ///
    /// Distances are ordered as [`f32::total_cmp`] does: those that are no numbers come last, −0 before +0.
    ///
    /// # Errors
    /// As [`distances`](VectorSearch::distances).
    fn nearest(&self, store: &Self::Store, search: &Search<'_>, k: usize) -> Result<Nearest, Error> {
        nearest_by(self, &self.distances(store, search)?, search.candidate_offsets, k)
    }
}

/// The `k` nearest of each query, selected from all distances by `backend`.
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

/// The `k` nearest of each query, where `selected` are the positions of the first `k` distances of each, by [`BY_DISTANCE`], or as many as
/// there are.
///
/// # Errors
/// As [`Nearest::new`].
///
/// # Panics
/// If a position is not one of a distance.
pub fn nearest_of(found: &Distances, candidate_offsets: &[u32], k: usize, selected: &[u32]) -> Result<Nearest, Error> {
    let Distances { distances, slots } = found;
    let lengths = || candidate_offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
    let most = lengths().max().unwrap_or(0).min(k);
    let (mut near, mut near_slots, mut rest) = (vec![], vec![], selected);
    for length in lengths() {
        let (places, others) = rest.split_at(length.min(k));
        near.extend(places.iter().map(|&place| distances[place as usize]));
        near_slots.extend(places.iter().map(|&place| slots[place as usize]));
        near.resize(near.len() + most - places.len(), f32::INFINITY);
        near_slots.resize(near.len(), NO_SLOT);
        rest = others;
    }
    Nearest::new(most, near, near_slots)
}
