//! A backend that is selected at run time.

#[cfg(all(feature = "metal", target_vendor = "apple"))]
use crate::MetalBackend;
#[cfg(feature = "rayon")]
use crate::RayonBackend;
#[cfg(feature = "wgpu")]
use crate::WgpuBackend;
use crate::{AnyOperation, Backend, DynBackend, Error, Limits, Spec};
use polysort_core::sorts_by_run;

/// A backend that is selected at run time: one of this build's, or your own.
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
pub struct AnyBackend {
    kind: &'static str,
    backend: DynBackend,
}

impl AnyBackend {
    /// A backend of your own, or one that you opened yourself. `kind` is what [`kind`](AnyBackend::kind) returns.
    pub fn new(kind: &'static str, backend: impl Backend) -> Self {
        Self { kind, backend: DynBackend::new(backend) }
    }

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
            "metal" => Ok(Self::new("metal", MetalBackend::global()?)),
            #[cfg(feature = "rayon")]
            "rayon" => Ok(Self::new("rayon", RayonBackend::global()?)),
            #[cfg(feature = "wgpu")]
            "wgpu" => Ok(Self::new("wgpu", WgpuBackend::global()?)),
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
            "metal" => Ok(Self::new("metal", MetalBackend::open_with(config)?)),
            "wgpu" => Ok(Self::new("wgpu", WgpuBackend::open_with(config)?)),
            _ => {
                Self::by_name(name)?;
                Err(Error::Unavailable { backend: name.into(), why: "it is on no GPU".into(), source: None })
            }
        }
    }

    /// The engine of a backend on a GPU; `None` for other backends.
    #[cfg(feature = "wgpu")]
    pub fn gpu(&self) -> Option<&WgpuBackend> {
        #[cfg(all(feature = "metal", target_vendor = "apple"))]
        if let Some(metal) = self.downcast_ref::<MetalBackend>() {
            return Some(metal.gpu());
        }
        self.downcast_ref()
    }

    /// The backend, if it is of this type.
    pub fn downcast_ref<B: Backend>(&self) -> Option<&B> {
        self.backend.downcast_ref()
    }

    /// The backend and the name of its device.
    #[cfg(all(feature = "rayon", feature = "wgpu"))]
    pub(crate) fn device(&self) -> String {
        format!("{} {}", self.kind(), self.name())
    }

    /// The name of this backend: one of [`NAMES`](AnyBackend::NAMES), or what [`new`](AnyBackend::new) got.
    pub fn kind(&self) -> &'static str {
        self.kind
    }
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
        self.backend.name()
    }

    fn limits(&self) -> Limits {
        self.backend.limits()
    }

    fn is_lost(&self) -> bool {
        self.backend.is_lost()
    }

    fn reopen(&self) -> Result<Self, Error> {
        Ok(Self { kind: self.kind, backend: self.backend.reopen()? })
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.backend.run(operation, spec)
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.backend.run_async(operation, spec).await
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
