//! A backend that never fails, and a watchdog for tests that could hang.

use polysort_core::{AnyOperation, Backend, Error, Limits, Spec, sorts_by_run};
use polysort_kit::StdBackend;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Runs a test that could hang, and fails if it takes longer than a minute.
pub(crate) fn watched(test: impl FnOnce() + Send + 'static) {
    let (ended, end) = channel();
    let thread = std::thread::spawn(move || {
        test();
        ended.send(()).expect("the watchdog waits");
    });
    if end.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
        panic!("the test hangs");
    }
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// The sort of [`StdBackend`]. The type parameter gives each test a device of its own, and the sorts are compiled once.
#[derive(Clone, Debug)]
pub(crate) struct Std<const TEST: usize>;

impl<const TEST: usize> Backend for Std<TEST> {
    fn open() -> Result<Self, Error> {
        Ok(Self)
    }

    fn name(&self) -> String {
        StdBackend.name()
    }

    fn limits(&self) -> Limits {
        StdBackend.limits()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        StdBackend.run(operation, spec)
    }
}
