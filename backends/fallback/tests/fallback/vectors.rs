//! Vector search on a primary backend that fails at a chosen call, with a secondary one behind it.

use polysort_core::{Backend, Error, Limits, Pod, Spec, Word};
use polysort_fallback::Fallback;
use polysort_rayon::RayonBackend;
use polysort_vector::{Distances, Metric, Nearest, Search, Shape, VectorError, VectorSearch, VectorStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The CPU backend, whose device fails when `left` calls were made, and ever after.
#[derive(Clone)]
struct Failing {
    cpu: RayonBackend,
    left: Arc<AtomicI64>,
}

impl Failing {
    fn after(calls: i64) -> Self {
        Self { cpu: RayonBackend::with_threads(1).unwrap(), left: Arc::new(calls.into()) }
    }

    fn call(&self) -> Result<(), Error> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1.. => Ok(()),
            _ => Err(Error::DeviceLost { backend: "failing".into(), why: "planned".into(), source: None }),
        }
    }
}

impl Backend for Failing {
    fn open() -> Result<Self, Error> {
        Ok(Self::after(0))
    }

    fn name(&self) -> String {
        "failing".into()
    }

    fn limits(&self) -> Limits {
        self.cpu.limits()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        self.call()?;
        self.cpu.sort_bits(keys, spec)
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        self.call()?;
        self.cpu.sort_pairs_bits(keys, values, spec)
    }
}

struct Store {
    device: Failing,
    store: <RayonBackend as VectorSearch>::Store,
}

impl VectorStore for Store {
    fn shape(&self) -> Shape {
        self.store.shape()
    }

    fn entries(&self) -> usize {
        self.store.entries()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        self.device.call()?;
        self.store.write(slot, vectors)
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.device.call()?;
        self.store.set_entries(slots)
    }
}

impl VectorSearch for Failing {
    type Store = Store;

    fn vector_store(&self, shape: Shape) -> Result<Store, VectorError> {
        self.call()?;
        Ok(Store { device: self.clone(), store: self.cpu.vector_store(shape)? })
    }

    fn distances(&self, store: &Store, search: &Search<'_>) -> Result<Distances, VectorError> {
        self.call()?;
        self.cpu.distances(&store.store, search)
    }

    fn nearest(&self, store: &Store, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        self.call()?;
        self.cpu.nearest(&store.store, search, k)
    }
}

fn search() -> Search<'static> {
    Search::new(&[2.0, 0.0], &[0, 1, 2], &[0, 3]).metric(Metric::L2)
}

/// Fills a store and searches it. Returns the slots in the order of their distances.
fn run<B: VectorSearch>(backend: &B) -> (B::Store, Vec<u32>) {
    let mut store = backend.vector_store(Shape::new(2, 4)).unwrap();
    store.write(0, &[0.0, 0.0, 2.0, 1.0]).unwrap();
    store.write(2, &[7.0, 7.0]).unwrap();
    store.set_entries(&[0, 1, 2]).unwrap();
    let found = backend.distances(&store, &search()).unwrap();
    assert_eq!(found.distances, [4.0, 1.0, 74.0]);
    let nearest = backend.nearest(&store, &search(), 2).unwrap();
    (store, nearest.of(0).0.to_vec())
}

/// The calls of [`run`]: a store, two writes, the entries, two searches.
const CALLS: i64 = 6;

#[test]
fn wherever_the_primary_backend_fails_the_answer_is_the_same() {
    for calls in 0..=CALLS {
        let backend = Fallback::new(Ok(Failing::after(calls)), RayonBackend::with_threads(1).unwrap());
        let (store, slots) = run(&backend);
        assert_eq!(slots, [1, 0], "a failure after {calls} calls");
        // A search that fails leaves the vectors where they are; a write that fails does not.
        assert_eq!(store.is_on_primary(), calls >= 4, "a failure after {calls} calls");
        let report = backend.report();
        let fell_back = match calls {
            0..4 => 1,
            _ => CALLS - calls,
        };
        assert_eq!((report.taken, report.fell_back), (calls as u64, fell_back as u64), "a failure after {calls} calls");
        assert_eq!(report.last_reason.is_some(), calls < CALLS);
    }
}

#[test]
fn the_callers_mistakes_are_not_failures() {
    let backend = Fallback::new(Ok(Failing::after(100)), RayonBackend::with_threads(1).unwrap());
    let (mut store, _) = run(&backend);
    assert!(matches!(store.write(4, &[1.0, 1.0]), Err(VectorError::OutOfRange { .. })));
    assert!(matches!(store.write(0, &[f32::NAN, 1.0]), Err(VectorError::NotFinite { .. })));
    assert!(matches!(store.set_entries(&[9]), Err(VectorError::OutOfRange { value: 9, .. })));
    let wrong = Search::new(&[2.0, 0.0], &[7], &[0, 1]);
    assert!(backend.distances(&store, &wrong).unwrap_err().is_misuse());
    assert!(store.is_on_primary());
    assert_eq!(backend.nearest(&store, &search(), 1).unwrap().of(0).0, [1]);
    assert_eq!(backend.report().fell_back, 0);
    assert_eq!(store.entries(), 3);
}
