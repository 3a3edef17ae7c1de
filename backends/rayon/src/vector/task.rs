//! `Task`: one search, cut into tasks, which threads share.

use super::distance::{Measured, Query};
use super::kept::Kept;
use super::store::RayonStore;
use crate::backend::RayonBackend;
use crate::threads::{Threads, Work};
use crate::top_k::Best;
use crate::trace::{Step, took};
use crate::tuning::scan_ns;
use crate::tuning::vector::TASK_BYTES;
use crate::wide::widest;
use core::ops::Range;
use polysort_core::Masks;
use polysort_vector::{Distances, NO_SLOT, Nearest, Search, VectorError};
use std::sync::atomic::{AtomicU64, Ordering};

/// Candidates whose distances a selection gets at a time.
const OFFERED: usize = 64;

/// The order of distances: that of [`f32::total_cmp`].
const ORDER: Masks = Masks::float(32);

/// One search. Its offsets have been checked; its candidates too, unless the search leaves that to the device.
pub(super) struct Task<'a, T> {
    pub(super) store: &'a RayonStore,
    pub(super) vectors: &'a [T],
    pub(super) search: &'a Search<'a>,
}

impl<T: Kept> Task<'_, T> {
    pub(super) fn distances(&self, backend: &RayonBackend) -> Result<Distances, VectorError> {
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

    pub(super) fn nearest(&self, backend: &RayonBackend, queries: usize, k: usize) -> Result<Nearest, VectorError> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::steps_of;
    use crate::vector::samples::{expected, numbers};
    use crate::vector::store::Vectors;
    use polysort_vector::{Metric, Shape};

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
