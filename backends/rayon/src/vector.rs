//! Vector search: distances of candidates that are told by reference, and the nearest of each query.
//!
//! ```text
//! distances   the candidates, in stretches of about equal work, one task each
//!     of each: its entry, its slot, its vector; one pass over both vectors with LANES sums at a time
//! nearest     the same tasks, cut at queries; each keeps the best k of its candidates, and those of a query are joined
//! ```
//!
//! Vectors that follow each other are read as they lie: the processor fetches what comes next. Of those that lie anywhere each would
//! be a wait; so a few are touched first, a number of each cache line, and their waits overlap.
//!
//! A candidate's sums are added in an order that depends on the dimension alone, so a distance is the same bits in both operations,
//! on any number of threads. `nearest` never holds a distance for each candidate.

use crate::RayonBackend;
use crate::threads::Threads;
use crate::top_k::Best;
use crate::tuning::{CACHE_LINE, TOUCHED, TOUCHED_BYTES, VECTOR_TASK_BYTES, scan_ns};
use crate::wide::{Wide, widest};
use core::ops::Range;
use half::f16;
use half::slice::HalfFloatSliceExt;
use polysort_core::vector::{Distances, Metric, NO_SLOT, Nearest, Precision, Search, Shape, VectorSearch, VectorStore};
use polysort_core::{Error, Masks};
use std::sync::atomic::{AtomicU64, Ordering};

/// Sums that are added at a time, independently: enough to fill the vector units while each waits for its last addition.
const LANES: usize = 16;

/// The same for what is left of a vector then: the narrowest vector unit.
const REST: usize = 4;

/// Numbers of half precision that are widened at a time. They stay in the L1.
const BLOCK: usize = 256;

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
    /// Its bits, of which there may be more.
    fn bits(self) -> u32;

    /// The same numbers in single precision: these, or in `buffer`.
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
        let mut largest = 0;
        for (wide, half) in widened.iter_mut().zip(block) {
            *wide = finite(half.to_bits());
            largest = largest.max(half.to_bits() & 0x7fff);
        }
        if largest >= f16::INFINITY.to_bits() {
            block.convert_to_f32_slice(widened);
        }
        widened
    }
}

/// The number in single precision that these bits of half precision mean, exactly, if it is finite. `half` converts by one instruction
/// where there is one, but by a call for each eight numbers: this is vector code, without a branch.
#[inline(always)]
fn finite(half: u16) -> f32 {
    // The sign, and then exponent and fraction where single precision has them; exponents count from 15 there, from 127 here.
    let moved = (i32::from(half.cast_signed()) << 13) as u32 & 0x8fff_e000;
    f32::from_bits(moved) * f32::from_bits((127 + 127 - 15) << 23)
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
        let bad = AtomicU64::new(0);
        backend.run(scan_ns(self.bytes(candidates.len())), |threads| {
            let task = if threads.is_one() { candidates.len().max(1) } else { self.candidates_a_task() };
            let tasks = found.distances.chunks_mut(task).zip(found.slots.chunks_mut(task)).enumerate().collect();
            threads.for_each(tasks, || (), |(), (index, (distances, slots)): (usize, (&mut [f32], &mut [u32]))| {
                bad.fetch_add(self.stretch(index * task, distances, slots), Ordering::Relaxed);
            });
        });
        self.check_bad(bad.into_inner())?;
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
        for (&candidate, slot) in self.search.candidate_indices[candidates].iter().zip(&mut *slots) {
            *slot = self.slot(candidate).unwrap_or(NO_SLOT);
            bad += u64::from(*slot == NO_SLOT);
        }
        widest(Measured { query, vectors: self.vectors, slots, distances });
        bad
    }

    fn nearest(&self, backend: &RayonBackend, queries: usize, k: usize) -> Result<Nearest, Error> {
        let offsets = self.search.candidate_offsets;
        let range = |query: usize| offsets[query] as usize..offsets[query + 1] as usize;
        let most = (0..queries).map(|query| range(query).len()).max().unwrap_or(0).min(k);
        let (mut distances, mut slots) = (vec![f32::INFINITY; queries * most], vec![NO_SLOT; queries * most]);
        let bad = AtomicU64::new(0);
        backend.run(scan_ns(self.bytes(self.search.candidate_indices.len())), |threads| {
            // Without room for any, candidates are looked at all the same: wrong ones are an error whatever `k` is.
            if most == 0 {
                return bad.store(self.count_bad(), Ordering::Relaxed);
            }
            let few = self.candidates_a_task() / (self.search.candidate_indices.len() / queries).max(1);
            let rows = if threads.is_one() { queries } else { few.max(1) };
            let tasks = distances.chunks_mut(most * rows).zip(slots.chunks_mut(most * rows)).enumerate().collect();
            threads.for_each(tasks, || (), |(), (task, (distances, slots)): (usize, (&mut [f32], &mut [u32]))| {
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
        self.check_bad(bad.into_inner())?;
        Nearest::new(most, distances, slots)
    }

    /// The best `k` of a query's candidates, by all threads if there are many, and how many of them are wrong.
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
            Metric::Cosine => sum(
                numbers,
                numbers,
                &mut [0.0; BLOCK],
                #[inline(always)]
                |a, b| a * b,
            )
            .sqrt(),
            Metric::L2 | Metric::InnerProduct => 1.0,
        };
        Self { metric, numbers, norm }
    }

    /// How far a vector is from it.
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
                let norms = self.norm * total(&squares).sqrt();
                if norms == 0.0 { 1.0 } else { 1.0 - total(&products) / norms }
            }
        };
        // One sign for all that are no numbers: processors differ in the one they give, and it decides where they are sorted.
        if distance.is_nan() { f32::NAN } else { distance }
    }
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
                touch(self.vectors, dimension, slots);
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

/// Reads a number of each cache line of some vectors. Nothing waits for one of them before the next is asked for.
fn touch<T: Kept>(vectors: &[T], dimension: usize, slots: &[u32]) {
    let touched = slots
        .iter()
        .filter_map(|&slot| vector(vectors, dimension, slot))
        .fold(0, |bits, vector| vector.chunks(CACHE_LINE / size_of::<T>()).fold(bits, |bits, line| bits ^ line[0].bits()));
    core::hint::black_box(touched);
}

/// The sum of what `term` makes of each pair of numbers.
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

/// Runs `work` on each block of both, in single precision.
#[inline(always)]
fn blocks<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK], mut work: impl FnMut(&[f32], &[f32])) {
    for (query, vector) in query.chunks(BLOCK).zip(vector.chunks(BLOCK)) {
        work(query, T::widen(vector, buffer));
    }
}

/// Adds up a block: by `LANES`, what is left by `REST`, and what is left then one by one.
#[inline(always)]
fn add(lanes: &mut [f32; LANES], query: &[f32], vector: &[f32], term: impl Fn(f32, f32) -> f32 + Copy) {
    let at = add_chunks::<LANES>(lanes, query, vector, 0, term);
    if at < query.len() {
        add_rest(lanes, &query[at..], &vector[at..], term);
    }
}

/// A call, as [`total`] is one: where the compiler sees them beside the loop, it cuts the lanes of that as they suit these.
#[inline(never)]
fn add_rest(lanes: &mut [f32; LANES], query: &[f32], vector: &[f32], term: impl Fn(f32, f32) -> f32 + Copy) {
    let at = add_chunks::<REST>(lanes, query, vector, 0, term);
    add_chunks::<1>(lanes, query, vector, at, term);
}

/// Adds up whole chunks of `WIDTH` pairs from `start` on, in as many lanes, and tells where they end.
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
    // A copy, which stays in registers.
    let (mut sums, mut at) = (*lanes, start);
    while at < end {
        let (query, vector) = (chunk::<WIDTH>(query, at), chunk::<WIDTH>(vector, at));
        for lane in 0..WIDTH {
            sums[lane] += term(query[lane], vector[lane]);
        }
        at += WIDTH;
    }
    *lanes = sums;
    end
}

#[inline(always)]
fn chunk<const WIDTH: usize>(numbers: &[f32], at: usize) -> &[f32; WIDTH] {
    numbers[at..at + WIDTH].try_into().expect("as many numbers")
}

/// The sum of all lanes: first by as many as the narrowest vector unit has.
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

    #[test]
    fn halves_are_widened_exactly() {
        let all = Vec::from_iter((0..=u16::MAX).map(f16::from_bits));
        for block in all.chunks(BLOCK).chain([&all[0x7b80..0x7c80]]) {
            let mut buffer = [0.0; BLOCK];
            for (wide, half) in f16::widen(block, &mut buffer).iter().zip(block) {
                // A signaling NaN may come out quiet or not.
                assert!(wide.to_bits() == half.to_f32().to_bits() || wide.is_nan() && half.is_nan(), "{half:?} became {wide}");
            }
        }
    }
}
