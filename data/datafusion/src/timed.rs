//! A backend whose calls are timed.

use datafusion::physical_plan::metrics::Time;
use polysort_core::{AnyOperation, Backend, DynBackend, Error, Limits, Spec, sorts_by_run};

/// Calls a backend, and adds up the time.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    pub(crate) backend: DynBackend,
    pub(crate) time: Time,
}

impl Backend for Timed {
    /// Fails, as [`DynBackend::open`] does.
    fn open() -> Result<Self, Error> {
        Ok(Self { backend: DynBackend::open()?, time: Time::new() })
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
        Ok(Self { backend: self.backend.reopen()?, time: self.time.clone() })
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        let _timer = self.time.timer();
        self.backend.run(operation, spec)
    }
}
