//! The backend for programs that leave the choice to polysort.

use crate::costs::Costs;
use crate::stored::Stored;
use crate::{AnyBackend, AnyOperation, Backend, Error, Limits, Operation, RayonBackend, Spec, Word};
use polysort_core::{sorts_by_run, with_word};
use polysort_fallback::{Opened, Retry};
#[cfg(feature = "vector")]
use polysort_vector::{Distances, DynStore, Nearest, Search, Shape, VectorError, VectorSearch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sorts each call on the CPU or on the GPU, whichever is faster by a table of costs.
///
/// The table is the built-in one or, with the feature `calibration`, the one that `calibrate` stored on this machine. On the GPU, the
/// shapes of passes that were stored for it are used, if there are any. `Auto` never measures; it reads what is stored when it opens.
///
/// | call | sorted by |
/// |---|---|
/// | the CPU takes less than 0.2 ms for it | the CPU: submitting to a GPU takes longer |
/// | a longer sort, of pairs too, or argsort | the GPU, if it is faster, copies to the GPU and back included |
/// | a vector search | the backend that has the vectors: the GPU, if there is one that takes them |
/// | segments, selections, partial sorts | the CPU: it reads the keys once, and the GPU would have to get them first |
///
/// The GPU is opened when the calls that it could have had have taken as long as opening takes. A software adapter runs on the cores, so it does not
/// count as a GPU unless it was measured. If the GPU fails, the CPU takes the call.
///
/// If the GPU could not be opened, or is lost, a later call for the GPU opens it again. After the first such failure, that is the next one. After `k` of
/// them in a row, `2^(k-1) - 1` such calls, at most 1023, go to the CPU first. A call that succeeds on the GPU resets the count.
///
/// `Auto` is a handle: cloning it copies one pointer.
#[derive(Clone, Debug)]
pub struct Auto {
    shared: Arc<Shared>,
}

/// What all clones of a handle share.
#[derive(Debug)]
struct Shared {
    cpu: AnyBackend,
    costs: Costs,
    stored: Stored,
    gpu: Retry<Found>,
    /// Nanoseconds of calls that the GPU could have had before it was opened.
    missed: AtomicU64,
    open_gpu: fn(&Stored) -> Result<Found, Error>,
}

/// The GPU of this machine; `None` if it has none that counts.
type Found = Option<Arc<Gpu>>;

#[derive(Debug)]
struct Gpu {
    backend: AnyBackend,
    costs: Costs,
}

/// Calls that the CPU finishes within this time, in nanoseconds, always stay on the CPU: submitting to a GPU alone takes longer.
const WORTH: f64 = 2.0e5;

/// The assumed time, in nanoseconds, of opening a GPU, compiling kernels for it and testing them.
const OPENING: u64 = 300_000_000;

impl Auto {
    /// Returns the backend that is expected to be fastest for a sort of a host slice: `len` keys of `key_bytes` bytes with payloads of `payload_bytes` bytes
    /// (0 for none). If that may be the GPU, the first such call opens the GPU, and waits until it is open. If no GPU opens, this is the CPU backend.
    pub fn choose(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> AnyBackend {
        let on_cpu = self.shared.costs.of(len, key_bytes, payload_bytes);
        let gpu = if on_cpu < WORTH { None } else { self.gpu().ok().flatten() };
        match gpu.filter(|gpu| gpu.costs.of(len, key_bytes, payload_bytes) < on_cpu) {
            Some(gpu) => gpu.backend.clone(),
            None => self.shared.cpu.clone(),
        }
    }

    /// Describes the backends of this machine, and where their costs come from: a line for each backend. Opens the GPU if it was not opened yet.
    pub fn explain(&self) -> Vec<String> {
        let cost = |costs: &Costs| {
            let [few, many] = [1 << 10, 1 << 22].map(|len| costs.of(len, 4, 0) / 1000.0);
            format!("{few:.0} us for 2^10 keys of 4 bytes, {many:.0} us for 2^22")
        };
        let source = match &self.shared.stored.measured {
            Some(_) => "as measured on this machine",
            None => "by the built-in table; `calibrate` measures this machine",
        };
        let (gpu, shapes) = match self.gpu() {
            Ok(Some(gpu)) => (format!("{}: {}", gpu.backend.name(), cost(&gpu.costs)), tuned(&gpu.backend)),
            Ok(None) => ("no GPU is used: this build reaches none, or the only adapters run on the CPU".into(), vec![]),
            Err(error) => (format!("no GPU: {error}"), vec![]),
        };
        let mut lines = vec![gpu, format!("{}: {}", self.shared.cpu.name(), cost(&self.shared.costs)), source.into()];
        if !shapes.is_empty() {
            lines.push(format!("the GPU's passes as tuned on this machine: {}", shapes.join("; ")));
        }
        lines
    }

    /// The GPU, or why there is none: what the latest try gave, or the first one.
    fn gpu(&self) -> Result<Found, Error> {
        let Shared { gpu, stored, open_gpu, .. } = &*self.shared;
        gpu.latest().unwrap_or_else(|| gpu.get(|_| open_gpu(stored)).map(|opened| opened.device))
    }

    /// The GPU for a call, if the call is better there; opens it if it is worth opening, or is to be tried again.
    fn pick(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> Option<(Arc<Gpu>, Opened<Found>)> {
        let Shared { costs, gpu, missed, stored, open_gpu, .. } = &*self.shared;
        let on_cpu = costs.of(len, key_bytes, payload_bytes);
        if on_cpu < WORTH {
            return None;
        }
        let missing = on_cpu as u64;
        if gpu.latest().is_none() && missed.fetch_add(missing, Ordering::Relaxed) + missing < OPENING {
            return None;
        }
        let opened = gpu.get(|_| open_gpu(stored)).ok()?;
        let gpu = opened.device.clone().filter(|gpu| gpu.costs.of(len, key_bytes, payload_bytes) < on_cpu)?;
        tracing::trace!(backend = gpu.backend.kind(), len, key_bytes, payload_bytes, "chosen");
        Some((gpu, opened))
    }

    /// The GPU for an operation, if it is better there.
    fn pick_for(&self, operation: &AnyOperation<'_>) -> Option<(Arc<Gpu>, Opened<Found>)> {
        let (len, key_bytes, payload_bytes) = with_word!(operation, operation => sizes_on_gpu(operation))?;
        self.pick(len, key_bytes, payload_bytes)
    }

    /// Notes how a call ended on the GPU. Returns the outcome, or `None` if the CPU takes the call.
    fn taken(&self, gpu: &Gpu, opened: &Opened<Found>, outcome: Result<(), Error>) -> Option<Result<(), Error>> {
        self.shared.gpu.note(opened, &outcome, |_| gpu.backend.is_lost());
        match outcome {
            Err(error) if !error.is_misuse() => {
                tracing::warn!(backend = gpu.backend.kind(), %error, "the CPU takes over");
                None
            }
            outcome => Some(outcome),
        }
    }
}

/// A store lies on the GPU, if this machine has one that takes it, else on the CPU. The first store opens the GPU. Searches run where the store is; if
/// the GPU is lost, they return its error, and a new store is to be made. [`Fallback`](crate::Fallback) keeps vectors on two backends.
#[cfg(feature = "vector")]
impl VectorSearch for Auto {
    type Store = DynStore;

    fn vector_store(&self, shape: Shape) -> Result<DynStore, VectorError> {
        let Shared { cpu, gpu, stored, open_gpu, .. } = &*self.shared;
        let opened = gpu.get(|_| open_gpu(stored)).ok();
        if let Some((gpu, opened)) = opened.and_then(|opened| Some((opened.device.clone()?, opened))) {
            match gpu.backend.vector_store(shape) {
                Err(VectorError::General(error)) if !error.is_misuse() => drop(self.taken(&gpu, &opened, Err(error))),
                outcome => return outcome,
            }
        }
        cpu.vector_store(shape)
    }

    fn distances(&self, store: &DynStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        store.distances(search)
    }

    fn nearest(&self, store: &DynStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        store.nearest(search, k)
    }
}

/// The number of keys, the bytes of a key and those of its payload, for an operation that a GPU may be faster at. The CPU sorts segments, selects, and finds runs in one
/// read of keys that a GPU would have to get first.
fn sizes_on_gpu<W: Word>(operation: &Operation<'_, W>) -> Option<(usize, usize, usize)> {
    let is_for_gpu = match operation {
        Operation::Sort { segments, .. } | Operation::SortPairs { segments, .. } | Operation::Argsort { segments, .. } => {
            segments.is_none()
        }
        Operation::SortInto { .. } | Operation::SortPairsInto { .. } => true,
        Operation::PartialSort { .. } | Operation::TopK { .. } | Operation::Runs { .. } => false,
    };
    is_for_gpu.then(|| (operation.keys().len(), size_of::<W>(), operation.payload_bytes()))
}

/// The GPU by the backend that is preferred: the shared one, or one with the shapes of passes that are stored for it.
#[cfg(feature = "wgpu")]
pub(crate) fn preferred_gpu(stored: &Stored) -> Result<AnyBackend, Error> {
    let mut shared = Err(Error::Unavailable { backend: "a GPU".into(), why: "this build has none".into(), source: None });
    for name in AnyBackend::GPU_NAMES {
        shared = shared.or_else(|_| AnyBackend::by_name(name));
    }
    with_stored_shapes(stored, shared?)
}

/// A device like `shared` with the shapes of passes that are stored for it, if there are any.
#[cfg(all(feature = "calibration", feature = "wgpu"))]
fn with_stored_shapes(stored: &Stored, shared: AnyBackend) -> Result<AnyBackend, Error> {
    let Some(&tuned) = stored.tuned.get(&shared.device()) else { return Ok(shared) };
    let mut config = crate::gpu::Config::from_env();
    config.tuned = tuned;
    AnyBackend::open_gpu(shared.kind(), config).or_else(|error| {
        tracing::warn!(%error, "the tuned shapes are not used");
        Ok(shared)
    })
}

/// Without the feature `calibration` nothing is stored.
#[cfg(all(not(feature = "calibration"), feature = "wgpu"))]
fn with_stored_shapes(_: &Stored, shared: AnyBackend) -> Result<AnyBackend, Error> {
    Ok(shared)
}

/// The shapes of passes that a GPU uses instead of the built-in ones.
#[cfg(feature = "wgpu")]
fn tuned(gpu: &AnyBackend) -> Vec<String> {
    let shapes = gpu.gpu().into_iter().flat_map(|gpu| gpu.facts().tuned.shapes());
    shapes.map(|(kind, shape)| format!("{kind} by {shape}")).collect()
}

#[cfg(not(feature = "wgpu"))]
fn tuned(_: &AnyBackend) -> Vec<String> {
    vec![]
}

/// Opens the GPU; `None` for one that does not count.
#[cfg(feature = "wgpu")]
fn open_gpu(stored: &Stored) -> Result<Found, Error> {
    use crate::gpu::wgpu::DeviceType;
    let backend = preferred_gpu(stored).inspect_err(|error| tracing::debug!(%error, "no GPU"))?;
    let Some(gpu) = backend.gpu() else { return Ok(None) };
    let known = stored.measured.as_ref().and_then(|measured| measured.gpu.as_ref()).filter(|(name, _)| *name == backend.name());
    let costs = match (known, gpu.info().device_type) {
        (Some((_, costs)), _) => costs.clone(),
        // Copies over a bus cost more than copies in memory; a sort on a small GPU costs more than one on a large GPU.
        (None, DeviceType::DiscreteGpu | DeviceType::VirtualGpu) => Costs::even(1.0e6, 0.15),
        (None, DeviceType::IntegratedGpu) => Costs::even(1.0e6, 0.4),
        (None, DeviceType::Cpu | DeviceType::Other) => return Ok(None),
    };
    Ok(Some(Arc::new(Gpu { backend, costs })))
}

#[cfg(not(feature = "wgpu"))]
fn open_gpu(_: &Stored) -> Result<Found, Error> {
    Ok(None)
}

/// What is stored for this machine.
#[cfg(feature = "calibration")]
fn stored() -> Stored {
    crate::calibration::load().unwrap_or_default()
}

#[cfg(not(feature = "calibration"))]
fn stored() -> Stored {
    Stored::default()
}

impl Backend for Auto {
    fn open() -> Result<Self, Error> {
        let cpu = RayonBackend::global()?;
        let threads = cpu.threads();
        let mut stored = stored();
        stored.measured = stored.measured.filter(|measured| measured.threads == threads);
        let costs = stored.measured.as_ref().map_or_else(|| Costs::of_cores(threads), |measured| measured.cores.clone());
        let (cpu, gpu, missed) = (AnyBackend::own("rayon", cpu), Retry::untried(), AtomicU64::new(0));
        Ok(Self { shared: Arc::new(Shared { cpu, costs, stored, gpu, missed, open_gpu }) })
    }

    fn name(&self) -> String {
        match self.shared.gpu.latest() {
            Some(Ok(Some(gpu))) => format!("auto ({}; {})", gpu.backend.name(), self.shared.cpu.name()),
            _ => format!("auto ({})", self.shared.cpu.name()),
        }
    }

    /// The limits of the CPU, which takes what the GPU refuses.
    fn limits(&self) -> Limits {
        self.shared.cpu.limits()
    }

    sorts_by_run!();

    fn run(&self, mut operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        if let Some((gpu, opened)) = self.pick_for(&operation) {
            let outcome = gpu.backend.run(operation.by_ref(), spec);
            if let Some(outcome) = self.taken(&gpu, &opened, outcome) {
                return outcome;
            }
        }
        self.shared.cpu.run(operation, spec)
    }

    async fn run_async(&self, mut operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        if let Some((gpu, opened)) = self.pick_for(&operation) {
            let outcome = gpu.backend.run_async(operation.by_ref(), spec).await;
            if let Some(outcome) = self.taken(&gpu, &opened, outcome) {
                return outcome;
            }
        }
        self.shared.cpu.run_async(operation, spec).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Sort, SortAsync};
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    fn costs(per_key: f64, per_value: f64) -> Result<Costs, Error> {
        Costs::by(|len, key, value| Ok(len as f64 * (per_key * key as f64 + per_value * value as f64)))
    }

    /// The GPU of the tests, other threads by its name, takes a fifth of what the cores take for keys, and more for pairs than they do.
    fn other_threads(_: &Stored) -> Result<Found, Error> {
        let backend = AnyBackend::new("rayon", RayonBackend::with_threads(2)?);
        Ok(Some(Arc::new(Gpu { backend, costs: costs(1.0, 20.0)? })))
    }

    /// An `Auto` that has not opened its GPU yet.
    fn untried(open_gpu: fn(&Stored) -> Result<Found, Error>) -> Result<Auto, Error> {
        let (gpu, missed) = (Retry::untried(), AtomicU64::new(0));
        let cpu = AnyBackend::new("rayon", RayonBackend::with_threads(1)?);
        Ok(Auto { shared: Arc::new(Shared { cpu, costs: costs(5.0, 5.0)?, stored: Stored::default(), gpu, missed, open_gpu }) })
    }

    fn picked(auto: &Auto, len: usize, key: usize, payload: usize) -> String {
        auto.pick(len, key, payload).map_or_else(|| auto.shared.cpu.name(), |(gpu, _)| gpu.backend.name())
    }

    #[test]
    fn what_is_cheaper_is_chosen_by_key_and_payload() -> Result<(), Error> {
        let auto = untried(other_threads)?;
        let gpu = auto.gpu()?.ok_or_else(|| Error::Unsupported { what: "no GPU".into() })?.backend.name();
        let cpu = auto.shared.cpu.name();
        assert_ne!(cpu, gpu);
        // The GPU saves 4 ns for each byte of a key and loses 15 for each byte of a payload.
        for (key, payload, expected) in [(4, 0, &gpu), (16, 0, &gpu), (16, 4, &gpu), (4, 4, &cpu), (4, 16, &cpu), (16, 8, &cpu)] {
            assert_eq!(auto.choose(1 << 20, key, payload).name(), *expected, "{key} and {payload} bytes");
            assert_eq!(picked(&auto, 1 << 20, key, payload), *expected, "{key} and {payload} bytes");
        }
        assert_eq!(auto.choose(1 << 10, 16, 0).name(), cpu, "too short a call for any GPU");
        Ok(())
    }

    #[test]
    fn a_gpu_is_not_opened_for_less_than_opening_it_takes() -> Result<(), Error> {
        let auto = untried(other_threads)?;
        let (len, key) = (1 << 20, 4);
        let missed = auto.shared.costs.of(len, key, 0) as u64;
        for _ in 0..(OPENING - 1) / missed {
            assert_eq!(picked(&auto, len, key, 0), auto.shared.cpu.name());
            assert!(auto.shared.gpu.latest().is_none(), "opened too early");
        }
        for _ in 0..1000 {
            auto.pick(1 << 10, key, 0);
        }
        assert!(auto.shared.gpu.latest().is_none(), "opened for calls that are too short for any GPU");
        auto.pick(len, key, 0);
        assert!(auto.shared.gpu.latest().is_some(), "not opened though it would have paid");
        Ok(())
    }

    #[test]
    fn a_clone_is_the_same_handle() -> Result<(), Error> {
        let auto = untried(other_threads)?;
        assert!(Arc::ptr_eq(&auto.shared, &auto.clone().shared));
        assert_eq!(size_of::<Auto>(), size_of::<usize>());
        Ok(())
    }

    #[test]
    fn a_gpu_that_does_not_open_is_tried_again() -> Result<(), Error> {
        static TRIED: AtomicUsize = AtomicUsize::new(0);
        fn fails_thrice(stored: &Stored) -> Result<Found, Error> {
            match TRIED.fetch_add(1, Ordering::Relaxed) {
                0..3 => Err(Error::Unavailable { backend: "a GPU".into(), why: "its driver restarts".into(), source: None }),
                _ => other_threads(stored),
            }
        }
        let auto = untried(fails_thrice)?;
        assert!(auto.explain()[0].contains("its driver restarts"), "{:?}", auto.explain());
        assert_eq!(auto.choose(1 << 20, 4, 0).name(), auto.shared.cpu.name());
        assert_eq!(TRIED.load(Ordering::Relaxed), 1, "asking what would be chosen is no call");
        // Tried by the next call, then after one without a try, then after three.
        let tried: Vec<usize> = (0..8)
            .map(|_| {
                auto.pick(1 << 20, 4, 0);
                TRIED.load(Ordering::Relaxed)
            })
            .collect();
        assert_eq!(tried, [2, 2, 3, 3, 3, 3, 4, 4]);
        assert_ne!(picked(&auto, 1 << 20, 4, 0), auto.shared.cpu.name());
        assert_eq!(auto.name(), format!("auto (rayon, 2 threads; {})", auto.shared.cpu.name()));
        Ok(())
    }

    /// A GPU of the tests that sorts as a CPU does, or fails.
    #[derive(Clone, Debug)]
    struct Flaky;

    /// What the flaky GPU fails with, and whether it is lost then.
    static FAILS: Mutex<(Option<Error>, bool)> = Mutex::new((None, false));
    static ANSWERED: AtomicUsize = AtomicUsize::new(0);

    impl Backend for Flaky {
        fn open() -> Result<Self, Error> {
            Ok(Self)
        }

        fn name(&self) -> String {
            "flaky".into()
        }

        fn limits(&self) -> Limits {
            Limits::default()
        }

        fn is_lost(&self) -> bool {
            FAILS.lock().is_ok_and(|fails| fails.1)
        }

        sorts_by_run!();

        fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
            if let Some(error) = FAILS.lock().ok().and_then(|fails| fails.0.clone()) {
                return Err(error);
            }
            ANSWERED.fetch_add(1, Ordering::Relaxed);
            RayonBackend::with_threads(1)?.run(operation, spec)
        }
    }

    #[test]
    fn a_failing_gpu_leaves_the_call_to_the_cpu_and_a_lost_one_is_opened_again() -> Result<(), Error> {
        let flaky = |_: &Stored| Ok(Some(Arc::new(Gpu { backend: AnyBackend::new("flaky", Flaky), costs: costs(0.1, 0.1)? })));
        let auto = untried(flaky)?;
        auto.gpu()?;
        let fails = |error: Option<Error>, lost: bool| {
            if let Ok(mut fails) = FAILS.lock() {
                *fails = (error, lost);
            }
        };
        // Each operation that it is to take; the sort must be right whoever does it.
        let calls = |answered: usize| {
            let before = ANSWERED.load(Ordering::Relaxed);
            let keys: Vec<u64> = (0..200_000).map(|at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let (mut sorted, mut values) = (keys.clone(), vec![0_u32; keys.len()]);
            auto.sort(&mut sorted)?;
            assert!(sorted.is_sorted());
            auto.sort_pairs_into(&keys, &vec![7; keys.len()], &mut sorted, &mut values)?;
            assert!(sorted.is_sorted() && values == vec![7; keys.len()]);
            let order = pollster::block_on(auto.argsort_async(&keys, Options::ascending()))?;
            assert!(order.iter().map(|&at| keys[at as usize]).is_sorted());
            // Never on a GPU.
            auto.top_k(&keys, 3)?;
            auto.sort_segments(&mut sorted, &[0, 200_000])?;
            assert_eq!(ANSWERED.load(Ordering::Relaxed) - before, answered);
            Ok::<(), Error>(())
        };
        calls(3)?;
        fails(Some(Error::OutOfMemory { asked: 1, limit: None }), false);
        calls(0)?;
        assert!(matches!(auto.shared.gpu.latest(), Some(Ok(Some(_)))), "it failed, but is not lost");
        fails(None, false);
        calls(3)?;
        fails(Error::check_lengths("keys", 1, "values", 2).err(), false);
        assert!(matches!(auto.sort(&mut vec![0_u64; 200_000]), Err(Error::LengthMismatch { .. })));
        // A loss closes it; the next call opens it again.
        fails(Some(Error::OutOfMemory { asked: 1, limit: None }), true);
        auto.sort(&mut vec![0_u64; 200_000])?;
        assert!(auto.gpu().is_err());
        fails(None, false);
        calls(3)
    }
}
