//! A backend that is selected at run time.

#[cfg(all(feature = "metal", target_vendor = "apple"))]
use crate::MetalBackend;
#[cfg(feature = "rayon")]
use crate::RayonBackend;
#[cfg(feature = "wgpu")]
use crate::WgpuBackend;
use crate::{Backend, Error, Limits, Segments, Spec, Word};
use bytemuck::Pod;

/// One of this build's backends, selected at run time. The methods of [`Backend`] are generic, so there is no `dyn Backend`.
///
/// ```
/// # #[cfg(feature = "rayon")] {
/// use polysort::{AnyBackend, Sort};
/// let backend = AnyBackend::by_name("rayon")?;
/// let mut keys = [2_u8, 1];
/// backend.sort(&mut keys)?;
/// assert_eq!(keys, [1, 2]);
/// # }
/// # Ok::<(), polysort::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyBackend {
    /// A GPU on an Apple system, through Metal.
    #[cfg(all(feature = "metal", target_vendor = "apple"))]
    Metal(MetalBackend),
    /// All cores.
    #[cfg(feature = "rayon")]
    Rayon(RayonBackend),
    /// A GPU.
    #[cfg(feature = "wgpu")]
    Wgpu(WgpuBackend),
}

impl AnyBackend {
    /// The names of the backends that this build has for this system, in the order in which [`open`](Backend::open) tries them.
    pub const NAMES: &'static [&'static str] = &[
        #[cfg(all(feature = "metal", target_vendor = "apple"))]
        "metal",
        #[cfg(feature = "wgpu")]
        "wgpu",
        #[cfg(feature = "rayon")]
        "rayon",
    ];

    /// The names of those that are on a GPU, in the same order.
    pub const GPU_NAMES: &'static [&'static str] = &[
        #[cfg(all(feature = "metal", target_vendor = "apple"))]
        "metal",
        #[cfg(feature = "wgpu")]
        "wgpu",
    ];

    /// Returns the shared device of the backend with this name, which is one of [`NAMES`](AnyBackend::NAMES).
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this build has no such backend, or this machine has no device for it.
    pub fn by_name(name: &str) -> Result<Self, Error> {
        match name {
            #[cfg(all(feature = "metal", target_vendor = "apple"))]
            "metal" => Ok(Self::Metal(MetalBackend::global()?)),
            #[cfg(feature = "rayon")]
            "rayon" => Ok(Self::Rayon(RayonBackend::global()?)),
            #[cfg(feature = "wgpu")]
            "wgpu" => Ok(Self::Wgpu(WgpuBackend::global()?)),
            _ => {
                let why = match name {
                    "metal" if !cfg!(target_vendor = "apple") => "Metal is on Apple's systems only".into(),
                    _ => format!("this build has {}", Self::NAMES.join(", ")),
                };
                Err(Error::Unavailable { backend: name.into(), why, source: None })
            }
        }
    }

    /// Opens a device of its own, by this configuration, for the backend with this name, which is one of [`GPU_NAMES`](AnyBackend::GPU_NAMES).
    ///
    /// # Errors
    /// [`Error::Unavailable`] as [`by_name`](AnyBackend::by_name), and for a backend that is not on a GPU.
    #[cfg(feature = "wgpu")]
    pub fn open_gpu(name: &str, config: crate::gpu::Config) -> Result<Self, Error> {
        match name {
            #[cfg(all(feature = "metal", target_vendor = "apple"))]
            "metal" => MetalBackend::open_with(config).map(Self::Metal),
            "wgpu" => WgpuBackend::open_with(config).map(Self::Wgpu),
            _ => {
                Self::by_name(name)?;
                Err(Error::Unavailable { backend: name.into(), why: "it is on no GPU".into(), source: None })
            }
        }
    }

    /// The engine of a backend on a GPU; `None` for other backends.
    #[cfg(feature = "wgpu")]
    pub fn gpu(&self) -> Option<&WgpuBackend> {
        match self {
            #[cfg(all(feature = "metal", target_vendor = "apple"))]
            Self::Metal(backend) => Some(backend),
            #[cfg(feature = "rayon")]
            Self::Rayon(_) => None,
            Self::Wgpu(backend) => Some(backend),
        }
    }

    /// The backend and the name of its device.
    #[cfg(all(feature = "rayon", feature = "wgpu"))]
    pub(crate) fn device(&self) -> String {
        format!("{} {}", self.kind(), self.name())
    }

    /// The name of this backend, one of [`NAMES`](AnyBackend::NAMES).
    pub fn kind(&self) -> &'static str {
        match self {
            #[cfg(all(feature = "metal", target_vendor = "apple"))]
            Self::Metal(_) => "metal",
            #[cfg(feature = "rayon")]
            Self::Rayon(_) => "rayon",
            #[cfg(feature = "wgpu")]
            Self::Wgpu(_) => "wgpu",
        }
    }
}

/// Evaluates an expression with the backend that it is.
macro_rules! on {
    ($any:expr, $backend:ident => $call:expr) => {
        match $any {
            #[cfg(all(feature = "metal", target_vendor = "apple"))]
            AnyBackend::Metal($backend) => $call,
            #[cfg(feature = "rayon")]
            AnyBackend::Rayon($backend) => $call,
            #[cfg(feature = "wgpu")]
            AnyBackend::Wgpu($backend) => $call,
        }
    };
}

impl Backend for AnyBackend {
    /// Opens the first backend of [`NAMES`](AnyBackend::NAMES) that opens.
    fn open() -> Result<Self, Error> {
        let mut failure = None;
        for name in Self::NAMES {
            match Self::by_name(name) {
                Ok(backend) => return Ok(backend),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.expect("a build has a backend"))
    }

    fn name(&self) -> String {
        on!(self, backend => backend.name())
    }

    fn limits(&self) -> Limits {
        on!(self, backend => backend.limits())
    }

    fn is_lost(&self) -> bool {
        on!(self, backend => backend.is_lost())
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        on!(self, backend => backend.sort_bits(keys, spec))
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        on!(self, backend => backend.sort_pairs_bits(keys, values, spec))
    }

    fn sort_bits_into<W: Word>(&self, keys: &[W], sorted: &mut [W], spec: Spec) -> Result<(), Error> {
        on!(self, backend => backend.sort_bits_into(keys, sorted, spec))
    }

    fn sort_pairs_bits_into<W: Word, V: Pod>(
        &self,
        keys: &[W],
        values: &[V],
        sorted_keys: &mut [W],
        sorted_values: &mut [V],
        spec: Spec,
    ) -> Result<(), Error> {
        on!(self, backend => backend.sort_pairs_bits_into(keys, values, sorted_keys, sorted_values, spec))
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        on!(self, backend => backend.argsort_bits(keys, spec))
    }

    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        on!(self, backend => backend.sort_segments_bits(keys, segments, spec))
    }

    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        on!(self, backend => backend.sort_pairs_segments_bits(keys, values, segments, spec))
    }

    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        on!(self, backend => backend.argsort_segments_bits(keys, segments, spec))
    }

    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        on!(self, backend => backend.top_k_bits(keys, k, spec))
    }

    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        on!(self, backend => backend.top_k_segments_bits(keys, k, segments, spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_backend_here_is_refused_with_the_reason() {
        let why = |name| AnyBackend::by_name(name).map(|backend| backend.name()).unwrap_err().to_string();
        assert!(why("abacus").contains("abacus is unavailable: this build has "), "{}", why("abacus"));
        if !cfg!(target_vendor = "apple") {
            assert!(why("metal").contains("metal is unavailable: Metal is on Apple's systems only"), "{}", why("metal"));
        }
    }
}
