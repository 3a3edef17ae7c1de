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

use crate::backend::RayonBackend;
use crate::threads::{Threads, Work};
use crate::top_k::Best;
use crate::trace::{Step, took};
use crate::tuning::scan_ns;
use crate::tuning::vector::{CACHE_LINE, TASK_BYTES, TOUCHED, TOUCHED_BYTES};
use crate::wide::{Wide, widest};
use core::ops::{Range, RangeInclusive};
use half::f16;
use half::slice::HalfFloatSliceExt;
use polysort_core::{Error, Masks};
use polysort_vector::{Distances, Metric, NO_SLOT, Nearest, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};
use std::sync::atomic::{AtomicU64, Ordering};

/// Independent partial sums of a distance: enough to keep the vector units busy during the latency of an addition.
const LANES: usize = 16;

/// Independent partial sums for the end of a vector, which has fewer than `LANES` numbers: the width of the narrowest vector unit.
const REST: usize = 4;

/// Numbers of half precision that are converted to single precision at a time. They stay in the L1 cache.
const BLOCK: usize = 256;

/// Candidates whose distances a selection gets at a time.
const OFFERED: usize = 64;

/// The order of distances: that of [`f32::total_cmp`].
const ORDER: Masks = Masks::float(32);

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

/// A number in the precision of a store. All numbers of a store are finite.
trait Kept: Copy + Sync {
    /// The bits of the number.
    fn bits(self) -> u32;

    /// Converts numbers to single precision. Returns `block` itself, or the converted numbers in `buffer`.
    fn widen<'a>(block: &'a [Self], buffer: &'a mut [f32; BLOCK]) -> &'a [f32];
}

impl Kept for f32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn widen<'a>(block: &'a [f32], _: &'a mut [f32; BLOCK]) -> &'a [f32] {
        block
    }
}

impl Kept for f16 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits().into()
    }

    #[inline(always)]
    fn widen<'a>(block: &'a [f16], buffer: &'a mut [f32; BLOCK]) -> &'a [f32] {
        let widened = &mut buffer[..block.len()];
        for (wide, half) in widened.iter_mut().zip(block) {
            *wide = finite(half.to_bits());
        }
        widened
    }
}

/// Converts a finite number of half precision, given by its bits, to single precision, exactly. The conversion of the crate `half` is one instruction on
/// some processors, but one call for each eight numbers. This function is inlined as vector code without a branch.
#[inline(always)]
fn finite(half: u16) -> f32 {
    // The sign, and exponent and fraction at the positions of single precision. The exponent's bias is 15 in half, 127 in single precision.
    let moved = (i32::from(half.cast_signed()) << 13) as u32 & 0x8fff_e000;
    f32::from_bits(moved) * f32::from_bits((127 + 127 - 15) << 23)
}

/// One search. Its offsets have been checked; its candidates too, unless the search leaves that to the device.
struct Task<'a, T> {
    store: &'a RayonStore,
    vectors: &'a [T],
    search: &'a Search<'a>,
}

impl<T: Kept> Task<'_, T> {
    fn distances(&self, backend: &RayonBackend) -> Result<Distances, VectorError> {
        let candidates = self.search.candidate_indices;
        let mut found = Distances { distances: vec![0.0; candidates.len()], slots: vec![0; candidates.len()] };
        let bad = AtomicU64::new(0);
        backend.on_threads(Work::Scan(scan_ns(self.bytes(candidates.len()))), |threads| {
            let task = if threads.is_one() { candidates.len().max(1) } else { self.candidates_a_task() };
            let tasks = found.distances.chunks_mut(task).zip(found.slots.chunks_mut(task)).enumerate().collect();
            threads.for_each(tasks, &|| (), &|(), (index, (distances, slots)): (usize, (&mut [f32], &mut [u32]))| {
                bad.fetch_add(self.chunk(index * task, distances, slots), Ordering::Relaxed);
            });
        });
        VectorError::check_candidates(bad.into_inner())?;
        Ok(found)
    }

    /// Computes the distances and slots of the candidates from `start` on, and returns the number of wrong candidates.
    fn chunk(&self, start: usize, distances: &mut [f32], slots: &mut [u32]) -> u64 {
        let (offsets, end) = (self.search.candidate_offsets, start + distances.len());
        let (mut at, mut bad) = (start, 0);
        // The last query that begins at `start` or before. Empty queries before it have no candidate in the chunk.
        let mut query = offsets.partition_point(|&offset| offset as usize <= start).saturating_sub(1);
        while at < end {
            let stop = (offsets[query + 1] as usize).min(end);
            let (distances, slots) = (&mut distances[at - start..stop - start], &mut slots[at - start..stop - start]);
            bad += self.measure(query, at..stop, distances, slots);
            (at, query) = (stop, query + 1);
        }
        bad
    }

    /// Computes the distances and slots of candidates of one query, and returns the number of wrong candidates.
    fn measure(&self, query: usize, candidates: Range<usize>, distances: &mut [f32], slots: &mut [u32]) -> u64 {
        let dimension = self.store.shape.dimension;
        let query = Query::new(self.search.metric, &self.search.queries[query * dimension..][..dimension]);
        let mut bad = 0;
        for (&candidate, slot) in self.search.candidate_indices[candidates].iter().zip(&mut *slots) {
            *slot = self.slot(candidate).unwrap_or(NO_SLOT);
            bad += u64::from(*slot == NO_SLOT);
        }
        widest(Measured { query, vectors: self.vectors, slots, distances });
        bad
    }

    fn nearest(&self, backend: &RayonBackend, queries: usize, k: usize) -> Result<Nearest, VectorError> {
        let offsets = self.search.candidate_offsets;
        let range = |query: usize| offsets[query] as usize..offsets[query + 1] as usize;
        let most = (0..queries).map(|query| range(query).len()).max().unwrap_or(0).min(k);
        let (mut distances, mut slots) = (vec![f32::INFINITY; queries * most], vec![NO_SLOT; queries * most]);
        let bad = AtomicU64::new(0);
        backend.on_threads(Work::Scan(scan_ns(self.bytes(self.search.candidate_indices.len()))), |threads| {
            // Wrong candidates are an error for every `k`, also if none is to be selected.
            if most == 0 {
                return bad.store(self.count_bad(), Ordering::Relaxed);
            }
            let rows = if threads.is_one() { queries } else { self.queries_a_task(queries) };
            let tasks = distances.chunks_mut(most * rows).zip(slots.chunks_mut(most * rows)).enumerate().collect();
            threads.for_each(tasks, &|| (), &|(), (task, (distances, slots)): (usize, (&mut [f32], &mut [u32]))| {
                for (row, (distances, slots)) in distances.chunks_mut(most).zip(slots.chunks_mut(most)).enumerate() {
                    let query = task * rows + row;
                    let (best, wrong) = self.best(query, range(query), most, threads);
                    bad.fetch_add(wrong, Ordering::Relaxed);
                    for (place, (rank, candidate)) in best.sorted().into_iter().enumerate() {
                        distances[place] = f32::from_bits(ORDER.invert(rank));
                        slots[place] = self.slot(self.search.candidate_indices[candidate as usize]).unwrap_or(NO_SLOT);
                    }
                }
            });
        });
        VectorError::check_candidates(bad.into_inner())?;
        Nearest::new(most, distances, slots)
    }

    /// Returns the best `k` of a query's candidates, and the number of wrong candidates. All threads share the work if there are many candidates.
    fn best(&self, query: usize, candidates: Range<usize>, k: usize, threads: Threads) -> (Best<u32>, u64) {
        let task = self.candidates_a_task();
        if candidates.len() <= 2 * task {
            return self.best_of(query, candidates, k);
        }
        let middle = candidates.start + candidates.len() / 2;
        let ((first, bad), (second, more)) = threads.join(
            || self.best(query, candidates.start..middle, k, threads),
            || self.best(query, middle..candidates.end, k, threads),
        );
        (first.join(second), bad + more)
    }

    fn best_of(&self, query: usize, candidates: Range<usize>, k: usize) -> (Best<u32>, u64) {
        took(Step::Candidates(candidates.len()));
        let (mut best, mut bad) = (Best::none(k, candidates.len()), 0);
        let (mut distances, mut slots) = ([0.0; OFFERED], [0; OFFERED]);
        for start in candidates.clone().step_by(OFFERED) {
            let block = start..(start + OFFERED).min(candidates.end);
            let (distances, slots) = (&mut distances[..block.len()], &mut slots[..block.len()]);
            bad += self.measure(query, block, distances, slots);
            best.offer(start, distances.iter().map(|distance| ORDER.apply(distance.to_bits())));
        }
        (best, bad)
    }

    /// The slot of a candidate, if the candidate is an entry.
    fn slot(&self, candidate: u32) -> Option<u32> {
        self.store.entries.get(candidate as usize).copied()
    }

    fn count_bad(&self) -> u64 {
        self.search.candidate_indices.iter().filter(|&&candidate| self.slot(candidate).is_none()).count() as u64
    }

    /// Bytes of the vectors of so many candidates.
    fn bytes(&self, candidates: usize) -> usize {
        candidates.saturating_mul(self.store.shape.vector_bytes())
    }

    fn candidates_a_task(&self) -> usize {
        (TASK_BYTES / self.store.shape.vector_bytes()).max(1)
    }

    /// How many of the queries are one task, if all have about as many candidates.
    fn queries_a_task(&self, queries: usize) -> usize {
        (self.candidates_a_task() / (self.search.candidate_indices.len() / queries).max(1)).max(1)
    }
}

/// The sums of squares for which a cosine in single precision is as accurate as the contract of [`VectorSearch`] demands. A term below 2⁻¹²⁶ may be
/// lost: in all less than 2⁻⁹⁴ of 2³² terms, which is less than 2⁻³⁴ of each sum of squares in this range.
const PLAIN_SQUARES: RangeInclusive<f32> = 1.0 / (1_u64 << 60) as f32..=f32::MAX;

/// One query, with the values that all of its distances share.
struct Query<'a> {
    metric: Metric,
    numbers: &'a [f32],
    /// Its norm for [`Metric::Cosine`], if single precision holds the squares.
    norm: Option<f32>,
}

impl<'a> Query<'a> {
    fn new(metric: Metric, numbers: &'a [f32]) -> Self {
        let norm = if metric == Metric::Cosine {
            let squares = sum(
                numbers,
                numbers,
                &mut [0.0; BLOCK],
                #[inline(always)]
                |a, b| a * b,
            );
            PLAIN_SQUARES.contains(&squares).then(|| squares.sqrt())
        } else {
            None
        };
        Self { metric, numbers, norm }
    }

    /// The distance of a vector from the query.
    #[inline(always)]
    fn distance<T: Kept>(&self, vector: &[T], buffer: &mut [f32; BLOCK]) -> f32 {
        let distance = match self.metric {
            Metric::L2 => sum(
                self.numbers,
                vector,
                buffer,
                #[inline(always)]
                |a, b| (a - b) * (a - b),
            ),
            Metric::InnerProduct => -sum(
                self.numbers,
                vector,
                buffer,
                #[inline(always)]
                |a, b| a * b,
            ),
            Metric::Cosine => {
                let (mut products, mut squares) = ([0.0; LANES], [0.0; LANES]);
                blocks(
                    self.numbers,
                    vector,
                    buffer,
                    #[inline(always)]
                    |query, vector| {
                        add(
                            &mut products,
                            query,
                            vector,
                            #[inline(always)]
                            |a, b| a * b,
                        );
                        add(
                            &mut squares,
                            query,
                            vector,
                            #[inline(always)]
                            |_, b| b * b,
                        );
                    },
                );
                let squares = total(&squares);
                match self.norm {
                    Some(norm) if PLAIN_SQUARES.contains(&squares) => 1.0 - total(&products) / (norm * squares.sqrt()),
                    _ => cosine_in_double(self.numbers, vector, buffer),
                }
            }
            other => unreachable!("a search by {other:?} is refused"),
        };
        // Processors differ in the sign of a NaN, and the sign decides where a NaN is sorted: here it is always clear.
        if distance.is_nan() { f32::NAN } else { distance }
    }
}

/// One minus the cosine of two vectors whose squares may be too large or too small for single precision, or all zero. Double precision holds the
/// squares of every number.
#[cold]
#[inline(never)]
fn cosine_in_double<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK]) -> f32 {
    took(Step::Double);
    let (mut product, mut query_squares, mut vector_squares) = (0.0, 0.0, 0.0);
    blocks(query, vector, buffer, |query, vector| {
        for (&a, &b) in query.iter().zip(vector) {
            let (a, b) = (f64::from(a), f64::from(b));
            product += a * b;
            query_squares += a * a;
            vector_squares += b * b;
        }
    });
    let norms = query_squares.sqrt() * vector_squares.sqrt();
    if norms == 0.0 { 1.0 } else { (1.0 - product / norms) as f32 }
}

/// The distances of vectors in slots from a query.
struct Measured<'a, T> {
    query: Query<'a>,
    vectors: &'a [T],
    slots: &'a [u32],
    distances: &'a mut [f32],
}

impl<T: Kept> Wide for Measured<'_, T> {
    #[inline(always)]
    fn run(self) {
        let (dimension, mut buffer) = (self.query.numbers.len(), [0.0; BLOCK]);
        let together = (TOUCHED_BYTES / (dimension * size_of::<T>())).clamp(1, TOUCHED);
        for (slots, distances) in self.slots.chunks(together).zip(self.distances.chunks_mut(together)) {
            if !slots.is_sorted_by(|&before, &after| before.wrapping_add(1) == after) {
                took(Step::Touched(slots.len()));
                core::hint::black_box(touched(self.vectors, dimension, slots));
            }
            for (&slot, distance) in slots.iter().zip(distances) {
                *distance = match vector(self.vectors, dimension, slot) {
                    Some(vector) => self.query.distance(vector, &mut buffer),
                    None => f32::INFINITY,
                };
            }
        }
    }
}

/// The vector in a slot, unless that is [`NO_SLOT`].
#[inline(always)]
fn vector<T>(vectors: &[T], dimension: usize, slot: u32) -> Option<&[T]> {
    let start = (slot as usize).checked_mul(dimension)?;
    vectors.get(start..start.checked_add(dimension)?)
}

/// Reads one number of each cache line of some vectors, and returns all their bits in one word. No read waits for another one.
fn touched<T: Kept>(vectors: &[T], dimension: usize, slots: &[u32]) -> u32 {
    slots
        .iter()
        .filter_map(|&slot| vector(vectors, dimension, slot))
        .fold(0, |bits, vector| vector.chunks(CACHE_LINE / size_of::<T>()).fold(bits, |bits, line| bits ^ line[0].bits()))
}

/// The sum of `term` over all pairs of numbers.
#[inline(always)]
fn sum<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK], term: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let mut lanes = [0.0; LANES];
    blocks(
        query,
        vector,
        buffer,
        #[inline(always)]
        |query, vector| add(&mut lanes, query, vector, term),
    );
    total(&lanes)
}

/// Calls `work` with each block of both, in single precision.
#[inline(always)]
fn blocks<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK], mut work: impl FnMut(&[f32], &[f32])) {
    for (query, vector) in query.chunks(BLOCK).zip(vector.chunks(BLOCK)) {
        work(query, T::widen(vector, buffer));
    }
}

/// Adds the terms of a block to `lanes`: chunks of `LANES` terms, then chunks of `REST`, then single terms.
#[inline(always)]
fn add(lanes: &mut [f32; LANES], query: &[f32], vector: &[f32], term: impl Fn(f32, f32) -> f32 + Copy) {
    let at = add_chunks::<LANES>(lanes, query, vector, 0, term);
    if at < query.len() {
        add_rest(lanes, &query[at..], &vector[at..], term);
    }
}

/// Adds the terms after the last whole chunk. Not inlined, like [`total`]: if they are, the compiler splits the lanes of the main loop to suit them.
#[inline(never)]
fn add_rest(lanes: &mut [f32; LANES], query: &[f32], vector: &[f32], term: impl Fn(f32, f32) -> f32 + Copy) {
    let at = add_chunks::<REST>(lanes, query, vector, 0, term);
    add_chunks::<1>(lanes, query, vector, at, term);
}

/// Adds the terms of whole chunks of `WIDTH` pairs from `start` on to the first `WIDTH` lanes, and returns where the chunks end.
#[inline(always)]
fn add_chunks<const WIDTH: usize>(
    lanes: &mut [f32; LANES],
    query: &[f32],
    vector: &[f32],
    start: usize,
    term: impl Fn(f32, f32) -> f32,
) -> usize {
    let end = query.len() - (query.len() - start) % WIDTH;
    let (query, vector) = (&query[..end], &vector[..end]);
    // A copy of the lanes stays in registers.
    let (mut sums, mut at) = (*lanes, start);
    while at < end {
        let (query, vector) = (lanes_at::<WIDTH>(query, at), lanes_at::<WIDTH>(vector, at));
        for lane in 0..WIDTH {
            sums[lane] += term(query[lane], vector[lane]);
        }
        at += WIDTH;
    }
    *lanes = sums;
    end
}

#[inline(always)]
fn lanes_at<const WIDTH: usize>(numbers: &[f32], at: usize) -> &[f32; WIDTH] {
    numbers[at..at + WIDTH].try_into().expect("as many numbers")
}

/// The sum of all lanes; the first additions are `REST` wide.
#[inline(never)]
fn total(lanes: &[f32; LANES]) -> f32 {
    let mut sums = [0.0; REST];
    for lanes in lanes.chunks_exact(REST) {
        for lane in 0..REST {
            sums[lane] += lanes[lane];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::steps_of;

    #[test]
    fn halves_are_widened_exactly() {
        let all = Vec::from_iter((0..=u16::MAX).map(f16::from_bits).filter(|half| half.is_finite()));
        assert_eq!(all.len(), 2 * 0x7c00);
        for block in all.chunks(BLOCK) {
            let mut buffer = [0.0; BLOCK];
            for (wide, half) in f16::widen(block, &mut buffer).iter().zip(block) {
                assert_eq!(wide.to_bits(), half.to_f32().to_bits(), "{half:?} became {wide}");
            }
        }
    }

    fn number(index: usize) -> f32 {
        (index as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32 - 0.5
    }

    fn numbers(range: Range<usize>) -> Vec<f32> {
        range.map(number).collect()
    }

    /// The distance by its definition, in double precision.
    fn expected(metric: Metric, query: &[f32], vector: &[f32]) -> f64 {
        let sum = |term: fn(f64, f64) -> f64| -> f64 { query.iter().zip(vector).map(|(&a, &b)| term(a.into(), b.into())).sum() };
        match metric {
            Metric::L2 => sum(|a, b| (a - b).powi(2)),
            Metric::InnerProduct => -sum(|a, b| a * b),
            _ => 1.0 - sum(|a, b| a * b) / (sum(|a, _| a * a).sqrt() * sum(|_, b| b * b).sqrt()),
        }
    }

    #[test]
    fn distances_are_those_of_the_definition_whatever_the_dimension() {
        for dimension in (1..70).chain([255, 256, 257, 272, 273, 511, 512, 531]) {
            let (query, vector) = (numbers(0..dimension), numbers(dimension..2 * dimension));
            let halves = Vec::from_iter(vector.iter().map(|&number| f16::from_f32(number)));
            let widened = Vec::from_iter(halves.iter().map(|half| half.to_f32()));
            for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
                let (whole, mut buffer) = (Query::new(metric, &query), [0.0; BLOCK]);
                for (found, vector) in
                    [(whole.distance(&vector, &mut buffer), &vector), (whole.distance(&halves, &mut buffer), &widened)]
                {
                    let error = (f64::from(found) - expected(metric, &query, vector)).abs();
                    assert!(error < 1e-5 * dimension as f64, "{found} by {metric:?} of {dimension} numbers");
                }
            }
        }
    }

    #[test]
    fn a_nan_has_no_sign() {
        let infinite = [f32::MAX; 40];
        for (metric, query) in [(Metric::L2, f32::NAN), (Metric::L2, -f32::NAN), (Metric::InnerProduct, f32::NAN)] {
            let distance = Query::new(metric, &[query; 40]).distance(&infinite, &mut [0.0; BLOCK]);
            assert_eq!(distance.to_bits(), f32::NAN.to_bits());
        }
    }

    #[test]
    fn a_cosine_is_computed_in_double_precision_only_if_single_does_not_hold_its_squares() {
        let of = |query: f32, vector: f32| {
            let (query, vector) = ([query, 0.0], [vector, vector]);
            let mut distance = 0.0;
            let steps = steps_of(|| distance = Query::new(Metric::Cosine, &query).distance(&vector, &mut [0.0; BLOCK]));
            assert!((distance - expected(Metric::Cosine, &query, &vector) as f32).abs() < 1e-6, "{distance}");
            steps == [Step::Double]
        };
        let (small, large) = (2.0_f32.powi(-29), 2.0_f32.powi(62));
        for plain in [small, 0.1, 1.0, 10.0, large] {
            assert!(!of(plain, 1.0) && !of(1.0, plain) && !of(plain, -1.0), "{plain}");
        }
        for other in [1e-30, small / 8.0, 8.0 * large] {
            assert!(of(other, 1.0) && of(1.0, other) && of(other, -other), "{other}");
        }
        let zero = Query::new(Metric::Cosine, &[0.0; 3]).distance(&[1.0_f32, 2.0, 3.0], &mut [0.0; BLOCK]);
        assert_eq!(zero, 1.0);
    }

    #[test]
    fn terms_of_a_cosine_in_double_precision_are_those_of_the_definition() {
        for dimension in [1, 2, 7, 300] {
            let (query, vector) = (numbers(5..5 + dimension), numbers(400..400 + dimension));
            let found = cosine_in_double(&query, &vector, &mut [0.0; BLOCK]);
            assert!((f64::from(found) - expected(Metric::Cosine, &query, &vector)).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn vectors_in_scattered_slots_are_touched_some_at_a_time() {
        fn touches<T: Kept>(vectors: &[T], dimension: usize, slots: &[u32]) -> Vec<Step> {
            let (query, mut distances) = (vec![1.0; dimension], vec![0.0; slots.len()]);
            let query = Query::new(Metric::L2, &query);
            steps_of(|| Measured { query, vectors, slots, distances: &mut distances }.run())
        }
        let adjacent = Vec::from_iter(0..100);
        let scattered = Vec::from_iter((0..100).rev());
        assert_eq!(touches(&[0.0_f32; 1600], 16, &adjacent), []);
        assert_eq!(touches(&[0.0_f32; 1600], 16, &scattered), [TOUCHED, TOUCHED, TOUCHED, 100 % TOUCHED].map(Step::Touched));
        let wide = TOUCHED_BYTES / size_of::<f32>() / 5;
        assert_eq!(touches(&vec![0.0_f32; 10 * wide], wide, &scattered[90..]), [Step::Touched(5); 2]);
        assert_eq!(touches(&vec![f16::ZERO; 10 * wide], wide, &scattered[90..]), [Step::Touched(10)]);
        let wide = 2 * TOUCHED_BYTES;
        assert_eq!(touches(&vec![0.0_f32; 2 * wide], wide, &[1, 0]), []);
    }

    #[test]
    fn one_number_of_each_cache_line_is_touched() {
        let numbers = numbers(0..200);
        let bits = |touched: &[usize]| touched.iter().fold(0, |bits, &at| bits ^ numbers[at].to_bits());
        assert_eq!(touched(&numbers, 40, &[0, 3, NO_SLOT, 9]), bits(&[0, 16, 32, 120, 136, 152]));
        let halves = Vec::from_iter(numbers.iter().map(|&number| f16::from_f32(number)));
        let bits = |touched: &[usize]| touched.iter().fold(0, |bits, &at| bits ^ u32::from(halves[at].to_bits()));
        assert_eq!(touched(&halves, 40, &[0, 3]), bits(&[0, 32, 120, 152]));
    }

    /// Calls `work` with a search of `candidates` candidates: 0 to 100 again and again, where 100 has no vector.
    fn with_search(dimension: usize, queries: usize, candidates: usize, work: impl FnOnce(Task<'_, f32>)) {
        let shape = Shape::new(dimension, 100);
        let numbers = numbers(0..100 * dimension);
        let store = RayonStore { shape, vectors: Vectors::F32(vec![]), entries: Vec::from_iter(0..100) };
        let (query, offsets) = (vec![0.5; dimension * queries], [0, candidates as u32]);
        let candidates = Vec::from_iter((0..candidates as u32).map(|at| at % 101));
        let search = Search::new(&query, &candidates, &offsets);
        work(Task { store: &store, vectors: &numbers, search: &search });
    }

    #[test]
    fn a_task_reads_vectors_of_some_bytes() {
        for (dimension, candidates) in [(16, TASK_BYTES / 64), (TASK_BYTES / 8, 2), (TASK_BYTES / 4, 1), (TASK_BYTES, 1)] {
            with_search(dimension, 1, 0, |task| {
                assert_eq!(task.candidates_a_task(), candidates);
                assert_eq!(task.bytes(10), 40 * dimension);
                assert_eq!(task.bytes(usize::MAX / 2), usize::MAX);
            });
        }
        // Queries of 100 candidates each, of none, and of more than a task's.
        let task = TASK_BYTES / (4 * 256);
        with_search(256, 1, 5 * task, |search| {
            assert_eq!(search.queries_a_task(50), 10);
            assert_eq!(search.queries_a_task(5), 1);
            assert_eq!(search.queries_a_task(2), 1);
            assert_eq!(search.queries_a_task(10 * task), task);
        });
    }

    #[test]
    fn candidates_of_more_than_two_tasks_are_halved() {
        let task = TASK_BYTES / (4 * 256);
        with_search(256, 1, 9 * task, |search| {
            for (candidates, tasks) in [
                (0..task, vec![task]),
                (5..5 + 2 * task, vec![2 * task]),
                (5..6 + 2 * task, vec![task, task + 1]),
                (task..5 * task, vec![2 * task; 2]),
                (task..9 * task, vec![2 * task; 4]),
            ] {
                let mut found = None;
                let steps = steps_of(|| found = Some(search.best(0, candidates.clone(), 3, Threads::ONE)));
                let steps = Vec::from_iter(steps.into_iter().filter(|step| matches!(step, Step::Candidates(_))));
                assert_eq!(steps, Vec::from_iter(tasks.into_iter().map(Step::Candidates)), "{candidates:?}");
                let (best, bad) = found.expect("the best");
                assert_eq!(bad, candidates.clone().filter(|at| at % 101 == 100).count() as u64);
                let mut distances = Vec::from_iter(candidates.clone().map(|at| {
                    let vector = search.vectors.get(at % 101 * 256..).and_then(|vectors| vectors.get(..256));
                    let distance = vector.map(|vector| expected(Metric::L2, &[0.5; 256], vector));
                    (distance.unwrap_or(f64::INFINITY), at as u32)
                }));
                distances.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
                assert!(best.sorted().into_iter().map(|(_, at)| at).eq(distances[..3].iter().map(|&(_, at)| at)));
            }
        });
    }
}
