//! `Job`: what both phases of a sort share.

use crate::ExternalError;
use crate::files::Files;
use crate::progress::{Phase, Progress};
use core::ops::ControlFlow;
use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// What both phases need beside the records.
pub(crate) struct Job<'f, 'p, F> {
    pub(crate) files: &'f F,
    pub(crate) compress: bool,
    pub(crate) progress: &'p mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
}

impl<F: Files> Job<'_, '_, F> {
    /// Calls the progress callback.
    pub(crate) fn report(&mut self, phase: Phase, records: u64, total: Option<u64>) -> Result<(), ExternalError> {
        match (self.progress)(Progress { phase, records, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(ExternalError::Cancelled),
        }
    }
}

/// The result of a thread. Its panic goes on in this one.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
