//! The index on all cores: against brute force in double precision, and with whatever it must refuse.

use polysort_core::{Backend, Error, Limits, Spec, Word};
use polysort_rayon::{RayonBackend, RayonStore};
use polysort_vector::{
    Check, Distances, IvfError, IvfIndex, IvfOptions, Metric, Nearest, Neighbor, Precision, Search, Shape, VectorError,
    VectorSearch, VectorStore, ivf_distance,
};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

/// Vectors around a few centers.
fn clustered(seed: u64, dimension: usize, count: usize) -> Vec<f32> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let centers: Vec<f32> = (0..20 * dimension).map(|_| rng.random_range(-10.0..10.0)).collect();
    let mut vectors = vec![];
    for _ in 0..count {
        let center = rng.random_range(0..20) * dimension;
        vectors.extend(centers[center..][..dimension].iter().map(|number| number + rng.random_range(-1.0_f32..1.0)));
    }
    vectors
}

fn exact(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let sum = |term: fn(f64, f64) -> f64| a.iter().zip(b).map(|(&a, &b)| term(a.into(), b.into())).sum::<f64>();
    match metric {
        Metric::L2 => sum(|a, b| (a - b).powi(2)),
        Metric::InnerProduct => -sum(|a, b| a * b),
        Metric::Cosine => 1.0 - sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt(),
        other => panic!("{other:?} is not tested"),
    }
}

/// Whether `found` are the `k` nearest of all `vectors`, by distances in double precision.
fn assert_exact(found: &[Neighbor], query: &[f32], vectors: &BTreeMap<u64, Vec<f32>>, k: usize, metric: Metric) {
    let mut distances: Vec<f64> = vectors.values().map(|vector| exact(metric, query, vector)).collect();
    distances.sort_by(f64::total_cmp);
    assert_eq!(found.len(), k.min(vectors.len()));
    let scale = distances.iter().fold(1.0_f64, |scale, distance| scale.max(distance.abs()));
    for (neighbor, expected) in found.iter().zip(&distances) {
        let own = exact(metric, query, &vectors[&neighbor.id]);
        assert!((f64::from(neighbor.distance) - own).abs() < 1e-5 * scale, "{neighbor:?} is {own} away");
        assert!((own - expected).abs() < 1e-5 * scale, "{neighbor:?} is {own} away, expected {expected}");
    }
    let mut ids: Vec<u64> = found.iter().map(|neighbor| neighbor.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), found.len(), "no id comes twice");
}

#[test]
fn churn_keeps_to_brute_force() {
    let dimension = 12;
    for (seed, metric) in (0..).zip(METRICS) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let vectors = clustered(seed, dimension, 4000);
        let row = |at: usize| &vectors[at * dimension..][..dimension];
        let options = IvfOptions::new(dimension, 25).metric(metric).seed(seed);
        let mut index = IvfIndex::train(RayonBackend::default(), options, &vectors[..2000 * dimension]).unwrap();
        let mut there = BTreeMap::new();
        for round in 0..60 {
            // Some come, in runs and one by one; some go.
            let at = rng.random_range(0..3900);
            let new: Vec<usize> =
                (at..at + rng.random_range(0..100)).filter(|&at| !there.contains_key(&(at as u64 * 3))).collect();
            let ids: Vec<u64> = new.iter().map(|&at| at as u64 * 3).collect();
            let numbers: Vec<f32> = new.iter().flat_map(|&at| row(at)).copied().collect();
            if round % 2 == 0 {
                index.add_all(&ids, &numbers).unwrap();
            } else {
                ids.iter().zip(&new).for_each(|(&id, &at)| index.add(id, row(at)).unwrap());
            }
            there.extend(ids.iter().zip(&new).map(|(&id, &at)| (id, row(at).to_vec())));
            let all: Vec<u64> = there.keys().copied().collect();
            let gone: Vec<u64> = all.sample(&mut rng, all.len() / 3).copied().collect();
            index.remove_all(&gone).unwrap();
            gone.iter().for_each(|id| drop(there.remove(id)));

            assert_eq!((index.len(), index.is_empty()), (there.len(), there.is_empty()));
            assert_eq!(index.list_sizes().iter().sum::<usize>(), there.len());
            assert!(gone.iter().all(|&id| !index.contains(id) && index.vector(id).is_none()));
            assert!(there.iter().all(|(&id, vector)| index.vector(id) == Some(vector)));
            let query = row(rng.random_range(0..4000));
            for k in [1, 10, 5000] {
                let found = index.search(query, k, index.lists()).unwrap();
                assert_exact(&found[0], query, &there, k, metric);
            }
        }
        // Freed slots were used again: there were never many more vectors than slots.
        assert!(index.capacity() < 800, "{}", index.capacity());
    }
}

#[test]
fn few_probes_find_most() {
    for metric in METRICS {
        for precision in [Precision::F32, Precision::F16] {
            let (dimension, vectors) = (16, clustered(7, 16, 5000));
            let ids: Vec<u64> = (0..5000).collect();
            let options = IvfOptions::new(dimension, 40).metric(metric).precision(precision);
            let index = IvfIndex::build(RayonBackend::default(), options, &ids, &vectors).unwrap();
            let queries = &vectors[..100 * dimension];
            let truth = index.search(queries, 10, index.lists()).unwrap();
            let found = index.search(queries, 10, 8).unwrap();
            let id = |neighbors: &[Neighbor]| neighbors.iter().map(|neighbor| neighbor.id).collect::<Vec<_>>();
            let hits: usize = truth
                .iter()
                .zip(&found)
                .map(|(truth, found)| {
                    let truth = id(truth);
                    id(found).iter().filter(|id| truth.contains(id)).count()
                })
                .sum();
            assert!(hits >= 900, "{hits} of 1000, {metric:?}, {precision:?}");
            // The more lists, the more is found; none, nothing. All, and more than all, are the same.
            assert!(index.search(queries, 10, 0).unwrap().iter().all(Vec::is_empty));
            assert_eq!(index.search(queries, 10, usize::MAX).unwrap(), truth);
            assert!(index.search(queries, 0, 3).unwrap().iter().all(Vec::is_empty));
            assert!(index.search(&[], 3, 3).unwrap().is_empty());
        }
    }
}

#[test]
fn lists_are_those_of_the_nearest_centers() {
    // No clusters, so that vectors lie between lists.
    let mut rng = SmallRng::seed_from_u64(3);
    let vectors: Vec<f32> = (0..5 * 1000).map(|_| rng.random_range(-1.0..2.0)).collect();
    let ids: Vec<u64> = (0..1000).collect();
    for (metric, by) in [(Metric::L2, Metric::L2), (Metric::InnerProduct, Metric::L2), (Metric::Cosine, Metric::Cosine)] {
        let index = IvfIndex::build(RayonBackend::default(), IvfOptions::new(5, 6).metric(metric), &ids, &vectors).unwrap();
        let mut sizes = vec![0; 6];
        for vector in vectors.chunks(5) {
            let distance = |list: &usize| exact(by, vector, &index.centers()[list * 5..][..5]);
            sizes[(0..6).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap()] += 1;
        }
        assert_eq!(index.list_sizes(), sizes, "{metric:?}");
        assert!(sizes.iter().all(|&size| size > 0), "{metric:?}: {sizes:?}");
    }
}

#[test]
fn training_lowers_the_distance_and_comes_from_the_seed() {
    let vectors = clustered(4, 8, 3000);
    let train = |options: IvfOptions| IvfIndex::train(RayonBackend::default(), options, &vectors).unwrap();
    let spread = |index: &IvfIndex<RayonBackend>| -> f64 {
        let nearest =
            |vector: &[f32]| index.centers().chunks(8).map(|center| exact(Metric::L2, vector, center)).fold(f64::MAX, f64::min);
        vectors.chunks(8).map(nearest).sum()
    };
    let options = IvfOptions::new(8, 60);
    let [untrained, trained] = [0, 20].map(|iterations| spread(&train(options.iterations(iterations))));
    assert!(trained < 0.9 * untrained, "{trained} after {untrained}");
    assert_eq!(train(options.seed(5)).centers(), train(options.seed(5)).centers());
    assert_ne!(train(options.seed(5)).centers(), train(options.seed(6)).centers());
    // A part of the vectors does nearly as well.
    assert!(spread(&train(options.sample(10))) < 1.5 * trained);
}

/// One place for all, or for all but a few: lists without vectors are given some, as far as there are different ones.
#[test]
fn equal_vectors_are_no_trouble() {
    let mut vectors = vec![2.0; 3 * 100];
    for few in [0, 1, 7] {
        for at in 0..few {
            vectors[at * 3] = 10.0 * (at + 1) as f32;
        }
        let ids: Vec<u64> = (0..100).collect();
        let index = IvfIndex::build(RayonBackend::default(), IvfOptions::new(3, 8), &ids, &vectors).unwrap();
        assert!(index.centers().iter().all(|number| number.is_finite()));
        assert!(index.list_sizes().iter().filter(|&&size| size > 0).count() > few.min(7), "{:?}", index.list_sizes());
        let found = index.search(&[2.0; 3], 200, 8).unwrap();
        assert_eq!((found[0].len(), found[0][0].distance), (100, 0.0));
    }
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let vectors = clustered(5, 4, 50);
    let train = |options, vectors: &[f32]| IvfIndex::train(RayonBackend::default(), options, vectors);
    let refused = |options, vectors: &[f32]| train(options, vectors).err();
    assert!(matches!(refused(IvfOptions::new(4, 51), &vectors), Some(IvfError::TooFewVectors { lists: 51, vectors: 50, .. })));
    assert!(matches!(refused(IvfOptions::new(4, 0), &vectors), Some(IvfError::TooFewVectors { lists: 0, .. })));
    assert!(matches!(
        refused(IvfOptions::new(4, 3), &vectors[1..]),
        Some(IvfError::Dimension { numbers: 199, dimension: 4, .. })
    ));
    assert!(matches!(
        refused(IvfOptions::new(0, 3), &vectors),
        Some(IvfError::Backend(VectorError::General(Error::Unsupported { .. })))
    ));
    assert!(matches!(
        refused(IvfOptions::new(1 << 40, 3), &vectors),
        Some(IvfError::Backend(VectorError::General(Error::TooLong { .. })))
    ));
    let mut infinite = vectors.clone();
    infinite[9] = f32::INFINITY;
    assert!(matches!(
        refused(IvfOptions::new(4, 3), &infinite),
        Some(IvfError::NotFinite { vector: 2, number: f32::INFINITY, .. })
    ));

    let mut index = train(IvfOptions::new(4, 6), &vectors).unwrap();
    index.add_all(&(0..40).collect::<Vec<_>>(), &vectors[..160]).unwrap();
    let search = |index: &IvfIndex<RayonBackend>| index.search(&vectors[160..], 40, 6).unwrap();
    let (before, sizes) = (search(&index), index.list_sizes());
    assert!(matches!(index.add(40, &vectors[..3]), Err(IvfError::Dimension { numbers: 3, vectors: 1, dimension: 4, .. })));
    assert!(matches!(index.add_all(&[40, 41], &vectors[..4]), Err(IvfError::Dimension { numbers: 4, vectors: 2, .. })));
    assert!(matches!(index.add_all(&[40, 7], &vectors[..8]), Err(IvfError::DuplicateId { id: 7, .. })));
    assert!(matches!(index.add_all(&[40, 40], &vectors[..8]), Err(IvfError::DuplicateId { id: 40, .. })));
    assert!(matches!(index.add_all(&[40, 41], &infinite[4..12]), Err(IvfError::NotFinite { vector: 1, .. })));
    assert!(matches!(index.remove_all(&[3, 40]), Err(IvfError::UnknownId { id: 40, .. })));
    assert!(matches!(index.remove_all(&[3, 3]), Err(IvfError::UnknownId { id: 3, .. })));
    assert!(matches!(index.search(&vectors[..6], 1, 1), Err(IvfError::Dimension { numbers: 6, vectors: 1, dimension: 4, .. })));
    for strange in [f32::NAN, f32::NEG_INFINITY] {
        let queries = [0.0, 1.0, 2.0, 3.0, 0.0, strange, 2.0, 3.0];
        for probes in [1, 6] {
            assert!(matches!(index.search(&queries, 1, probes), Err(IvfError::NotFinite { vector: 1, .. })));
        }
    }
    assert_eq!((search(&index), index.list_sizes(), index.len()), (before, sizes, 40));

    // Numbers that half precision cannot hold can train lists, but not be added.
    let mut large = vectors.clone();
    large[6] = 65_520.0;
    let mut halves = train(IvfOptions::new(4, 3).precision(Precision::F16), &large).unwrap();
    let error = halves.add_all(&[8, 9], &large[..8]).unwrap_err();
    assert!(matches!(error, IvfError::NotFinite { vector: 1, number: 65_520.0, precision: Precision::F16, .. }), "{error}");
    assert!(halves.is_empty());
    large[6] = 65_519.0;
    halves.add_all(&[8, 9], &large[..8]).unwrap();
    assert_eq!(halves.search(&[large[4], large[5], 65_504.0, large[7]], 1, 3).unwrap()[0][0].id, 9);
}

/// Vectors whose squares single precision does not hold have their directions all the same.
#[test]
fn cosines_of_huge_and_tiny_vectors_find_the_right_ones() {
    let directions = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]];
    for scale in [1e-30_f32, 1e-25, 1.0, 1e20, 3e38] {
        let vectors: Vec<f32> = directions.iter().flatten().map(|number| number * scale).collect();
        let options = IvfOptions::new(2, 1).metric(Metric::Cosine);
        let index = IvfIndex::build(RayonBackend::default(), options, &[0, 1, 2, 3], &vectors).unwrap();
        let found = index.search(&[0.9e38, 1.0e38, /**/ -2e-30, 1e-30], 4, 1).unwrap();
        let ids = |query: usize| found[query].iter().map(|neighbor| neighbor.id).collect::<Vec<_>>();
        assert_eq!((ids(0), ids(1)), (vec![1, 2, 0, 3], vec![3, 2, 1, 0]), "{scale}");
    }
}

/// All cores, until a countdown ends: then each call fails.
#[derive(Clone)]
struct Failing(RayonBackend, Arc<AtomicUsize>);

struct FailingStore(RayonStore, Arc<AtomicUsize>);

fn step(left: &AtomicUsize) -> Result<(), Error> {
    match left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::DeviceLost { backend: "failing".into(), why: "as planned".into(), source: None }),
    }
}

impl Backend for Failing {
    fn open() -> Result<Self, Error> {
        Ok(Self(RayonBackend::open()?, Arc::new(AtomicUsize::new(usize::MAX))))
    }

    fn name(&self) -> String {
        "failing".into()
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        self.0.sort_bits(keys, spec)
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        self.0.sort_pairs_bits(keys, values, spec)
    }
}

impl VectorSearch for Failing {
    type Store = FailingStore;

    fn vector_store(&self, shape: Shape) -> Result<FailingStore, VectorError> {
        step(&self.1)?;
        Ok(FailingStore(self.0.vector_store(shape)?, self.1.clone()))
    }

    fn distances(&self, store: &FailingStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        step(&self.1)?;
        self.0.distances(&store.0, search)
    }

    fn nearest(&self, store: &FailingStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        step(&self.1)?;
        self.0.nearest(&store.0, search, k)
    }
}

impl VectorStore for FailingStore {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn entries(&self) -> usize {
        self.0.entries()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        step(&self.1)?;
        self.0.write(slot, vectors)
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        step(&self.1)?;
        self.0.set_entries(slots)
    }
}

#[test]
fn a_device_that_fails_at_any_moment_leaves_the_index_as_it_was() {
    let vectors = clustered(6, 6, 300);
    let backend = Failing::open().unwrap();
    let left = backend.1.clone();
    let mut index = IvfIndex::train(backend.clone(), IvfOptions::new(6, 10), &vectors).unwrap();
    let mut next = 0;
    for round in 0..4 {
        // Within the slots there are, and beyond.
        let (ids, numbers): (Vec<u64>, _) = ((next..next + 70).collect(), &vectors[next as usize * 6..][..70 * 6]);
        let state = |index: &IvfIndex<Failing>| {
            left.store(usize::MAX, SeqCst);
            (index.search(&vectors[..60], 300, 10).unwrap(), index.list_sizes(), index.len(), index.capacity())
        };
        let before = state(&index);
        let mut calls = 0;
        loop {
            left.store(calls, SeqCst);
            let gone: Vec<u64> = ids.iter().copied().step_by(3).collect();
            match index.add_all(&ids, numbers) {
                Ok(()) => {
                    let added = state(&index);
                    assert_eq!(added.2, before.2 + 70);
                    left.store(0, SeqCst);
                    assert!(matches!(
                        index.remove_all(&gone),
                        Err(IvfError::Backend(VectorError::General(Error::DeviceLost { .. })))
                    ));
                    assert_eq!(state(&index), added);
                    index.remove_all(&gone).unwrap();
                    break;
                }
                Err(error) => {
                    assert!(matches!(error, IvfError::Backend(VectorError::General(Error::DeviceLost { .. }))), "{error}");
                }
            }
            assert_eq!(state(&index), before, "after {calls} calls, round {round}");
            calls += 1;
        }
        assert!(calls >= 3, "an assignment, writes, entries");
        next += 70;
    }
    left.store(2, SeqCst);
    assert!(matches!(IvfIndex::train(backend, IvfOptions::new(6, 10), &vectors), Err(IvfError::Backend(_))));
}

#[test]
fn distances_of_plain_slices() {
    let (dimension, vectors) = (17, clustered(8, 17, 60));
    let entries: Vec<u32> = (0..30).map(|entry| entry * 2).rev().collect();
    let (candidates, offsets) = (vec![4, 0, 29, 3, 3], [0, 3, 3, 5]);
    let queries = clustered(9, 17, 3);
    let backend = RayonBackend::default();
    let found = ivf_distance(&backend, dimension, &queries, &vectors, &entries, &candidates, &offsets).unwrap();
    assert_eq!(found.slots, [50, 58, 0, 52, 52]);
    for (at, query) in [0, 0, 0, 2, 2].into_iter().enumerate() {
        let vector = &vectors[found.slots[at] as usize * dimension..][..dimension];
        let distance = exact(Metric::L2, &queries[query * dimension..][..dimension], vector);
        assert!((f64::from(found.distances[at]) - distance).abs() <= 1e-5 * distance);
    }
    let with = |dimension, vectors, entries, candidates| {
        ivf_distance(&backend, dimension, &queries, vectors, entries, candidates, &offsets).unwrap_err()
    };
    assert!(matches!(with(0, &vectors[..], &entries[..], &candidates[..]), VectorError::General(Error::Unsupported { .. })));
    assert!(matches!(with(17, &vectors[1..], &entries, &candidates), VectorError::General(Error::LengthMismatch { .. })));
    assert!(matches!(with(17, &vectors, &[60], &candidates), VectorError::OutOfRange { value: 60, limit: 60, .. }));
    assert!(matches!(
        with(17, &vectors, &entries, &[4, 0, 30, 3, 3]),
        VectorError::OutOfRange { index: 2, value: 30, limit: 30, .. }
    ));
}

#[test]
fn an_index_says_what_it_is() {
    let index = IvfIndex::train(RayonBackend::default(), IvfOptions::new(2, 1), &[1.0, 2.0]).unwrap();
    assert!(format!("{index:?}").contains("len: 0"), "{index:?}");
    assert_eq!((index.centers(), index.options()), ([1.0, 2.0].as_slice(), IvfOptions::new(2, 1)));
    let search = Search::new(&[], &[], &[]).check(Check::Device);
    assert_eq!(search.queries(2, 0).unwrap(), 0);
}
