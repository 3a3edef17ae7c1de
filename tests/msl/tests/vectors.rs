//! Compares distances of the native kernel with those of naga's translation and with double precision. The two kernels add in the same order, so
//! their distances have the same bits. Stores have one page or many, and there are several schedules.
#![cfg(unix)]

use polysort_kit::{Exact, step};
use polysort_msl::{Config, FACTS, MslBackend, MslStore, Source};
use polysort_shaders::plan::{Facts, SearchPlan};
use polysort_vector::{Metric, Precision, Search, Shape, VectorSearch, VectorStore};

const METRICS: [Metric; 3] = [Metric::L2, Metric::InnerProduct, Metric::Cosine];

/// Returns a number from -1 to 1 that is exact in half precision.
fn number(seed: usize) -> f32 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29) >> 20 & 0x3ff) as f32 / 512.0 - 1.0
}

/// Vectors and queries. Some queries have no candidates.
struct Setup {
    shape: Shape,
    vectors: Vec<f32>,
    entries: Vec<u32>,
    queries: Vec<f32>,
    candidates: Vec<u32>,
    offsets: Vec<u32>,
}

impl Setup {
    fn new(dimension: usize, precision: Precision) -> Self {
        let shape = Shape::new(dimension, 61).precision(precision);
        let numbers = |count: usize, seed: usize| (0..count * dimension).map(|at| number(at + seed)).collect();
        let offsets = vec![0, 0, 7, 7, 7, 60, 100, 100];
        Self {
            shape,
            vectors: numbers(61, 0),
            entries: (0..50).map(|entry| entry * 17 % 61).collect(),
            queries: numbers(offsets.len() - 1, 1 << 20),
            candidates: (0..100).map(|at| at * 7 % 50).collect(),
            offsets,
        }
    }

    fn search(&self, metric: Metric) -> Search<'_> {
        Search::new(&self.queries, &self.candidates, &self.offsets).metric(metric)
    }

    fn store(&self, backend: &MslBackend) -> MslStore {
        let mut store = backend.vector_store(self.shape).unwrap();
        store.write(0, &self.vectors).unwrap();
        store.set_entries(&self.entries).unwrap();
        store
    }

    /// Returns the bits of all distances, their slots, and the same of the nearest vectors.
    fn found(&self, backend: &MslBackend, metric: Metric) -> [Vec<u32>; 4] {
        let store = self.store(backend);
        let all = backend.distances(&store, &self.search(metric)).unwrap();
        let nearest = backend.nearest(&store, &self.search(metric), 5).unwrap();
        let bits = |distances: &[f32]| distances.iter().map(|distance| distance.to_bits()).collect();
        let (slots, distances): (Vec<_>, Vec<_>) = (0..self.offsets.len() - 1).map(|query| nearest.of(query)).unzip();
        [bits(&all.distances), all.slots, bits(&distances.concat()), slots.concat()]
    }

    /// Checks the slots, and compares the distances with double precision.
    fn judge(&self, metric: Metric, [distances, slots, ..]: &[Vec<u32>; 4]) {
        let row = |numbers: &[f32], at: usize| numbers[at * self.shape.dimension..][..self.shape.dimension].to_vec();
        for query in 0..self.offsets.len() - 1 {
            for at in self.offsets[query] as usize..self.offsets[query + 1] as usize {
                let slot = self.entries[self.candidates[at] as usize];
                assert_eq!(slots[at], slot);
                let exact = Exact::new(metric, &row(&self.queries, query), &row(&self.vectors, slot as usize));
                let distance = f32::from_bits(distances[at]);
                assert!(exact.allows(distance), "{distance} for {exact:?}, {:?}, {metric:?}", self.shape);
            }
        }
    }
}

fn open(source: Source) -> MslBackend {
    MslBackend::open_with(Config::of(source)).unwrap()
}

/// Kernels read four numbers at a time or one, with teams of 1 to 32 threads.
#[test]
fn native_and_translated_kernels_give_the_same_bits() {
    for dimension in [3, 4, 7, 33, 96].into_iter().step_by(step(2)) {
        for precision in [Precision::F32, Precision::F16] {
            let setup = Setup::new(dimension, precision);
            for metric in METRICS {
                let native = setup.found(&open(Source::NATIVE), metric);
                setup.judge(metric, &native);
                let translated = setup.found(&open(Source::NAGA), metric);
                assert!(native == translated, "{:?}, {metric:?}", setup.shape);
            }
        }
    }
}

/// The device has small bindings, and launches of few workgroups per row.
#[test]
fn stores_of_many_pages_give_the_results_of_one() {
    for (dimension, precision) in [(7, Precision::F16), (33, Precision::F32), (96, Precision::F32)] {
        let setup = Setup::new(dimension, precision);
        let one = setup.found(&open(Source::NATIVE), Metric::Cosine);
        setup.judge(Metric::Cosine, &one);
        // Pages have seven slots or a few more, so that the last page is not full.
        let max_binding = (7 * SearchPlan::stride_bytes(setup.shape)).max(400);
        let facts = Facts { max_binding, max_groups: 3, ..FACTS };
        for source in [Source::NATIVE, Source::NAGA] {
            for seed in 1..5 {
                let backend = MslBackend::open_with(Config { facts, seed, ..Config::of(source) }).unwrap();
                assert!(one == setup.found(&backend, Metric::Cosine), "{:?}, seed {seed}, {}", setup.shape, source.name);
            }
        }
    }
}

/// The first and the last number of some vectors.
const HUGE: [[f32; 2]; 4] = [[f32::MAX, f32::MIN], [f32::MIN, f32::MAX], [f32::MAX, f32::MAX], [0.0, f32::MIN]];

/// A distance that is NaN has its sign clear and comes last, with fast math as well.
#[test]
fn distances_that_are_nan_come_last() {
    let fast = Source { options: Source::NATIVE.options.fast_math(true), ..Source::NATIVE };
    let mut nans = 0;
    for dimension in [3, 96] {
        let mut setup = Setup::new(dimension, Precision::F32);
        // Some sums are infinite, and some are differences of infinite sums.
        for (vector, [first, last]) in setup.vectors.chunks_mut(dimension).zip(HUGE) {
            (vector[0], vector[dimension - 1]) = (first, last);
        }
        (setup.queries[dimension], setup.queries[2 * dimension - 1]) = (f32::MAX, f32::MAX);
        // Cosines of such vectors are numbers; the suite checks them.
        for metric in [Metric::L2, Metric::InnerProduct] {
            let native = setup.found(&open(Source::NATIVE), metric);
            assert!(native == setup.found(&open(Source::NAGA), metric), "{dimension}, {metric:?}");
            let with_fast = setup.found(&open(fast), metric);
            assert_eq!(native[1], with_fast[1]);
            for &bits in native[0].iter().chain(&with_fast[0]) {
                let is_number = !f32::from_bits(bits).is_nan();
                assert!(is_number || bits == polysort_shaders::abi::NOT_A_NUMBER, "{dimension}, {metric:?}: {bits:#x}");
            }
            nans += native[0].iter().filter(|&&bits| bits == polysort_shaders::abi::NOT_A_NUMBER).count();
        }
    }
    assert!(nans > 0, "no sum exceeded single precision");
}
