//! The index: ids, slots, and lists of slots.
//!
//! ```text
//! entries    [ list 0 | list 1 | …       ]   the slot of each entry, list by list; the backend has a copy
//! offsets    [ 0, …, …, entries          ]   where each list begins
//! slots      id, id, free, id, free, …       a vector stays in its slot; free slots are used again, the lowest first
//! ```
//!
//! A change computes the new state beside the old one. The last step that can fail sends the new entries to the backend.

use super::error::IvfError;
use super::kmeans::{CANDIDATES, Centers, drawn};
use super::lists::Lists;
use super::options::IvfOptions;
use crate::backend::{VectorSearch, VectorStore};
use crate::error::VectorError;
use crate::found::NO_SLOT;
use crate::metric::Metric;
use crate::precision::Precision;
use crate::search::{Check, Search};
use crate::shape::Shape;
use polysort_core::Error;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::{BTreeSet, HashMap};

/// The most vectors that one call writes to the store.
const WRITTEN: usize = 1024;

/// A vector that a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// The id that the vector was added with.
    pub id: u64,
    /// Its distance from the query, by the metric of the index.
    pub distance: f32,
}

/// An index of vectors by inverted lists (Jégou, Douze and Schmid, 2011): a search reads some of the lists only.
///
/// The vectors lie in the backend's memory and in the host's memory. If there is no free slot, the host writes all vectors to a larger store. Each call
/// that adds or removes vectors sends all entries to the backend, 4 bytes for each vector in the index. So one call for many vectors costs little more
/// than one call for one vector.
///
/// After an error the index is as it was.
pub struct IvfIndex<B: VectorSearch> {
    backend: B,
    options: IvfOptions,
    centers: Centers<B>,
    store: B::Store,
    lists: Lists,
    /// The id and the numbers of each slot that was ever used.
    ids: Vec<u64>,
    vectors: Vec<f32>,
    slots: HashMap<u64, u32>,
    free: BTreeSet<u32>,
}

impl<B: VectorSearch> IvfIndex<B> {
    /// Makes an index without vectors. The centers of its lists are computed from `vectors`, which lie one after another and are not added to the index.
    ///
    /// # Errors
    /// - [`IvfError::TooFewVectors`] for fewer vectors than lists, or if `options` asks for no lists.
    /// - [`IvfError::Dimension`] if `vectors` ends within a vector.
    /// - [`IvfError::NotFinite`] if `vectors` has a NaN or an infinity.
    /// - [`IvfError::Backend`] for a dimension that no store can have, or a failure of the device.
    pub fn train(backend: B, options: IvfOptions, vectors: &[f32]) -> Result<Self, IvfError> {
        let IvfOptions { dimension, lists, .. } = options;
        Shape::new(dimension, 0).check()?;
        // Centers are in single precision, so the precision of the store does not matter yet.
        let count = check_vectors(Precision::F32, dimension, vectors.len() / dimension, vectors)?;
        if lists == 0 || count < lists {
            return Err(IvfError::TooFewVectors { lists, vectors: count });
        }
        let mut rng = SmallRng::seed_from_u64(options.seed);
        let mut points = drawn(dimension, vectors, lists.saturating_mul(options.sample), &mut rng);
        if options.metric == Metric::Cosine {
            normalize(dimension, &mut points);
        }
        let shape = Shape::new(dimension, lists);
        let centers = Centers::train(&backend, shape, assigned_by(options.metric), &points, options.iterations, &mut rng)?;
        let store = backend.vector_store(Shape::new(dimension, 0).precision(options.precision))?;
        let lists = Lists::empty(lists);
        let (ids, vectors, slots, free) = (vec![], vec![], HashMap::new(), BTreeSet::new());
        Ok(Self { backend, options, centers, store, lists, ids, vectors, slots, free })
    }

    /// Makes an index that is trained with `vectors`, row by row, and adds them with these ids.
    ///
    /// # Errors
    /// Those of [`train`](IvfIndex::train) and [`add_all`](IvfIndex::add_all).
    pub fn build(backend: B, options: IvfOptions, ids: &[u64], vectors: &[f32]) -> Result<Self, IvfError> {
        let mut index = Self::train(backend, options, vectors)?;
        index.add_all(ids, vectors)?;
        Ok(index)
    }

    /// Adds a vector with this id.
    ///
    /// # Errors
    /// As [`add_all`](IvfIndex::add_all).
    pub fn add(&mut self, id: u64, vector: &[f32]) -> Result<(), IvfError> {
        self.add_all(&[id], vector)
    }

    /// Adds vectors, row by row, with these ids.
    ///
    /// # Errors
    /// - [`IvfError::Dimension`] if `vectors` does not have one vector for each id.
    /// - [`IvfError::DuplicateId`] for an id that is in the index or occurs twice.
    /// - [`IvfError::NotFinite`] for a number that is not finite in the precision of the index.
    /// - [`IvfError::Backend`].
    pub fn add_all(&mut self, ids: &[u64], vectors: &[f32]) -> Result<(), IvfError> {
        let dimension = self.options.dimension;
        check_vectors(self.options.precision, dimension, ids.len(), vectors)?;
        let (asked, limit) = ((self.len() + ids.len()) as u64, NO_SLOT.into());
        if asked > limit {
            return Err(Error::TooLong { what: "an index, in vectors".into(), asked, limit }.into());
        }
        let mut new = HashMap::with_capacity(ids.len());
        for &id in ids {
            if self.slots.contains_key(&id) || new.insert(id, NO_SLOT).is_some() {
                return Err(IvfError::DuplicateId { id });
            }
        }
        let mut lists = vec![];
        self.centers.assign(&self.backend, vectors, |list, _| lists.push(list))?;
        // Vectors of one list get adjacent slots, as far as free slots are adjacent: a search reads them faster.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&i| lists[i]);
        // Free slots first, then the slots after the last one that was ever used.
        let places = self.free.iter().copied().chain(self.ids.len() as u32..NO_SLOT);
        let mut slots = vec![0; ids.len()];
        for (&i, slot) in order.iter().zip(places) {
            slots[i] = slot;
            new.insert(ids[i], slot);
        }
        let changed = self.lists.changed(&BTreeSet::new(), lists.into_iter().zip(slots.iter().copied()).collect());

        // No entry names a free slot, so writing to it changes nothing yet.
        let used = slots.iter().map(|&slot| slot as usize + 1).max().unwrap_or(0).max(self.ids.len());
        let mut grown = self.grown(used)?;
        let store = grown.as_mut().unwrap_or(&mut self.store);
        let mut rows = vec![];
        for part in order.chunk_by(|&a, &b| slots[a] + 1 == slots[b]).flat_map(|run| run.chunks(WRITTEN)) {
            rows.clear();
            part.iter().for_each(|&i| rows.extend_from_slice(&vectors[i * dimension..][..dimension]));
            store.write(slots[part[0]], &rows)?;
        }
        store.set_entries(&changed.slots)?;

        if let Some(grown) = grown {
            self.store = grown;
        }
        self.lists = changed;
        self.ids.resize(used, 0);
        self.vectors.resize(used * dimension, 0.0);
        for ((&slot, &id), vector) in slots.iter().zip(ids).zip(vectors.chunks_exact(dimension)) {
            self.ids[slot as usize] = id;
            self.vectors[slot as usize * dimension..][..dimension].copy_from_slice(vector);
            self.free.remove(&slot);
        }
        self.slots.extend(new);
        Ok(())
    }

    /// Removes the vector with this id. Its slot is then free for another vector.
    ///
    /// # Errors
    /// As [`remove_all`](IvfIndex::remove_all).
    pub fn remove(&mut self, id: u64) -> Result<(), IvfError> {
        self.remove_all(&[id])
    }

    /// Removes the vectors with these ids.
    ///
    /// # Errors
    /// [`IvfError::UnknownId`] for an id that is not in the index or occurs twice, or [`IvfError::Backend`].
    pub fn remove_all(&mut self, ids: &[u64]) -> Result<(), IvfError> {
        let mut removed = BTreeSet::new();
        for &id in ids {
            let slot = *self.slots.get(&id).ok_or(IvfError::UnknownId { id })?;
            if !removed.insert(slot) {
                return Err(IvfError::UnknownId { id });
            }
        }
        let changed = self.lists.changed(&removed, vec![]);
        self.store.set_entries(&changed.slots)?;
        self.lists = changed;
        self.free.extend(removed);
        for id in ids {
            self.slots.remove(id);
        }
        Ok(())
    }

    /// Returns the `k` nearest vectors of each query, nearest first. The search reads the `nprobe` lists whose centers are nearest to the query. The
    /// result has fewer vectors if these lists have fewer. The order of equally near vectors is not specified, but is the same in each call.
    ///
    /// If `nprobe` is at least the number of [lists](IvfIndex::lists), the search reads all vectors, and the result is exact.
    ///
    /// # Errors
    /// - [`IvfError::Dimension`] if `queries` ends within a query.
    /// - [`IvfError::NotFinite`] for the first query with a number that is not finite.
    /// - [`IvfError::Backend`].
    pub fn search(&self, queries: &[f32], k: usize, nprobe: usize) -> Result<Vec<Vec<Neighbor>>, IvfError> {
        let dimension = self.options.dimension;
        let count = check_vectors(Precision::F32, dimension, queries.len() / dimension, queries)?;
        let probes = self.probes(queries, nprobe)?;
        let probed = |query: usize| &probes[query * nprobe.min(self.lists())..(query + 1) * nprobe.min(self.lists())];
        let mut found = Vec::with_capacity(count);
        while found.len() < count {
            // As many queries as one call should take, but at least one.
            let first = found.len();
            let (mut candidates, mut offsets) = (vec![], vec![0]);
            for query in first..count {
                let more: usize = probed(query).iter().map(|&list| self.lists.len(list as usize)).sum();
                if query > first && candidates.len() + more > CANDIDATES {
                    break;
                }
                candidates.extend(probed(query).iter().flat_map(|&list| self.lists.range(list as usize)));
                offsets.push(candidates.len() as u32);
            }
            let taken = offsets.len() - 1;
            let search = Search::new(&queries[first * dimension..][..taken * dimension], &candidates, &offsets);
            // The candidates come from the index itself, so the host need not check them.
            let search = search.metric(self.options.metric).check(Check::Device);
            let nearest = self.backend.nearest(&self.store, &search, k)?;
            found.extend((0..taken).map(|query| {
                let (slots, distances) = nearest.of(query);
                let neighbor = |(&slot, &distance)| Neighbor { id: self.ids[slot as usize], distance };
                slots.iter().zip(distances).map(neighbor).collect::<Vec<_>>()
            }));
        }
        Ok(found)
    }

    /// Returns the vector with this id, in single precision, as it was added; `None` if the index has no such vector.
    pub fn vector(&self, id: u64) -> Option<&[f32]> {
        let dimension = self.options.dimension;
        self.slots.get(&id).map(|&slot| &self.vectors[slot as usize * dimension..][..dimension])
    }

    /// Returns whether the index has a vector with this id.
    pub fn contains(&self, id: u64) -> bool {
        self.slots.contains_key(&id)
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether the index has no vectors.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The number of slots of the backend's store.
    pub fn capacity(&self) -> usize {
        self.store.shape().capacity
    }

    /// The number of lists.
    pub fn lists(&self) -> usize {
        self.centers.count()
    }

    /// The number of vectors in each list.
    pub fn list_sizes(&self) -> Vec<usize> {
        (0..self.lists()).map(|list| self.lists.len(list)).collect()
    }

    /// The centers of the lists, row by row.
    pub fn centers(&self) -> &[f32] {
        &self.centers.numbers
    }

    /// The options that the index was made with.
    pub fn options(&self) -> IvfOptions {
        self.options
    }

    /// Returns the lists that each query reads: `nprobe` lists, or all.
    fn probes(&self, queries: &[f32], nprobe: usize) -> Result<Vec<u32>, VectorError> {
        if nprobe >= self.lists() {
            let all: Vec<u32> = (0..self.lists() as u32).collect();
            return Ok(all.repeat(queries.len() / self.options.dimension));
        }
        let mut probes = vec![];
        self.centers.nearest(&self.backend, queries, nprobe, self.options.metric, |lists, _| probes.extend_from_slice(lists))?;
        Ok(probes)
    }

    /// Returns a larger store with the same vectors, if the current one has fewer than `slots` slots.
    fn grown(&self, slots: usize) -> Result<Option<B::Store>, VectorError> {
        let shape = self.store.shape();
        if slots <= shape.capacity {
            return Ok(None);
        }
        // The number of slots doubles, so that on average each vector is written again once.
        let capacity = slots.max((2 * shape.capacity).min(NO_SLOT as usize));
        let mut store = self.backend.vector_store(shape.capacity(capacity))?;
        store.write(0, &self.vectors)?;
        Ok(Some(store))
    }
}

impl<B: VectorSearch> core::fmt::Debug for IvfIndex<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut text = f.debug_struct("IvfIndex");
        text.field("backend", &self.backend.name()).field("options", &self.options);
        text.field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// Returns the metric that assigns vectors to lists. With the inner product, all vectors would be in the lists of the longest centers.
fn assigned_by(metric: Metric) -> Metric {
    match metric {
        Metric::InnerProduct => Metric::L2,
        metric => metric,
    }
}

/// Checks that `numbers` has this number of vectors and that they are finite in this precision. Returns the number of vectors.
fn check_vectors(precision: Precision, dimension: usize, vectors: usize, numbers: &[f32]) -> Result<usize, IvfError> {
    if vectors.checked_mul(dimension) != Some(numbers.len()) {
        return Err(IvfError::Dimension { numbers: numbers.len(), vectors, dimension });
    }
    match precision.check("the vectors", numbers) {
        Err(VectorError::NotFinite { index, value, .. }) => {
            Err(IvfError::NotFinite { vector: index / dimension, number: value, precision })
        }
        checked => Ok(checked.map(|()| vectors)?),
    }
}

/// Scales all vectors to the norm 1, except zero vectors.
fn normalize(dimension: usize, vectors: &mut [f32]) {
    for vector in vectors.chunks_exact_mut(dimension) {
        let norm = vector.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            vector.iter_mut().for_each(|number| *number = (f64::from(*number) / norm) as f32);
        }
    }
}
