//! Vector search: distances of candidates that are told by reference, and the nearest of each query.
//!
//! ```text
//! distances   the candidates, in stretches of about equal work, one task each
//!     of each: its entry, its slot, its vector; one pass over both vectors with LANES sums at a time
//! nearest     the same tasks, cut at queries; each keeps the best k of its candidates, and those of a query are joined
//! ```
//!
//! A candidate's sums are added in an order that depends on the dimension alone, so a distance is the same bits in both operations,
//! on any number of threads. `nearest` never holds a distance for each candidate.

use crate::RayonBackend;
use crate::sort::threads_for;
use crate::top_k::Best;
use crate::tuning::VECTOR_TASK_BYTES;
use core::ops::Range;
use half::f16;
use half::slice::HalfFloatSliceExt;
use polysort_core::vector::{Distances, Metric, NO_SLOT, Nearest, Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_core::{Error, Masks};
use rayon::prelude::*;

/// Sums that are added at a time, independently: enough to fill the vector units while each waits for its last addition.
const LANES: usize = 32;

/// The same for what is left of a vector then: the narrowest vector unit.
const REST: usize = 4;

/// Numbers of half precision that are widened at a time. They stay in the L1.
const BLOCK: usize = 8 * LANES;

/// Candidates whose distances are offered to a selection together.
const OFFERED: usize = 64;

/// The order of distances: that of [`f32::total_cmp`].
const ORDER: Masks = Masks::float(32);

/// Vectors in memory.
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

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), Error> {
        if self.shape.check_write(slot, vectors.len())? == 0 {
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

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), Error> {
        self.shape.check_entries(slots)?;
        self.entries.clear();
        self.entries.extend_from_slice(slots);
        Ok(())
    }
}

impl VectorSearch for RayonBackend {
    type Store = RayonStore;

    fn vector_store(&self, shape: Shape) -> Result<RayonStore, Error> {
        shape.check()?;
        let vectors = match shape.precision {
            Precision::F32 => Vectors::F32(zeros(shape)?),
            Precision::F16 => Vectors::F16(zeros(shape)?),
        };
        Ok(RayonStore { shape, vectors, entries: vec![] })
    }

    fn distances(&self, store: &RayonStore, search: &Search<'_>) -> Result<Distances, Error> {
        search.queries(store.shape.dimension, store.entries())?;
        match &store.vectors {
            Vectors::F32(vectors) => Task { store, vectors, search }.distances(self),
            Vectors::F16(vectors) => Task { store, vectors, search }.distances(self),
        }
    }

    fn nearest(&self, store: &RayonStore, search: &Search<'_>, k: usize) -> Result<Nearest, Error> {
        let queries = search.queries(store.shape.dimension, store.entries())?;
        match &store.vectors {
            Vectors::F32(vectors) => Task { store, vectors, search }.nearest(self, queries, k),
            Vectors::F16(vectors) => Task { store, vectors, search }.nearest(self, queries, k),
        }
    }
}

/// The numbers of an empty store.
fn zeros<T: Clone + Default>(shape: Shape) -> Result<Vec<T>, Error> {
    let asked = (size_of::<T>() as u64).saturating_mul(shape.dimension as u64).saturating_mul(shape.capacity as u64);
    let mut numbers = vec![];
    let len = shape.dimension.checked_mul(shape.capacity);
    match len.map(|len| numbers.try_reserve_exact(len).map(|()| len)) {
        Some(Ok(len)) => numbers.resize(len, T::default()),
        _ => return Err(Error::OutOfMemory { asked, limit: None }),
    }
    Ok(numbers)
}

/// A number as a store keeps it.
trait Kept: Copy + Sync {
    /// The same numbers in single precision: these, or in `buffer`.
    fn widen<'a>(block: &'a [Self], buffer: &'a mut [f32; BLOCK]) -> &'a [f32];
}

impl Kept for f32 {
    #[inline(always)]
    fn widen<'a>(block: &'a [f32], _: &'a mut [f32; BLOCK]) -> &'a [f32] {
        block
    }
}

impl Kept for f16 {
    #[inline(always)]
    fn widen<'a>(block: &'a [f16], buffer: &'a mut [f32; BLOCK]) -> &'a [f32] {
        let widened = &mut buffer[..block.len()];
        block.convert_to_f32_slice(widened);
        widened
    }
}

/// One search. Its offsets have been checked, and its candidates unless it says that the device does.
struct Task<'a, T> {
    store: &'a RayonStore,
    vectors: &'a [T],
    search: &'a Search<'a>,
}

impl<T: Kept> Task<'_, T> {
    fn distances(&self, backend: &RayonBackend) -> Result<Distances, Error> {
        let candidates = self.search.candidate_indices;
        let mut found = Distances { distances: vec![0.0; candidates.len()], slots: vec![0; candidates.len()] };
        let mut bad = 0;
        let bytes = self.bytes(candidates.len());
        backend.run(bytes, || {
            let Distances { distances, slots } = &mut found;
            bad = if threads_for(bytes) == 1 {
                self.stretch(0, distances, slots)
            } else {
                let task = self.candidates_a_task();
                let stretches = distances.par_chunks_mut(task).zip(slots.par_chunks_mut(task)).enumerate();
                stretches.map(|(index, (distances, slots))| self.stretch(index * task, distances, slots)).sum()
            };
        });
        self.check_bad(bad)?;
        Ok(found)
    }

    /// Fills in what belongs to the candidates from `start` on, and tells how many of them are wrong.
    fn stretch(&self, start: usize, distances: &mut [f32], slots: &mut [u32]) -> u64 {
        let (offsets, end) = (self.search.candidate_offsets, start + distances.len());
        let (mut at, mut bad) = (start, 0);
        // The last query that begins here or before: empty ones before it have no part in the stretch.
        let mut query = offsets.partition_point(|&offset| offset as usize <= start).saturating_sub(1);
        while at < end {
            let stop = (offsets[query + 1] as usize).min(end);
            let (distances, slots) = (&mut distances[at - start..stop - start], &mut slots[at - start..stop - start]);
            bad += self.measure(query, at..stop, distances, slots);
            (at, query) = (stop, query + 1);
        }
        bad
    }

    /// The same for candidates of one query.
    fn measure(&self, query: usize, candidates: Range<usize>, distances: &mut [f32], slots: &mut [u32]) -> u64 {
        let dimension = self.store.shape.dimension;
        let query = Query::new(self.search.metric, &self.search.queries[query * dimension..][..dimension]);
        let mut bad = 0;
        let candidates = &self.search.candidate_indices[candidates];
        for ((&candidate, distance), slot) in candidates.iter().zip(distances).zip(slots) {
            (*distance, *slot) = match self.slot(candidate) {
                Some(slot) => (query.distance(&self.vectors[slot as usize * dimension..][..dimension]), slot),
                None => {
                    bad += 1;
                    (f32::INFINITY, NO_SLOT)
                }
            };
        }
        bad
    }

    fn nearest(&self, backend: &RayonBackend, queries: usize, k: usize) -> Result<Nearest, Error> {
        let offsets = self.search.candidate_offsets;
        let range = |query: usize| offsets[query] as usize..offsets[query + 1] as usize;
        let most = (0..queries).map(|query| range(query).len()).max().unwrap_or(0).min(k);
        let (mut distances, mut slots) = (vec![f32::INFINITY; queries * most], vec![NO_SLOT; queries * most]);
        let mut bad = 0;
        let bytes = self.bytes(self.search.candidate_indices.len());
        backend.run(bytes, || {
            // Without room for any, candidates are looked at all the same: wrong ones are an error whatever `k` is.
            let rows = |(query, (distances, slots)): (usize, (&mut [f32], &mut [u32]))| {
                let (best, bad) = self.best(query, range(query), most);
                for (place, (rank, candidate)) in best.sorted().into_iter().enumerate() {
                    distances[place] = f32::from_bits(ORDER.invert(rank));
                    slots[place] = self.slot(self.search.candidate_indices[candidate as usize]).unwrap_or(NO_SLOT);
                }
                bad
            };
            bad = if most == 0 {
                self.count_bad()
            } else if threads_for(bytes) == 1 {
                distances.chunks_mut(most).zip(slots.chunks_mut(most)).enumerate().map(rows).sum()
            } else {
                let few = self.candidates_a_task() / (self.search.candidate_indices.len() / queries).max(1);
                let places = distances.par_chunks_mut(most).zip(slots.par_chunks_mut(most)).enumerate();
                places.with_min_len(few.max(1)).map(rows).sum()
            };
        });
        self.check_bad(bad)?;
        Nearest::new(most, distances, slots)
    }

    /// The best `k` of a query's candidates, by all threads if there are many, and how many of them are wrong.
    fn best(&self, query: usize, candidates: Range<usize>, k: usize) -> (Best<u32>, u64) {
        let task = self.candidates_a_task();
        if candidates.len() <= 2 * task {
            return self.best_of(query, candidates, k);
        }
        let middle = candidates.start + candidates.len() / 2;
        let halves =
            rayon::join(|| self.best(query, candidates.start..middle, k), || self.best(query, middle..candidates.end, k));
        let ((first, bad), (second, more)) = halves;
        (first.join(second), bad + more)
    }

    fn best_of(&self, query: usize, candidates: Range<usize>, k: usize) -> (Best<u32>, u64) {
        let (mut best, mut bad) = (Best::none(k), 0);
        let (mut distances, mut slots) = ([0.0; OFFERED], [0; OFFERED]);
        for start in candidates.clone().step_by(OFFERED) {
            let block = start..(start + OFFERED).min(candidates.end);
            let distances = &mut distances[..block.len()];
            bad += self.measure(query, block, distances, &mut slots);
            best.offer(start, distances.iter().map(|distance| ORDER.apply(distance.to_bits())));
        }
        (best, bad)
    }

    /// Where the vector of a candidate lies, if that is an entry.
    fn slot(&self, candidate: u32) -> Option<u32> {
        self.store.entries.get(candidate as usize).copied()
    }

    fn count_bad(&self) -> u64 {
        self.search.candidate_indices.iter().filter(|&&candidate| self.slot(candidate).is_none()).count() as u64
    }

    fn check_bad(&self, count: u64) -> Result<(), Error> {
        if count == 0 { Ok(()) } else { Err(Error::BadCandidates { count }) }
    }

    /// Bytes that so many candidates are.
    fn bytes(&self, candidates: usize) -> usize {
        candidates.saturating_mul(self.store.shape.vector_bytes())
    }

    fn candidates_a_task(&self) -> usize {
        (VECTOR_TASK_BYTES / self.store.shape.vector_bytes()).max(1)
    }
}

/// One query, and what all of its distances share.
struct Query<'a> {
    metric: Metric,
    numbers: &'a [f32],
    /// Its length, if that is needed.
    norm: f32,
}

impl<'a> Query<'a> {
    fn new(metric: Metric, numbers: &'a [f32]) -> Self {
        let norm = match metric {
            Metric::Cosine => sums(numbers, numbers, |a, b| [a * b])[0].sqrt(),
            Metric::L2 | Metric::InnerProduct => 1.0,
        };
        Self { metric, numbers, norm }
    }

    #[inline(always)]
    fn distance<T: Kept>(&self, vector: &[T]) -> f32 {
        let distance = match self.metric {
            Metric::L2 => {
                let [squares] = sums(self.numbers, vector, |a, b| [(a - b) * (a - b)]);
                squares
            }
            Metric::InnerProduct => {
                let [product] = sums(self.numbers, vector, |a, b| [a * b]);
                -product
            }
            Metric::Cosine => {
                let [product, squares] = sums(self.numbers, vector, |a, b| [a * b, b * b]);
                let norms = self.norm * squares.sqrt();
                if norms == 0.0 { 1.0 } else { 1.0 - product / norms }
            }
        };
        // One sign for all that are no numbers: processors differ in the one they give, and it decides where they are sorted.
        if distance.is_nan() { f32::NAN } else { distance }
    }
}

/// `S` sums of what `term` makes of each pair of numbers.
#[inline(always)]
fn sums<T: Kept, const S: usize>(query: &[f32], vector: &[T], term: impl Fn(f32, f32) -> [f32; S] + Copy) -> [f32; S] {
    let (mut lanes, mut buffer) = ([[0.0; LANES]; S], [0.0; BLOCK]);
    for (query, vector) in query.chunks(BLOCK).zip(vector.chunks(BLOCK)) {
        let vector = T::widen(vector, &mut buffer);
        let (query, vector) = add::<LANES, S>(&mut lanes, query, vector, term);
        let (query, vector) = add::<REST, S>(&mut lanes, query, vector, term);
        add::<1, S>(&mut lanes, query, vector, term);
    }
    lanes.map(|mut lanes| {
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
            half /= 2;
        }
        lanes[0]
    })
}

/// Adds up whole chunks of `WIDTH` pairs, in as many lanes, and gives the pairs that are left.
#[inline(always)]
fn add<'a, const WIDTH: usize, const S: usize>(
    lanes: &mut [[f32; LANES]; S],
    query: &'a [f32],
    vector: &'a [f32],
    term: impl Fn(f32, f32) -> [f32; S],
) -> (&'a [f32], &'a [f32]) {
    let (queries, vectors) = (query.chunks_exact(WIDTH), vector.chunks_exact(WIDTH));
    let rest = (queries.remainder(), vectors.remainder());
    for (query, vector) in queries.zip(vectors) {
        for lane in 0..WIDTH {
            for (sum, term) in lanes.iter_mut().zip(term(query[lane], vector[lane])) {
                sum[lane] += term;
            }
        }
    }
    rest
}
