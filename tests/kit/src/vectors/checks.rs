//! The checks of a backend that searches vectors, written once.

use super::exact::{Exact, kept};
use crate::case::mix;
use polysort_core::Error;
use polysort_vector::{Check, Distances, Metric, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A property of a backend that searches vectors.
#[derive(Clone, Debug)]
pub struct VectorCheck<B> {
    /// The property that must hold.
    pub name: &'static str,
    /// Runs the check and returns the first failure, if there is one.
    pub run: fn(&B) -> Result<(), String>,
}

/// Everything that must hold of a backend that searches vectors.
pub fn vector_checks<B: VectorSearch>() -> Vec<VectorCheck<B>> {
    vec![
        VectorCheck { name: "a small search by hand", run: by_hand },
        VectorCheck { name: "one query with 1000 candidates", run: one_query },
        VectorCheck { name: "100 queries with 10 candidates each", run: many_queries },
        VectorCheck { name: "dimensions with every remainder", run: dimensions },
        VectorCheck { name: "slots with gaps between them", run: gaps },
        VectorCheck { name: "random shapes", run: random_shapes },
        VectorCheck { name: "nothing to search", run: nothing },
        VectorCheck { name: "the nearest in order", run: nearest },
        VectorCheck { name: "thousands of nearest", run: thousands_of_nearest },
        VectorCheck { name: "numbers that are not finite are refused", run: not_finite },
        VectorCheck { name: "sums beyond single precision", run: beyond_single },
        VectorCheck { name: "cosines of huge and tiny vectors", run: huge_and_tiny },
        VectorCheck { name: "zero vectors", run: zero_vectors },
        VectorCheck { name: "wrong searches are refused", run: wrong_searches },
        VectorCheck { name: "wrong candidates are told or counted", run: wrong_candidates },
        VectorCheck { name: "wrong stores are refused", run: wrong_stores },
        VectorCheck { name: "slots are written again, entries become fewer", run: rewriting },
    ]
}

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];
const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F16];
const CHECKS: [Check; 2] = [Check::Host, Check::Device];

/// A number in slots that no entry names: large, but finite in each precision. A distance that it is part of is wrong.
const POISON: f32 = 60_000.0;

/// A store and a search of it.
#[derive(Clone, Debug)]
struct Setup {
    shape: Shape,
    /// All slots, row by row.
    vectors: Vec<f32>,
    /// The slot of each entry.
    entries: Vec<u32>,
    queries: Vec<f32>,
    candidates: Vec<u32>,
    offsets: Vec<u32>,
    metric: Metric,
    check: Check,
}

impl Setup {
    /// Random vectors, entries in a random order of some of the slots, and `counts[q]` random candidates of query `q`.
    fn random(seed: u64, shape: Shape, entries: usize, counts: &[usize]) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut numbers =
            |vectors: usize| -> Vec<f32> { (0..vectors * shape.dimension).map(|_| rng.random_range(-1.0_f32..1.0)).collect() };
        let (vectors, queries) = (numbers(shape.capacity), numbers(counts.len()));
        let mut slots: Vec<u32> = (0..shape.capacity as u32).collect();
        slots.sort_by_key(|&slot| mix(seed, slot.into()));
        slots.truncate(entries);
        let mut offsets = vec![0];
        offsets.extend(counts.iter().scan(0, |sum, &count| {
            *sum += count as u32;
            Some(*sum)
        }));
        let total = counts.iter().sum();
        let candidates = (0..total).map(|_| rng.random_range(0..entries as u32)).collect();
        Self { shape, vectors, entries: slots, queries, candidates, offsets, metric: Metric::L2, check: Check::Host }
    }

    fn search(&self) -> Search<'_> {
        Search::new(&self.queries, &self.candidates, &self.offsets).metric(self.metric).check(self.check)
    }

    fn store<B: VectorSearch>(&self, backend: &B) -> Result<B::Store, String> {
        let mut store = backend.vector_store(self.shape).map_err(failed)?;
        // In parts, so that what is written first stays as it is.
        let part = (self.shape.capacity / 3 + 1) * self.shape.dimension;
        for (index, vectors) in self.vectors.chunks(part).enumerate() {
            store.write((index * part / self.shape.dimension) as u32, vectors).map_err(failed)?;
        }
        store.set_entries(&self.entries).map_err(failed)?;
        if (store.shape(), store.entries()) == (self.shape, self.entries.len()) {
            return Ok(store);
        }
        Err(format!(
            "a store of {:?} and {} entries for {:?} and {}",
            store.shape(),
            store.entries(),
            self.shape,
            self.entries.len()
        ))
    }

    fn queries(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn range(&self, query: usize) -> core::ops::Range<usize> {
        self.offsets[query] as usize..self.offsets[query + 1] as usize
    }

    /// Whether distances and slots are right.
    fn judge(&self, found: &Distances) -> Result<(), String> {
        let slots: Vec<u32> = self.candidates.iter().map(|&candidate| self.entries[candidate as usize]).collect();
        if found.slots != slots || found.distances.len() != slots.len() {
            let wrong = found.slots.iter().zip(&slots).position(|(got, expected)| got != expected);
            return Err(format!(
                "slots are wrong, the first at {wrong:?}, {} for {}; {}",
                found.slots.len(),
                slots.len(),
                self.told()
            ));
        }
        let dimension = self.shape.dimension;
        let vectors = kept(self.shape.precision, &self.vectors);
        for query in 0..self.queries() {
            for at in self.range(query) {
                let vector = &vectors[slots[at] as usize * dimension..][..dimension];
                let exact = Exact::new(self.metric, &self.queries[query * dimension..][..dimension], vector);
                if !exact.allows(found.distances[at]) {
                    let told = self.told();
                    return Err(format!(
                        "distance {at}, of query {query}, is {}, expected {exact:?}; {told}",
                        found.distances[at]
                    ));
                }
            }
        }
        Ok(())
    }

    fn told(&self) -> String {
        format!(
            "{:?} with {} entries, {:?}, {:?}, offsets {:?}",
            self.shape,
            self.entries.len(),
            self.metric,
            self.check,
            &self.offsets[..self.offsets.len().min(20)]
        )
    }

    /// Checks distances against the exact ones, and the nearest, for each `k`, against a stable sort of those distances.
    fn run<B: VectorSearch>(&self, backend: &B, ks: &[usize]) -> Result<Distances, String> {
        let store = self.store(backend)?;
        let found = backend.distances(&store, &self.search()).map_err(failed)?;
        self.judge(&found)?;
        self.check_nearest(backend, &store, &found, ks)?;
        Ok(found)
    }

    fn check_nearest<B: VectorSearch>(
        &self,
        backend: &B,
        store: &B::Store,
        found: &Distances,
        ks: &[usize],
    ) -> Result<(), String> {
        for &k in ks {
            let nearest = backend.nearest(store, &self.search(), k).map_err(failed)?;
            for query in 0..self.queries() {
                let mut order: Vec<usize> = self.range(query).collect();
                order.sort_by(|&a, &b| found.distances[a].total_cmp(&found.distances[b]));
                order.truncate(k);
                let slots: Vec<u32> = order.iter().map(|&at| found.slots[at]).collect();
                let distances: Vec<u32> = order.iter().map(|&at| found.distances[at].to_bits()).collect();
                let (got_slots, got) = nearest.of(query);
                let got: Vec<u32> = got.iter().map(|distance| distance.to_bits()).collect();
                if got_slots != slots || got != distances {
                    let wrong = got_slots.iter().zip(&slots).position(|(got, expected)| got != expected);
                    let (len, told) = (got.len(), self.told());
                    return Err(format!(
                        "{k} nearest of query {query} are wrong, {len} for {}, slots from {wrong:?} on; {told}",
                        slots.len()
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Every metric, precision and check.
fn every(mut setup: Setup, mut run: impl FnMut(&Setup) -> Result<(), String>) -> Result<(), String> {
    for metric in METRICS {
        for precision in PRECISIONS {
            for check in CHECKS {
                (setup.metric, setup.shape.precision, setup.check) = (metric, precision, check);
                run(&setup)?;
            }
        }
    }
    Ok(())
}

fn by_hand<B: VectorSearch>(backend: &B) -> Result<(), String> {
    // Slots that no entry names hold numbers that no distance here comes near.
    let mut vectors = vec![POISON; 19 * 4];
    let rows = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.5, 0.0], [3.0, 0.0, 0.0, 4.0]];
    for (entry, row) in rows.iter().cycle().take(10).enumerate() {
        vectors[entry * 8..][..4].copy_from_slice(row);
    }
    let mut setup = Setup {
        shape: Shape::new(4, 19),
        vectors,
        entries: (0..10).map(|entry| 2 * entry).collect(),
        queries: vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
        candidates: vec![0, 1, 2, 3, 4],
        offsets: vec![0, 3, 5],
        metric: Metric::L2,
        check: Check::Host,
    };
    // All of these are sums of small fractions, so there is nothing to round.
    let expected = [(Metric::L2, [0.0, 2.0, 5.0, 0.25, 26.0]), (Metric::InnerProduct, [-1.0, 0.0, 0.0, -1.0, 0.0])];
    for precision in PRECISIONS {
        for (metric, distances) in expected {
            (setup.shape.precision, setup.metric) = (precision, metric);
            let found = setup.run(backend, &[1, 2])?;
            if found.distances != distances || found.slots != [0, 2, 4, 6, 8] {
                return Err(format!("{found:?} for {distances:?} and slots 0, 2, 4, 6, 8 ({metric:?}, {precision:?})"));
            }
        }
    }
    Ok(())
}

fn one_query<B: VectorSearch>(backend: &B) -> Result<(), String> {
    every(Setup::random(1, Shape::new(96, 1500), 1200, &[1000]), |setup| setup.run(backend, &[1, 10, 2000]).map(drop))
}

fn many_queries<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let mut setup = Setup::random(2, Shape::new(20, 300), 300, &[10; 100]);
    // Each query far from the others, so that none can pass for another.
    for (query, numbers) in setup.queries.chunks_mut(20).enumerate() {
        numbers.iter_mut().for_each(|number| *number += 8.0 * query as f32);
    }
    every(setup, |setup| setup.run(backend, &[3]).map(drop))
}

fn dimensions<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let around = [64, 128, 256, 768, 1536].into_iter().flat_map(|dimension| [dimension - 1, dimension, dimension + 1]);
    for dimension in (1..=36).chain(around).chain([100, 1000, 2048]) {
        let setup = Setup::random(dimension as u64, Shape::new(dimension, 50), 40, &[7, 0, 13]);
        every(setup, |setup| setup.run(backend, &[4]).map(drop))?;
    }
    Ok(())
}

fn gaps<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let mut setup = Setup::random(5, Shape::new(33, 400), 150, &[20; 12]);
    for (slot, vector) in (0..).zip(setup.vectors.chunks_mut(33)) {
        if !setup.entries.contains(&slot) {
            vector.fill(POISON);
        }
    }
    every(setup, |setup| setup.run(backend, &[5]).map(drop))
}

fn random_shapes<B: VectorSearch>(backend: &B) -> Result<(), String> {
    for seed in 0..160 {
        let mut rng = SmallRng::seed_from_u64(mix(seed, 6));
        let (dimension, capacity) = (rng.random_range(1..=200), rng.random_range(1..=300_usize));
        let entries = rng.random_range(1..=capacity);
        let most = [1, 4, 60, 400][rng.random_range(0..4_usize)];
        let counts: Vec<usize> = (0..rng.random_range(0..40)).map(|_| rng.random_range(0..=most)).collect();
        let mut setup = Setup::random(seed, Shape::new(dimension, capacity), entries, &counts);
        // Entries may share a slot.
        if seed % 5 == 0 {
            setup.entries.iter_mut().for_each(|slot| *slot /= 2);
        }
        setup.metric = METRICS[seed as usize % 3];
        setup.shape.precision = PRECISIONS[seed as usize / 3 % 2];
        setup.check = CHECKS[seed as usize / 6 % 2];
        let k = rng.random_range(0..50);
        let found = setup.run(backend, &[k])?;
        // Equal input, equal output.
        let again = backend.distances(&setup.store(backend)?, &setup.search()).map_err(failed)?;
        if !found.distances.iter().zip(&again.distances).all(|(a, b)| a.to_bits() == b.to_bits()) {
            return Err(format!("two answers to one search; {}", setup.told()));
        }
    }
    Ok(())
}

fn nothing<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let mut setup = Setup::random(7, Shape::new(6, 4), 2, &[]);
    for (offsets, queries) in [(vec![], 0), (vec![0], 0), (vec![0, 0], 1), (vec![0; 6], 5)] {
        (setup.offsets, setup.queries) = (offsets, vec![1.0; queries * 6]);
        every(setup.clone(), |setup| setup.run(backend, &[0, 1, 100]).map(drop))?;
    }
    let mut empty = Setup { shape: Shape::new(6, 0), vectors: vec![], entries: vec![], ..setup };
    every(empty.clone(), |setup| setup.run(backend, &[0, 3]).map(drop))?;
    empty.shape.capacity = 3;
    empty.vectors = vec![2.0; 18];
    every(empty, |setup| setup.run(backend, &[0, 3]).map(drop))
}

/// A setup of vectors of small whole numbers, so that many distances are equal.
fn with_ties(seed: u64, shape: Shape, entries: usize, counts: &[usize]) -> Setup {
    let mut setup = Setup::random(seed, shape, entries, counts);
    setup.vectors.iter_mut().chain(&mut setup.queries).for_each(|number| *number = (*number * 1.5).round());
    setup
}

fn nearest<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let ks = [0, 1, 2, 10, 37, 64, 100, 256, 1000, usize::MAX];
    every(with_ties(8, Shape::new(3, 500), 400, &[300, 0, 1, 37, 2, 700, 0]), |setup| setup.run(backend, &ks).map(drop))?;
    Setup::random(9, Shape::new(11, 500), 400, &[512, 1, 64, 0, 3000]).run(backend, &ks).map(drop)
}

fn thousands_of_nearest<B: VectorSearch>(backend: &B) -> Result<(), String> {
    with_ties(10, Shape::new(5, 900), 900, &[6000, 20, 5000, 4999]).run(backend, &[5000]).map(drop)
}

/// A store and a search refuse numbers that are not finite in the store's precision, name the first one, and change nothing.
fn not_finite<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let setup = Setup::random(11, Shape::new(10, 40), 40, &[40, 40, 40]);
    every(setup, |setup| {
        let mut store = setup.store(backend)?;
        let precision = setup.shape.precision;
        let largest = precision.largest();
        let mut strange = vec![f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        if precision == Precision::F16 {
            strange.extend([largest.next_up(), -largest.next_up(), 70_000.0, f32::MAX, f32::MIN]);
        }
        for number in strange {
            let mut numbers = vec![0.25; 30];
            (numbers[17], numbers[23]) = (number, number);
            let is_right =
                |index: usize, value: f32, of: Precision| (index, value.to_bits(), of) == (17, number.to_bits(), precision);
            match store.write(3, &numbers) {
                Err(VectorError::NotFinite { index, value, precision, .. }) if is_right(index, value, precision) => {}
                other => return Err(format!("{number} at 17 of a write gave {other:?}; {}", setup.told())),
            }
            if number.is_finite() {
                continue;
            }
            let mut wrong = setup.clone();
            (wrong.queries[14], wrong.queries[25]) = (number, number);
            let refused = [
                backend.distances(&store, &wrong.search()).map(drop),
                backend.nearest(&store, &wrong.search(), 3).map(drop),
                backend.nearest(&store, &wrong.search(), 0).map(drop),
            ];
            for outcome in refused {
                match outcome {
                    Err(VectorError::NotFinite { index: 14, value, precision: Precision::F32, .. })
                        if value.to_bits() == number.to_bits() => {}
                    other => return Err(format!("{number} at 14 of the queries gave {other:?}; {}", setup.told())),
                }
            }
        }
        // The largest numbers are no error, and nothing of the refused ones was written.
        setup.judge(&backend.distances(&store, &setup.search()).map_err(failed)?)?;
        store.write(3, &[largest, -largest, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).map_err(failed)
    })
}

/// Distances whose terms exceed single precision may be anything. But they change no other distance, and NaN comes last.
fn beyond_single<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let mut setup = Setup::random(11, Shape::new(10, 40), 40, &[40, 40, 40]);
    setup.candidates = (0..3).flat_map(|_| 0..40).collect();
    let huge = [f32::MAX, f32::MIN, 1e38, -1e38, 3e19];
    for (at, vector) in setup.vectors.chunks_mut(10).enumerate().filter(|(at, _)| at % 3 == 0) {
        (vector[at % 10], vector[(at + 3) % 10]) = (huge[at / 3 % 5], huge[at / 15 % 5]);
    }
    (setup.queries[14], setup.queries[15]) = (f32::MAX, f32::MAX);
    (setup.queries[25], setup.queries[28]) = (1e38, -1e38);
    for metric in METRICS {
        for check in CHECKS {
            (setup.metric, setup.check) = (metric, check);
            let store = setup.store(backend)?;
            let found = backend.distances(&store, &setup.search()).map_err(failed)?;
            setup.judge(&found)?;
            if let Some(at) = found.distances.iter().position(|distance| distance.is_nan() && distance.is_sign_negative()) {
                return Err(format!("distance {at} is NaN with its sign set; {}", setup.told()));
            }
            setup.check_nearest(backend, &store, &found, &[1, 20, 40])?;
        }
    }
    Ok(())
}

/// Cosines are right for vectors whose squares are too large or too small for single precision.
fn huge_and_tiny<B: VectorSearch>(backend: &B) -> Result<(), String> {
    for dimension in [1, 3, 4, 16, 33, 300] {
        let setup = Setup::random(17, Shape::new(dimension, 60), 60, &[60, 60, 60, 60, 60, 60]);
        let mut setup = Setup { candidates: (0..6).flat_map(|_| 0..60).collect(), metric: Metric::Cosine, ..setup };
        // Powers of two and others, from the smallest normal numbers to the largest, in queries as in vectors.
        let scales = [1.0, 3e38, 1.0 / f32::MAX.sqrt(), 1e-37, 2.5e19, 1e-25];
        for (rows, step) in [(&mut setup.vectors, 1), (&mut setup.queries, 5)] {
            for (at, row) in rows.chunks_mut(dimension).enumerate() {
                row.iter_mut().for_each(|number| *number *= scales[at * step % scales.len()]);
            }
        }
        // One number that is much larger than the others of its vector.
        setup.vectors[0] = f32::MAX;
        setup.queries[dimension - 1] = -1e30;
        for check in CHECKS {
            setup.check = check;
            setup.run(backend, &[1, 7])?;
        }
        // Each vector is parallel to itself.
        setup.queries = setup.vectors[dimension..][..6 * dimension].to_vec();
        setup.run(backend, &[3])?;
    }
    Ok(())
}

fn zero_vectors<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let mut setup = Setup::random(12, Shape::new(7, 3), 3, &[3, 3]);
    setup.candidates = vec![0, 1, 2, 0, 1, 2];
    setup.vectors[7..14].fill(0.0);
    setup.queries[..7].fill(0.0);
    every(setup, |setup| setup.run(backend, &[3]).map(drop))
}

fn wrong_searches<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let setup = Setup::random(13, Shape::new(4, 9), 9, &[3, 2, 4]);
    let store = setup.store(backend)?;
    let refused = |what: &str, setup: &Setup, is_right: fn(&VectorError) -> bool| {
        for check in CHECKS {
            let setup = Setup { check, ..setup.clone() };
            let errors = [
                backend.distances(&store, &setup.search()).err(),
                backend.nearest(&store, &setup.search(), 2).err(),
                backend.nearest(&store, &setup.search(), 0).err(),
            ];
            if !errors.iter().all(|error| error.as_ref().is_some_and(|error| error.is_misuse() && is_right(error))) {
                return Err(format!("{what} was not refused as it should be: {errors:?}"));
            }
        }
        Ok(())
    };
    let queries = |len: usize| Setup { queries: vec![0.0; len], ..setup.clone() };
    let offsets = |offsets: &[u32]| Setup { offsets: offsets.to_vec(), ..setup.clone() };
    let lengths: fn(&VectorError) -> bool = |error| matches!(error, VectorError::General(Error::LengthMismatch { .. }));
    refused("a part of a query", &queries(11), lengths)?;
    refused("a query too many", &queries(16), lengths)?;
    refused("queries without offsets", &offsets(&[]), lengths)?;
    refused("candidates of nobody", &offsets(&[0, 3, 5, 8]), lengths)?;
    refused("offsets that begin late", &offsets(&[1, 3, 5, 9]), |error| {
        matches!(error, VectorError::OutOfRange { index: 0, value: 1, limit: 1, .. })
    })?;
    refused("offsets that descend", &offsets(&[0, 5, 3, 9]), |error| {
        matches!(error, VectorError::General(Error::InvalidOffsets { index: 1, begin: 5, end: 3, .. }))
    })?;
    refused("offsets past the end", &offsets(&[0, 3, 10, 9]), |error| {
        matches!(error, VectorError::General(Error::InvalidOffsets { index: 1, begin: 3, end: 10, .. }))
    })?;
    setup.judge(&backend.distances(&store, &setup.search()).map_err(failed)?)
}

fn wrong_candidates<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let right = Setup::random(14, Shape::new(5, 600), 500, &[400, 0, 300, 9]);
    let store = right.store(backend)?;
    let mut wrong = right.clone();
    let places = [3, 399, 400, 401, 650, 708];
    for (&place, value) in places.iter().zip([500, 501, u32::MAX, 1 << 31, 599, 600]) {
        wrong.candidates[place] = value;
    }
    for metric in METRICS {
        wrong.metric = metric;
        for (check, k) in CHECKS.into_iter().flat_map(|check| [0, 1, 5, 1000].map(|k| (check, k))) {
            wrong.check = check;
            let errors = [backend.distances(&store, &wrong.search()).err(), backend.nearest(&store, &wrong.search(), k).err()];
            for error in errors {
                match (check, error) {
                    (Check::Host, Some(VectorError::OutOfRange { index: 3, value: 500, limit: 500, .. })) => {}
                    (Check::Device, Some(VectorError::BadCandidates { count: 6 })) => {}
                    (_, error) => return Err(format!("six wrong candidates, {check:?}, k = {k}: {error:?}")),
                }
            }
        }
    }
    right.judge(&backend.distances(&store, &right.search()).map_err(failed)?)?;
    // A store without slots, and a candidate all the same.
    let store = backend.vector_store(Shape::new(300, 0)).map_err(failed)?;
    let found = backend.distances(&store, &Search::new(&[1.0; 300], &[0], &[0, 1]).check(Check::Device));
    if !matches!(found, Err(VectorError::BadCandidates { count: 1 })) {
        return Err(format!("a candidate in a store without slots: {found:?}"));
    }
    Ok(())
}

fn wrong_stores<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let refused =
        |what: &str, is_refused: bool| if is_refused { Ok(()) } else { Err(format!("{what} was not refused as it should be")) };
    refused(
        "vectors of no numbers",
        matches!(backend.vector_store(Shape::new(0, 3)), Err(VectorError::General(Error::Unsupported { .. }))),
    )?;
    if let Ok(slots) = usize::try_from(1_u64 << 32) {
        let error = backend.vector_store(Shape::new(1, slots)).err();
        let (asked, limit) = (1 << 32, (1 << 32) - 1);
        refused(
            "too many slots",
            matches!(error, Some(VectorError::General(Error::TooLong { asked: a, limit: l, .. })) if (a, l) == (asked, limit)),
        )?;
    }
    for dimension in
        [(1 << 32) - 1, 1 << 32, 1 << 40, (1 << 62) + 1].map(|dimension: u64| usize::try_from(dimension)).into_iter().flatten()
    {
        for precision in PRECISIONS {
            let error = backend.vector_store(Shape::new(dimension, 1).precision(precision)).err();
            let is_clear = matches!(error, Some(VectorError::General(Error::TooLong { asked, .. })) if asked == dimension as u64);
            refused("too many numbers of a vector", is_clear)?;
        }
    }
    for precision in PRECISIONS {
        for (dimension, capacity) in [(1 << 31, 1 << 31), (u32::MAX as usize, u32::MAX as usize - 1)] {
            let error = backend.vector_store(Shape::new(dimension, capacity).precision(precision)).err();
            let is_clear = matches!(error, Some(VectorError::General(Error::OutOfMemory { .. } | Error::TooLong { .. })));
            refused("more memory than there can be", is_clear)?;
        }
    }

    let setup = Setup::random(15, Shape::new(3, 8), 8, &[8, 8]);
    every(setup, |setup| {
        let mut store = setup.store(backend)?;
        let part = store.write(0, &[7.0; 4]);
        refused("a part of a vector", matches!(part, Err(VectorError::General(Error::LengthMismatch { .. }))))?;
        let past = store.write(6, &[7.0; 9]);
        refused(
            "a vector past the last slot",
            matches!(past, Err(VectorError::OutOfRange { index: 2, value: 8, limit: 8, .. })),
        )?;
        let far = store.write(u32::MAX, &[7.0; 3]);
        refused(
            "the last slot of all",
            matches!(far, Err(VectorError::OutOfRange { index: 0, value: 0xffff_ffff, limit: 8, .. })),
        )?;
        let entries = store.set_entries(&[1, 2, 8, 9]);
        refused("entries without slots", matches!(entries, Err(VectorError::OutOfRange { index: 2, value: 8, limit: 8, .. })))?;
        store.write(8, &[]).map_err(failed)?;
        // Nothing of that has changed anything.
        setup.judge(&backend.distances(&store, &setup.search()).map_err(failed)?)
    })
}

fn rewriting<B: VectorSearch>(backend: &B) -> Result<(), String> {
    let setup = Setup::random(16, Shape::new(9, 30), 30, &[30, 12]);
    every(setup, |setup| {
        let mut setup = setup.clone();
        let mut store = setup.store(backend)?;
        for round in 0..5_usize {
            // Some slots in the middle, then fewer entries, or more, in another order.
            let (slot, count) = (7 * round % 23, 1 + round % 4);
            let numbers: Vec<f32> = (0..count * 9).map(|at| (at * (round + 3)) as f32 * 0.01 - 1.0).collect();
            store.write(slot as u32, &numbers).map_err(failed)?;
            setup.vectors[slot * 9..][..numbers.len()].copy_from_slice(&numbers);
            setup.judge(&backend.distances(&store, &setup.search()).map_err(failed)?)?;

            let entries = [11, 3, 30, 1, 17][round];
            setup.entries = (0..entries).map(|entry| (entry * 7 + round as u32) % 30).collect();
            store.set_entries(&setup.entries).map_err(failed)?;
            setup.candidates.iter_mut().for_each(|candidate| *candidate = (*candidate + 1) % entries);
            let found = backend.distances(&store, &setup.search()).map_err(failed)?;
            setup.judge(&found)?;
            setup.check_nearest(backend, &store, &found, &[4])?;
            // An entry that was there before is there no longer.
            let gone = Setup { candidates: vec![entries], offsets: vec![0, 1], queries: vec![0.5; 9], ..setup.clone() };
            if backend.distances(&store, &gone.search()).is_ok() {
                return Err(format!("entry {entries} is still found; {}", setup.told()));
            }
        }
        Ok(())
    })
}

fn failed(error: VectorError) -> String {
    format!("the backend failed: {error}")
}
