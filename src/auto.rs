//! The backend for those who do not care.

use crate::calibration;
use crate::costs::Costs;
use crate::stored::Stored;
use crate::{AnyBackend, Backend, Error, Limits, RayonBackend, Segments, Spec, Word};
use bytemuck::Pod;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Sorts on the device that suits the call, by a table: the built-in one, or what [`calibrate`](crate::calibrate) stored on this
/// machine; on a GPU by the shapes of passes that were stored for it, if there are any. Never measures; reads what is stored when it is opened.
///
/// A GPU gets what it sorts sooner than the cores do, the copies there and back included. It is opened when the calls that it could
/// have had have taken as long as opening it takes. One that shares the cores, a software adapter, counts as none unless it
/// was measured. What a GPU fails at, the cores do.
#[derive(Clone, Debug)]
pub struct Auto {
    cpu: AnyBackend,
    costs: Costs,
    stored: Arc<Stored>,
    gpu: Arc<Gpu>,
}

/// The GPU, if one is there.
#[derive(Debug, Default)]
struct Gpu {
    opened: OnceLock<Option<(AnyBackend, Costs)>>,
    /// Nanoseconds of calls that it could have had.
    missed: AtomicU64,
}

/// Calls that the cores answer sooner, in nanoseconds, no GPU answers yet sooner.
const WORTH: f64 = 2.0e5;

/// Nanoseconds that opening a GPU, compiling for it and testing it are taken to cost.
const OPENING: u64 = 300_000_000;

impl Auto {
    /// The backend that a call on `len` keys of `key_bytes` with payloads of `payload_bytes` (0 for none) is best taken by. Opens
    /// the GPU if it may be that.
    pub fn choose(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> &AnyBackend {
        let on_cores = self.costs.of(len, key_bytes, payload_bytes);
        match if on_cores < WORTH { None } else { self.gpu() } {
            Some((gpu, costs)) if costs.of(len, key_bytes, payload_bytes) < on_cores => gpu,
            _ => &self.cpu,
        }
    }

    /// What is used for such a call: as [`choose`](Auto::choose) says once the GPU is worth opening.
    fn pick(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> &AnyBackend {
        if self.gpu.opened.get().is_none() {
            let on_cores = self.costs.of(len, key_bytes, payload_bytes);
            if on_cores < WORTH || self.gpu.missed.fetch_add(on_cores as u64, Ordering::Relaxed) + (on_cores as u64) < OPENING {
                return &self.cpu;
            }
        }
        let chosen = self.choose(len, key_bytes, payload_bytes);
        tracing::trace!(backend = chosen.kind(), len, key_bytes, payload_bytes, "chosen");
        chosen
    }

    /// What this machine has, and why it is taken or not: a line for each backend. Opens the GPU.
    pub fn explain(&self) -> Vec<String> {
        let cost = |costs: &Costs| {
            let [few, many] = [1 << 10, 1 << 22].map(|len| costs.of(len, 4, 0) / 1000.0);
            format!("{few:.0} us for 2^10 keys of 4 bytes, {many:.0} us for 2^22")
        };
        let source = match &self.stored.measured {
            Some(_) => "as measured on this machine",
            None => "by the built-in table; `calibrate` measures this machine",
        };
        let (gpu, shapes) = match self.gpu() {
            Some((backend, costs)) => (format!("{}: {}", backend.name(), cost(costs)), tuned(backend)),
            None => ("no GPU, or one that runs on the cores".into(), vec![]),
        };
        let mut lines = vec![gpu, format!("{}: {}", self.cpu.name(), cost(&self.costs)), source.into()];
        if !shapes.is_empty() {
            lines.push(format!("the GPU's passes as tuned on this machine: {}", shapes.join("; ")));
        }
        lines
    }

    fn gpu(&self) -> Option<&(AnyBackend, Costs)> {
        self.gpu.opened.get_or_init(|| gpu(&self.stored)).as_ref()
    }

    fn run<T>(&self, chosen: &AnyBackend, mut work: impl FnMut(&AnyBackend) -> Result<T, Error>) -> Result<T, Error> {
        match work(chosen) {
            Err(error) if !error.is_misuse() && chosen.kind() != self.cpu.kind() => {
                tracing::warn!(backend = chosen.kind(), %error, "the cores take over");
                work(&self.cpu)
            }
            done => done,
        }
    }
}

/// The GPU by the backend that is preferred: the shared one, or one of its own if it is to sort by shapes that were stored for it.
#[cfg(feature = "wgpu")]
pub(crate) fn preferred_gpu(stored: &Stored) -> Result<AnyBackend, Error> {
    use crate::gpu::Config;
    #[cfg(feature = "metal")]
    let shared = AnyBackend::by_name("metal").or_else(|_| AnyBackend::by_name("wgpu"))?;
    #[cfg(not(feature = "metal"))]
    let shared = AnyBackend::by_name("wgpu")?;
    let Some(&tuned) = stored.tuned.get(&shared.device()) else { return Ok(shared) };
    let mut config = Config::from_env();
    config.tuned = tuned;
    AnyBackend::open_gpu(shared.kind(), config).or_else(|error| {
        tracing::warn!(%error, "the tuned shapes are not used");
        Ok(shared)
    })
}

/// The shapes that a GPU sorts by instead of the built-in ones.
#[cfg(feature = "wgpu")]
fn tuned(gpu: &AnyBackend) -> Vec<String> {
    let shapes = gpu.gpu().into_iter().flat_map(|gpu| gpu.facts().tuned.shapes());
    shapes.map(|(kind, shape)| format!("{kind} by {shape}")).collect()
}

#[cfg(not(feature = "wgpu"))]
fn tuned(_: &AnyBackend) -> Vec<String> {
    vec![]
}

#[cfg(feature = "wgpu")]
fn gpu(stored: &Stored) -> Option<(AnyBackend, Costs)> {
    use crate::gpu::wgpu::DeviceType;
    let backend = match preferred_gpu(stored) {
        Ok(opened) => opened,
        Err(error) => {
            tracing::debug!(%error, "no GPU");
            return None;
        }
    };
    let known = stored.measured.as_ref().and_then(|measured| measured.gpu.as_ref()).filter(|(name, _)| *name == backend.name());
    let costs = match (known, backend.gpu()?.info().device_type) {
        (Some((_, costs)), _) => costs.clone(),
        // Copies over a bus cost more than copies in memory; a sort on a small GPU costs more than one on a large one.
        (None, DeviceType::DiscreteGpu | DeviceType::VirtualGpu) => Costs::even(1.0e6, 0.15),
        (None, DeviceType::IntegratedGpu) => Costs::even(1.0e6, 0.4),
        (None, DeviceType::Cpu | DeviceType::Other) => return None,
    };
    Some((backend, costs))
}

#[cfg(not(feature = "wgpu"))]
fn gpu(_: &Stored) -> Option<(AnyBackend, Costs)> {
    None
}

impl Backend for Auto {
    fn open() -> Result<Self, Error> {
        let cpu = RayonBackend::global()?;
        let threads = cpu.threads();
        let mut stored = calibration::load().unwrap_or_default();
        stored.measured = stored.measured.filter(|measured| measured.threads == threads);
        let costs = stored.measured.as_ref().map_or_else(|| Costs::of_cores(threads), |measured| measured.cores.clone());
        Ok(Self { cpu: AnyBackend::Rayon(cpu), costs, stored: Arc::new(stored), gpu: Arc::default() })
    }

    fn name(&self) -> String {
        match self.gpu.opened.get().and_then(Option::as_ref) {
            Some((gpu, _)) => format!("auto ({}; {})", gpu.name(), self.cpu.name()),
            None => format!("auto ({})", self.cpu.name()),
        }
    }

    fn limits(&self) -> Limits {
        self.cpu.limits()
    }

    fn is_lost(&self) -> bool {
        self.gpu.opened.get().and_then(Option::as_ref).is_some_and(|(gpu, _)| gpu.is_lost())
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        self.run(self.pick(keys.len(), size_of::<W>(), 0), |backend| backend.sort_bits(keys, spec))
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        let chosen = self.pick(keys.len(), size_of::<W>(), size_of::<V>());
        self.run(chosen, |backend| backend.sort_pairs_bits(keys, values, spec))
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        self.run(self.pick(keys.len(), size_of::<W>(), size_of::<u32>()), |backend| backend.argsort_bits(keys, spec))
    }

    // The cores sort segments, and select, in one read of what a GPU would have to be sent first.

    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        self.cpu.sort_segments_bits(keys, segments, spec)
    }

    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        self.cpu.sort_pairs_segments_bits(keys, values, segments, spec)
    }

    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        self.cpu.argsort_segments_bits(keys, segments, spec)
    }

    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        self.cpu.top_k_bits(keys, k, spec)
    }

    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        self.cpu.top_k_segments_bits(keys, k, segments, spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An `Auto` whose GPU, other threads by name, takes a fifth of what the cores take, and more for pairs than they do.
    fn auto() -> Result<Auto, Error> {
        let gpu = AnyBackend::Rayon(RayonBackend::with_threads(2)?);
        let costs = |per_key: f64, per_value: f64| {
            let cost = |len, key, value| Ok::<_, Error>(len as f64 * (per_key * key as f64 + per_value * value as f64));
            Costs::by(cost)
        };
        let opened = OnceLock::from(Some((gpu, costs(1.0, 20.0)?)));
        let gpu = Arc::new(Gpu { opened, missed: AtomicU64::new(0) });
        Ok(Auto { cpu: AnyBackend::Rayon(RayonBackend::with_threads(1)?), costs: costs(5.0, 5.0)?, stored: Arc::default(), gpu })
    }

    #[test]
    fn what_is_cheaper_is_chosen_by_key_and_payload() -> Result<(), Error> {
        let auto = auto()?;
        let (cpu, gpu) = (auto.cpu.name(), auto.gpu().map(|(gpu, _)| gpu.name()).unwrap_or_default());
        assert_ne!(cpu, gpu);
        // The GPU saves 4 ns for each byte of a key and loses 15 for each byte of a payload.
        for (key, payload, expected) in [(4, 0, &gpu), (16, 0, &gpu), (16, 4, &gpu), (4, 4, &cpu), (4, 16, &cpu), (16, 8, &cpu)] {
            assert_eq!(auto.choose(1 << 20, key, payload).name(), *expected, "{key} and {payload} bytes");
            assert_eq!(auto.pick(1 << 20, key, payload).name(), *expected, "{key} and {payload} bytes");
        }
        assert_eq!(auto.choose(1 << 10, 16, 0).name(), cpu, "too short a call for any GPU");
        Ok(())
    }

    #[test]
    fn a_gpu_is_not_opened_for_less_than_opening_it_takes() -> Result<(), Error> {
        let mut auto = auto()?;
        auto.gpu = Arc::default();
        let (len, key) = (1 << 20, 4);
        let missed = auto.costs.of(len, key, 0) as u64;
        for _ in 0..(OPENING - 1) / missed {
            assert_eq!(auto.pick(len, key, 0).name(), auto.cpu.name());
            assert!(auto.gpu.opened.get().is_none(), "opened too soon");
        }
        for _ in 0..1000 {
            auto.pick(1 << 10, key, 0);
        }
        assert!(auto.gpu.opened.get().is_none(), "opened for calls that no GPU answers sooner");
        auto.pick(len, key, 0);
        assert!(auto.gpu.opened.get().is_some(), "not opened though it would have paid");
        Ok(())
    }
}
