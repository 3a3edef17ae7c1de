//! The backend for those who do not care.

use crate::{AnyBackend, Backend, Error, Limits, RayonBackend, Segments, Spec, Word};
use bytemuck::Pod;
use std::sync::{Arc, OnceLock};

/// Sorts on the device that suits the call, by a built-in table; never measures, never touches a file.
///
/// A GPU gets what it sorts sooner than the cores do, the copies there and back included. One that shares the cores, a software
/// adapter, counts as none. What a GPU fails at, the cores do.
#[derive(Clone, Debug)]
pub struct Auto {
    cpu: AnyBackend,
    /// Opened when a call comes that could be worth it.
    gpu: Arc<OnceLock<Option<Gpu>>>,
}

/// A GPU, and what calls cost on it.
#[derive(Clone, Debug)]
struct Gpu {
    backend: AnyBackend,
    /// Nanoseconds of a call, whatever its length.
    call: f64,
    /// Nanoseconds for each byte of keys and payload, both ways and the sort between.
    byte: f64,
}

/// Nanoseconds that one core takes for each byte of keys and payload: 16 M keys of 4 and 8 bytes on two cores of an AMD EPYC.
const CORE_BYTE: f64 = 1.0;

/// Calls that the cores answer sooner, in nanoseconds, are not worth opening a GPU for.
const WORTH: f64 = 1.0e6;

/// Cores above which the memory, not they, set the pace.
const USEFUL_CORES: usize = 16;

impl Auto {
    /// The backend that takes a call on `len` keys of `key_bytes` with payloads of `payload_bytes` (0 for none).
    pub fn choose(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> &AnyBackend {
        let bytes = (len * (key_bytes + payload_bytes)) as f64;
        let cores = rayon_threads().clamp(1, USEFUL_CORES) as f64;
        let on_cores = CORE_BYTE * bytes / cores;
        let gpu = if on_cores < WORTH { None } else { self.gpu() };
        let chosen = match gpu {
            Some(gpu) if gpu.call + gpu.byte * bytes < on_cores => &gpu.backend,
            _ => &self.cpu,
        };
        tracing::trace!(backend = chosen.kind(), len, key_bytes, payload_bytes, "chosen");
        chosen
    }

    /// What this machine has, and why it is taken or not: a line for each backend.
    pub fn explain(&self) -> Vec<String> {
        let cpu =
            format!("{}: {:.2} ns a byte on {} of its cores", self.cpu.name(), CORE_BYTE, rayon_threads().min(USEFUL_CORES));
        let gpu = match self.gpu() {
            Some(Gpu { backend, call, byte }) => {
                format!("{}: {:.0} us a call and {byte:.2} ns a byte", backend.name(), call / 1000.0)
            }
            None => "no GPU, or one that runs on the cores".into(),
        };
        vec![gpu, cpu]
    }

    fn gpu(&self) -> Option<&Gpu> {
        self.gpu.get_or_init(gpu).as_ref()
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

fn rayon_threads() -> usize {
    RayonBackend::default().threads()
}

#[cfg(feature = "wgpu")]
fn gpu() -> Option<Gpu> {
    use crate::WgpuBackend;
    use crate::gpu::wgpu::DeviceType;
    let backend = match WgpuBackend::global() {
        Ok(backend) => backend,
        Err(error) => {
            tracing::debug!(%error, "no GPU");
            return None;
        }
    };
    // Copies over a bus cost more than copies in memory; a sort on a small GPU costs more than one on a large one.
    let (call, byte) = match backend.info().device_type {
        DeviceType::DiscreteGpu | DeviceType::VirtualGpu => (1.0e6, 0.15),
        DeviceType::IntegratedGpu => (1.0e6, 0.4),
        DeviceType::Cpu | DeviceType::Other => return None,
    };
    Some(Gpu { backend: AnyBackend::Wgpu(backend), call, byte })
}

#[cfg(not(feature = "wgpu"))]
fn gpu() -> Option<Gpu> {
    None
}

impl Backend for Auto {
    fn open() -> Result<Self, Error> {
        Ok(Self { cpu: AnyBackend::Rayon(RayonBackend::global()?), gpu: Arc::default() })
    }

    fn name(&self) -> String {
        match self.gpu.get().and_then(Option::as_ref) {
            Some(gpu) => format!("auto ({}; {})", gpu.backend.name(), self.cpu.name()),
            None => format!("auto ({})", self.cpu.name()),
        }
    }

    fn limits(&self) -> Limits {
        self.cpu.limits()
    }

    fn is_lost(&self) -> bool {
        self.gpu.get().and_then(Option::as_ref).is_some_and(|gpu| gpu.backend.is_lost())
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        self.run(self.choose(keys.len(), size_of::<W>(), 0), |backend| backend.sort_bits(keys, spec))
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        let chosen = self.choose(keys.len(), size_of::<W>(), size_of::<V>());
        self.run(chosen, |backend| backend.sort_pairs_bits(keys, values, spec))
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        self.run(self.choose(keys.len(), size_of::<W>(), size_of::<u32>()), |backend| backend.argsort_bits(keys, spec))
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
}
