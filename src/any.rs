//! A backend that is selected at run time.

#[cfg(all(feature = "metal", target_vendor = "apple"))]
use crate::MetalBackend;
#[cfg(feature = "rayon")]
use crate::RayonBackend;
#[cfg(feature = "wgpu")]
use crate::WgpuBackend;
use crate::{AnyOperation, Backend, DynBackend, Error, Limits, Spec};
use polysort_core::sorts_by_run;
#[cfg(feature = "vector")]
use polysort_vector::{Distances, DynStore, Nearest, Search, Shape, VectorError, VectorSearch};

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
    /// Makes stores on the backend, if it searches vectors.
    #[cfg(feature = "vector")]
    store: Option<MakeStore>,
}

/// Makes a store on the backend, which has the type that the function is for.
#[cfg(feature = "vector")]
type MakeStore = fn(&DynBackend, Shape) -> Result<DynStore, VectorError>;

impl AnyBackend {
    /// A backend of your own, or one that you opened yourself. `kind` is what [`kind`](AnyBackend::kind) returns.
    pub fn new(kind: &'static str, backend: impl Backend) -> Self {
        Self {
            kind,
            backend: DynBackend::new(backend),
            #[cfg(feature = "vector")]
            store: None,
        }
    }

    /// Like [`new`](AnyBackend::new), for a backend that also searches vectors. With `new`, [`vector_store`](VectorSearch::vector_store) returns
    /// [`Error::Unsupported`].
    #[cfg(feature = "vector")]
    pub fn with_vectors<B: VectorSearch>(kind: &'static str, backend: B) -> Self {
        let store: MakeStore = |backend, shape| {
            let backend: &B =
                backend.downcast_ref().expect("the type of `backend` below, and that of a device opened in its place");
            DynStore::new(backend, shape)
        };
        Self { kind, backend: DynBackend::new(backend), store: Some(store) }
    }

    /// One of this build's backends, with all that it can do.
    #[cfg(feature = "vector")]
    pub(crate) fn own<B: VectorSearch>(kind: &'static str, backend: B) -> Self {
        Self::with_vectors(kind, backend)
    }

    #[cfg(not(feature = "vector"))]
    pub(crate) fn own<B: Backend>(kind: &'static str, backend: B) -> Self {
        Self::new(kind, backend)
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
            "metal" => Ok(Self::own("metal", MetalBackend::global()?)),
            #[cfg(feature = "rayon")]
            "rayon" => Ok(Self::own("rayon", RayonBackend::global()?)),
            #[cfg(feature = "wgpu")]
            "wgpu" => Ok(Self::own("wgpu", WgpuBackend::global()?)),
            _ => {
                let why = match name {
                    "metal" if !cfg!(target_vendor = "apple") => "Metal is on Apple's systems only".into(),
                    _ => format!("this build has no backend of this name; it has {}", Self::NAMES.join(", ")),
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
            "metal" => Ok(Self::own("metal", MetalBackend::open_with(config)?)),
            "wgpu" => Ok(Self::own("wgpu", WgpuBackend::open_with(config)?)),
            _ => {
                Self::by_name(name)?;
                Err(Error::Unavailable { backend: name.into(), why: "it is on no GPU".into(), source: None })
            }
        }
    }

    /// Opens a [`MultiBackend`](crate::MultiBackend) of the devices that `devices` lists, separated by commas. A device is `cpu`, or an adapter of a GPU: its index,
    /// or a part of its name. So `0,1,cpu` is the first two adapters and the CPU.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a device does not open, or this build has no GPU backend.
    #[cfg(feature = "multi")]
    pub fn open_multi(devices: &str) -> Result<Self, Error> {
        let open = |device: &str| match device.trim() {
            "cpu" => Ok(DynBackend::new(RayonBackend::global()?)),
            adapter => open_adapter(adapter),
        };
        let devices = devices.split(',').map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::new("multi", crate::MultiBackend::new(devices)?))
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
    #[cfg(all(feature = "calibration", feature = "wgpu"))]
    pub(crate) fn device(&self) -> String {
        format!("{} {}", self.kind(), self.name())
    }

    /// The name of this backend: one of [`NAMES`](AnyBackend::NAMES), or what [`new`](AnyBackend::new) got.
    pub fn kind(&self) -> &'static str {
        self.kind
    }
}

/// Opens an adapter, given by its index or a part of its name, with the GPU backend of this system that is preferred.
#[cfg(all(feature = "multi", feature = "wgpu"))]
fn open_adapter(adapter: &str) -> Result<DynBackend, Error> {
    let mut config = crate::gpu::Config::from_env();
    config.adapter = adapter.into();
    let name = AnyBackend::GPU_NAMES.first().expect("a build with the feature `wgpu` has a backend on a GPU");
    AnyBackend::open_gpu(name, config).map(DynBackend::from)
}

#[cfg(all(feature = "multi", not(feature = "wgpu")))]
fn open_adapter(adapter: &str) -> Result<DynBackend, Error> {
    Err(Error::Unavailable { backend: adapter.into(), why: "this build has no GPU backend; it has cpu".into(), source: None })
}

/// The backend inside, whatever its type.
impl From<AnyBackend> for DynBackend {
    fn from(any: AnyBackend) -> Self {
        any.backend
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
        Ok(Self { backend: self.backend.reopen()?, ..self.clone() })
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.backend.run(operation, spec)
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.backend.run_async(operation, spec).await
    }
}

/// A store keeps a handle to the backend that made it, and searches run there.
#[cfg(feature = "vector")]
impl VectorSearch for AnyBackend {
    type Store = DynStore;

    fn vector_store(&self, shape: Shape) -> Result<DynStore, VectorError> {
        let Some(store) = self.store else {
            let what = format!("vector search on {} (`AnyBackend::with_vectors` wraps a backend that has it)", self.name());
            return Err(Error::Unsupported { what }.into());
        };
        store(&self.backend, shape)
    }

    fn distances(&self, store: &DynStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        store.distances(search)
    }

    fn nearest(&self, store: &DynStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        store.nearest(search, k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "multi")]
    #[test]
    fn a_list_of_devices_is_one_backend() {
        let multi = AnyBackend::open_multi("cpu, cpu").unwrap();
        let cpu = RayonBackend::global().unwrap().name();
        assert_eq!((multi.kind(), multi.name()), ("multi", format!("{cpu} + {cpu}")));
        let why = |devices| AnyBackend::open_multi(devices).map(drop).unwrap_err().to_string();
        assert!(why("cpu,abacus").contains("unavailable"), "{}", why("cpu,abacus"));
    }

    #[test]
    #[cfg(all(feature = "rayon", feature = "vector"))]
    fn a_backend_without_vector_search_says_how_to_get_it() {
        let backend = AnyBackend::new("mine", RayonBackend::with_threads(1).unwrap());
        let why = backend.vector_store(Shape::new(2, 2)).unwrap_err().to_string();
        assert!(why.contains("`AnyBackend::with_vectors`"), "{why}");
        let backend = AnyBackend::with_vectors("mine", RayonBackend::with_threads(1).unwrap());
        assert!(backend.vector_store(Shape::new(2, 2)).unwrap().backend().contains("1 thread"));
        assert!(backend.reopen().unwrap().vector_store(Shape::new(2, 2)).is_ok());
    }

    #[test]
    fn a_name_that_is_no_backend_here_is_refused_with_the_reason() {
        let why = |name| AnyBackend::by_name(name).map(|backend| backend.name()).unwrap_err().to_string();
        assert!(
            why("abacus").contains("abacus is unavailable: this build has no backend of this name; it has "),
            "{}",
            why("abacus")
        );
        if !cfg!(target_vendor = "apple") {
            assert!(why("metal").contains("metal is unavailable: Metal is on Apple's systems only"), "{}", why("metal"));
        }
    }
}
