//! Any backend behind one type.

use crate::{AnyOperation, Backend, BoxFuture, Error, Limits, Spec, sorts_by_run};
use core::any::Any;
use core::fmt;
use std::sync::Arc;

/// An opened backend of any type, also one that you implement. It has all operations; each is one call of the same operation of that backend.
///
/// ```
/// use polysort_core::{DynBackend, Sort};
/// # fn demo<B: polysort_core::Backend, C: polysort_core::Backend>(b: B, c: C) -> Result<(), polysort_core::Error> {
/// for backend in [DynBackend::new(b), DynBackend::new(c)] {
///     backend.sort(&mut [3, 1, 2])?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct DynBackend(Arc<dyn Object>);

/// The part of [`Backend`] that needs no type.
trait Object: Any + Send + Sync {
    fn name(&self) -> String;
    fn limits(&self) -> Limits;
    fn is_lost(&self) -> bool;
    fn reopen(&self) -> Result<DynBackend, Error>;
    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error>;
    fn run_async<'a>(&'a self, operation: AnyOperation<'a>, spec: Spec) -> BoxFuture<'a, Result<(), Error>>;
}

impl<B: Backend> Object for B {
    fn name(&self) -> String {
        Backend::name(self)
    }

    fn limits(&self) -> Limits {
        Backend::limits(self)
    }

    fn is_lost(&self) -> bool {
        Backend::is_lost(self)
    }

    fn reopen(&self) -> Result<DynBackend, Error> {
        Backend::reopen(self).map(DynBackend::new)
    }

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        Backend::run(self, operation, spec)
    }

    fn run_async<'a>(&'a self, operation: AnyOperation<'a>, spec: Spec) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(Backend::run_async(self, operation, spec))
    }
}

impl DynBackend {
    /// Hides the type of a backend.
    pub fn new(backend: impl Backend) -> Self {
        Self(Arc::new(backend))
    }

    /// The backend, if it is of this type.
    pub fn downcast_ref<B: Backend>(&self) -> Option<&B> {
        let backend: &dyn Any = &*self.0;
        backend.downcast_ref()
    }
}

impl fmt::Debug for DynBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DynBackend").field(&self.0.name()).finish()
    }
}

impl Backend for DynBackend {
    /// Fails: a `DynBackend` cannot open a device. Wrap an open backend with [`DynBackend::new`].
    fn open() -> Result<Self, Error> {
        let why = "it cannot open a device; wrap an open backend with DynBackend::new".into();
        Err(Error::Unavailable { backend: "DynBackend".into(), why, source: None })
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    fn reopen(&self) -> Result<Self, Error> {
        self.0.reopen()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.0.run(operation, spec)
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.0.run_async(operation, spec).await
    }
}
