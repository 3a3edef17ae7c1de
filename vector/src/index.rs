//! The index: ids, slots, and lists of slots.
//!
//! ```text
//! entries    [ list 0 | list 1 | …       ]   the slot of each entry, list by list; the backend has a copy
//! offsets    [ 0, …, …, entries          ]   where each list begins
//! slots      id, id, free, id, free, …       vectors stay where they are put; freed slots are used again, the lowest first
//! ```
//!
//! A change is computed beside the old state and handed to the backend last of all. When that has gone well, nothing can fail any
//! more.

use crate::IvfError;
use crate::kmeans::{CANDIDATES, Centres, drawn};
use core::ops::Range;
use polysort_core::Error;
use polysort_core::vector::{Check, Metric, NO_SLOT, Precision, Search, Shape, VectorSearch, VectorStore};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use std::collections::{BTreeSet, HashMap};

/// Vectors for each list that training looks at, unless told otherwise: more do not move the centres much.
const SAMPLE: usize = 256;

/// Rounds of training, at most, unless told otherwise.
const ITERATIONS: usize = 20;

/// Vectors that are written at a time.
const WRITTEN: usize = 1024;

/// How an index is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IvfOptions {
    dimension: usize,
    lists: usize,
    metric: Metric,
    precision: Precision,
    seed: u64,
    iterations: usize,
    sample: usize,
}

impl IvfOptions {
    /// Vectors of `dimension` numbers in `lists` lists, by squared distance, kept as they are. The square root of the number of
    /// vectors is a usual number of lists.
    pub fn new(dimension: usize, lists: usize) -> Self {
        let (metric, precision) = (Metric::L2, Precision::F32);
        Self { dimension, lists, metric, precision, seed: 0, iterations: ITERATIONS, sample: SAMPLE }
    }

    /// By this metric. With [`Metric::Cosine`] lists are trained on directions; else on places.
    #[must_use]
    pub fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// Kept like this where the backend computes. Centres are kept as they are.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// What the random choices of training come from: equal seeds give equal lists on one backend.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Rounds of training, at most: 20 unless told otherwise.
    #[must_use]
    pub fn iterations(self, iterations: usize) -> Self {
        Self { iterations, ..self }
    }

    /// Vectors for each list that training looks at, at most and 1 or more: 256 unless told otherwise.
    #[must_use]
    pub fn sample(self, sample: usize) -> Self {
        Self { sample: sample.max(1), ..self }
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The id it was added with.
    pub id: u64,
    /// How far it is from the query, by the metric of the index.
    pub distance: f32,
}

/// An index of vectors by inverted lists (Jégou, Douze and Schmid, 2011): a search looks at some of the lists only.
///
/// Vectors are in the backend's memory, and once more on the host, from where they are written again when the slots run out. Each
/// call that adds or removes tells the backend where every vector is, 4 bytes each: many vectors in one call cost no more than one.
///
/// On an error the index is as it was.
pub struct IvfIndex<B: VectorSearch> {
    backend: B,
    options: IvfOptions,
    centres: Centres<B>,
    store: B::Store,
    lists: Lists,
    /// The id and the numbers of each slot that was ever used.
    ids: Vec<u64>,
    vectors: Vec<f32>,
    slots: HashMap<u64, u32>,
    free: BTreeSet<u32>,
}

/// Slots, list by list.
#[derive(Clone, Debug)]
struct Lists {
    slots: Vec<u32>,
    offsets: Vec<u32>,
}

impl Lists {
    fn empty(lists: usize) -> Self {
        Self { slots: vec![], offsets: vec![0; lists + 1] }
    }

    fn range(&self, list: usize) -> Range<u32> {
        self.offsets[list]..self.offsets[list + 1]
    }

    fn len(&self, list: usize) -> usize {
        self.range(list).len()
    }

    /// The same lists without some slots, and with others at the end of their lists: `added` are pairs of list and slot.
    fn changed(&self, removed: &BTreeSet<u32>, mut added: Vec<(u32, u32)>) -> Self {
        added.sort_by_key(|&(list, _)| list);
        let mut changed = Self { slots: vec![], offsets: vec![0] };
        let mut added = added.into_iter().peekable();
        for list in 0..self.offsets.len() - 1 {
            let old = &self.slots[self.range(list).start as usize..self.range(list).end as usize];
            changed.slots.extend(old.iter().filter(|slot| !removed.contains(slot)));
            while let Some((_, slot)) = added.next_if(|&(of, _)| of as usize == list) {
                changed.slots.push(slot);
            }
            changed.offsets.push(changed.slots.len() as u32);
        }
        changed
    }
}

impl<B: VectorSearch> IvfIndex<B> {
    /// An empty index whose lists are trained with `vectors`, row by row. They are not added.
    ///
    /// # Errors
    /// [`IvfError::TooFewVectors`] for less than a vector for each list, or no lists; [`IvfError::Dimension`] for a part of a
    /// vector; [`IvfError::NotFinite`]; [`IvfError::Backend`] for a dimension of 0, and for a failure of the device.
    pub fn train(backend: B, options: IvfOptions, vectors: &[f32]) -> Result<Self, IvfError> {
        let IvfOptions { dimension, lists, .. } = options;
        Shape::new(dimension, 0).check()?;
        let count = check_vectors(dimension, vectors.len() / dimension, vectors)?;
        if lists == 0 || count < lists {
            return Err(IvfError::TooFewVectors { lists, vectors: count });
        }
        let mut rng = SmallRng::seed_from_u64(options.seed);
        let mut points = drawn(dimension, vectors, lists.saturating_mul(options.sample), &mut rng);
        if options.metric == Metric::Cosine {
            normalize(dimension, &mut points);
        }
        let shape = Shape::new(dimension, lists);
        let centres = Centres::train(&backend, shape, assigned_by(options.metric), &points, options.iterations, &mut rng)?;
        let store = backend.vector_store(Shape::new(dimension, 0).precision(options.precision))?;
        let lists = Lists::empty(lists);
        let (ids, vectors, slots, free) = (vec![], vec![], HashMap::new(), BTreeSet::new());
        Ok(Self { backend, options, centres, store, lists, ids, vectors, slots, free })
    }

    /// An index that is trained with vectors and holds them, by these ids.
    ///
    /// # Errors
    /// As [`train`](IvfIndex::train) and [`add_all`](IvfIndex::add_all).
    pub fn build(backend: B, options: IvfOptions, ids: &[u64], vectors: &[f32]) -> Result<Self, IvfError> {
        let mut index = Self::train(backend, options, vectors)?;
        index.add_all(ids, vectors)?;
        Ok(index)
    }

    /// Adds a vector.
    ///
    /// # Errors
    /// As [`add_all`](IvfIndex::add_all).
    pub fn add(&mut self, id: u64, vector: &[f32]) -> Result<(), IvfError> {
        self.add_all(&[id], vector)
    }

    /// Adds vectors, row by row, by these ids.
    ///
    /// # Errors
    /// [`IvfError::Dimension`] for numbers that are not as many vectors as there are ids, [`IvfError::DuplicateId`],
    /// [`IvfError::NotFinite`], or [`IvfError::Backend`].
    pub fn add_all(&mut self, ids: &[u64], vectors: &[f32]) -> Result<(), IvfError> {
        let dimension = self.options.dimension;
        check_vectors(dimension, ids.len(), vectors)?;
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
        self.centres.assign(&self.backend, vectors, |list, _| lists.push(list))?;
        // Vectors of a list lie side by side, as far as slots are free that do: they are read faster.
        let mut order: Vec<usize> = (0..ids.len()).collect();
        order.sort_by_key(|&i| lists[i]);
        // Free slots first, then those after the last that was ever used.
        let places = self.free.iter().copied().chain(self.ids.len() as u32..NO_SLOT);
        let mut slots = vec![0; ids.len()];
        for (&i, slot) in order.iter().zip(places) {
            slots[i] = slot;
            new.insert(ids[i], slot);
        }
        let changed = self.lists.changed(&BTreeSet::new(), lists.into_iter().zip(slots.iter().copied()).collect());

        // Slots that are free hold nothing, so writing them changes nothing yet.
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

    /// Removes a vector. Its slot is free for another.
    ///
    /// # Errors
    /// As [`remove_all`](IvfIndex::remove_all).
    pub fn remove(&mut self, id: u64) -> Result<(), IvfError> {
        self.remove_all(&[id])
    }

    /// Removes vectors.
    ///
    /// # Errors
    /// [`IvfError::UnknownId`] for an id that is not there or comes twice, or [`IvfError::Backend`].
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

    /// The `k` nearest vectors to each query that are in the `nprobe` lists whose centres are nearest to it, nearest first: fewer
    /// if these hold fewer. Equally near ones come in any order, but always the same.
    ///
    /// With as many probes as there are [lists](IvfIndex::lists), or more, all vectors are looked at, and the result is exact.
    ///
    /// # Errors
    /// [`IvfError::Dimension`] for a part of a query, or [`IvfError::Backend`].
    pub fn search(&self, queries: &[f32], k: usize, nprobe: usize) -> Result<Vec<Vec<Neighbour>>, IvfError> {
        let dimension = self.options.dimension;
        let count = queries.len() / dimension;
        check_dimension(dimension, count, queries)?;
        let probes = self.probes(queries, nprobe)?;
        let probed = |query: usize| &probes[query * nprobe.min(self.lists())..(query + 1) * nprobe.min(self.lists())];
        let mut found = Vec::with_capacity(count);
        while found.len() < count {
            // As many queries as one call should take, but one at least.
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
            // The candidates come from the index itself, so the host need not look at them again.
            let search = search.metric(self.options.metric).check(Check::Device);
            let nearest = self.backend.nearest(&self.store, &search, k)?;
            found.extend((0..taken).map(|query| {
                let (slots, distances) = nearest.of(query);
                let neighbour = |(&slot, &distance)| Neighbour { id: self.ids[slot as usize], distance };
                slots.iter().zip(distances).map(neighbour).collect::<Vec<_>>()
            }));
        }
        Ok(found)
    }

    /// The vector with this id, as it was added.
    pub fn vector(&self, id: u64) -> Option<&[f32]> {
        let dimension = self.options.dimension;
        self.slots.get(&id).map(|&slot| &self.vectors[slot as usize * dimension..][..dimension])
    }

    /// Whether there is a vector with this id.
    pub fn contains(&self, id: u64) -> bool {
        self.slots.contains_key(&id)
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Slots that the backend has memory for.
    pub fn capacity(&self) -> usize {
        self.store.shape().capacity
    }

    /// The number of lists.
    pub fn lists(&self) -> usize {
        self.centres.count()
    }

    /// How many vectors each list holds.
    pub fn list_sizes(&self) -> Vec<usize> {
        (0..self.lists()).map(|list| self.lists.len(list)).collect()
    }

    /// The centres of the lists, row by row.
    pub fn centres(&self) -> &[f32] {
        &self.centres.numbers
    }

    /// How it was made.
    pub fn options(&self) -> IvfOptions {
        self.options
    }

    /// The lists that each query looks at, `nprobe` each, or all.
    fn probes(&self, queries: &[f32], nprobe: usize) -> Result<Vec<u32>, Error> {
        if nprobe >= self.lists() {
            let all: Vec<u32> = (0..self.lists() as u32).collect();
            return Ok(all.repeat(queries.len() / self.options.dimension));
        }
        let mut probes = vec![];
        self.centres.nearest(&self.backend, queries, nprobe, self.options.metric, |lists, _| probes.extend_from_slice(lists))?;
        Ok(probes)
    }

    /// A larger store with all that is in this one, if that has fewer than `slots` slots.
    fn grown(&self, slots: usize) -> Result<Option<B::Store>, Error> {
        let shape = self.store.shape();
        if slots <= shape.capacity {
            return Ok(None);
        }
        // Twice as many, so that a vector is written again once on average.
        let capacity = slots.max((2 * shape.capacity).min(NO_SLOT as usize));
        let mut store = self.backend.vector_store(Shape { capacity, ..shape })?;
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

/// How vectors find their list. The inner product would send all of them to the longest centres.
fn assigned_by(metric: Metric) -> Metric {
    match metric {
        Metric::L2 | Metric::InnerProduct => Metric::L2,
        Metric::Cosine => Metric::Cosine,
    }
}

fn check_dimension(dimension: usize, vectors: usize, numbers: &[f32]) -> Result<(), IvfError> {
    if vectors.checked_mul(dimension) == Some(numbers.len()) {
        return Ok(());
    }
    Err(IvfError::Dimension { numbers: numbers.len(), vectors, dimension })
}

/// The number of vectors, if they are so many and all their numbers are finite.
fn check_vectors(dimension: usize, vectors: usize, numbers: &[f32]) -> Result<usize, IvfError> {
    check_dimension(dimension, vectors, numbers)?;
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(IvfError::NotFinite { vector: at / dimension, number: numbers[at] }),
        None => Ok(vectors),
    }
}

/// Makes all vectors one long, but for those that are zero.
fn normalize(dimension: usize, vectors: &mut [f32]) {
    for vector in vectors.chunks_exact_mut(dimension) {
        let norm = vector.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            vector.iter_mut().for_each(|number| *number = (f64::from(*number) / norm) as f32);
        }
    }
}
