//! A backend chosen at run time.

#[cfg(feature = "metal")]
use crate::MetalBackend;
#[cfg(feature = "rayon")]
use crate::RayonBackend;
#[cfg(feature = "wgpu")]
use crate::WgpuBackend;
use crate::{Backend, Error, Limits, Segments, Spec, Word};
use bytemuck::Pod;

/// Any of this build's backends: the choice at run time that generic methods do not give a `dyn Backend`.
///
/// ```
/// use polysort::{AnyBackend, Sort};
/// let backend = AnyBackend::by_name("rayon")?;
/// let mut keys = [2_u8, 1];
/// backend.sort(&mut keys)?;
/// assert_eq!(keys, [1, 2]);
/// # Ok::<(), polysort::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyBackend {
    /// A GPU on an Apple system, through Metal.
    #[cfg(feature = "metal")]
    Metal(MetalBackend),
    /// All cores.
    #[cfg(feature = "rayon")]
    Rayon(RayonBackend),
    /// A GPU.
    #[cfg(feature = "wgpu")]
    Wgpu(WgpuBackend),
}

impl AnyBackend {
    /// The names of the backends that this build knows for this system, the ones that `Auto` prefers first.
    pub const NAMES: &'static [&'static str] = &[
        #[cfg(all(feature = "metal", target_vendor = "apple"))]
        "metal",
        #[cfg(feature = "wgpu")]
        "wgpu",
        #[cfg(feature = "rayon")]
        "rayon",
    ];

    /// Those of [`NAMES`](AnyBackend::NAMES) that are on a GPU.
    pub const GPU_NAMES: &'static [&'static str] = &[
        #[cfg(all(feature = "metal", target_vendor = "apple"))]
        "metal",
        #[cfg(feature = "wgpu")]
        "wgpu",
    ];

    /// The shared device of the backend with one of [`NAMES`](AnyBackend::NAMES).
    ///
    /// # Errors
    /// [`Error::Unavailable`] if there is no such backend in this build, or no device for it on this machine.
    pub fn by_name(name: &str) -> Result<Self, Error> {
        match name {
            #[cfg(feature = "metal")]
            "metal" => Ok(Self::Metal(MetalBackend::global()?)),
            #[cfg(feature = "rayon")]
            "rayon" => Ok(Self::Rayon(RayonBackend::global()?)),
            #[cfg(feature = "wgpu")]
            "wgpu" => Ok(Self::Wgpu(WgpuBackend::global()?)),
            _ => Err(Error::Unavailable {
                backend: name.into(),
                why: format!("this build has {}", Self::NAMES.join(", ")),
                source: None,
            }),
        }
    }

    /// A device of its own for the backend with one of [`GPU_NAMES`](AnyBackend::GPU_NAMES), as the configuration says.
    ///
    /// # Errors
    /// [`Error::Unavailable`] as [`by_name`](AnyBackend::by_name), and for a backend that is on no GPU.
    #[cfg(feature = "wgpu")]
    pub fn open_gpu(name: &str, config: crate::gpu::Config) -> Result<Self, Error> {
        match name {
            #[cfg(feature = "metal")]
            "metal" => MetalBackend::open_with(config).map(Self::Metal),
            "wgpu" => WgpuBackend::open_with(config).map(Self::Wgpu),
            _ => {
                Self::by_name(name)?;
                Err(Error::Unavailable { backend: name.into(), why: "it is on no GPU".into(), source: None })
            }
        }
    }

    /// The engine of a backend on a GPU; none for others.
    #[cfg(feature = "wgpu")]
    pub fn gpu(&self) -> Option<&WgpuBackend> {
        match self {
            #[cfg(feature = "metal")]
            Self::Metal(backend) => Some(backend),
            #[cfg(feature = "rayon")]
            Self::Rayon(_) => None,
            Self::Wgpu(backend) => Some(backend),
        }
    }

    /// What sorts: the backend, and the device by its name.
    #[cfg(all(feature = "rayon", feature = "wgpu"))]
    pub(crate) fn device(&self) -> String {
        format!("{} {}", self.kind(), self.name())
    }

    /// Which of [`NAMES`](AnyBackend::NAMES) this is.
    pub fn kind(&self) -> &'static str {
        match self {
            #[cfg(feature = "metal")]
            Self::Metal(_) => "metal",
            #[cfg(feature = "rayon")]
            Self::Rayon(_) => "rayon",
            #[cfg(feature = "wgpu")]
            Self::Wgpu(_) => "wgpu",
        }
    }
}

/// The same expression on whichever backend it is.
macro_rules! on {
    ($any:expr, $backend:ident => $call:expr) => {
        match $any {
            #[cfg(feature = "metal")]
            AnyBackend::Metal($backend) => $call,
            #[cfg(feature = "rayon")]
            AnyBackend::Rayon($backend) => $call,
            #[cfg(feature = "wgpu")]
            AnyBackend::Wgpu($backend) => $call,
        }
    };
}

impl Backend for AnyBackend {
    /// The first backend of [`NAMES`](AnyBackend::NAMES) that opens.
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
