//! `Job`: what both phases of a sort share.

use crate::ExternalError;
use crate::budget::Budget;
use crate::files::Files;
use crate::layout::Layout;
use crate::progress::{Phase, Progress};
use core::ops::ControlFlow;
use polysort_core::Options;
use polysort_rayon::RayonBackend;
use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// What both phases need.
pub(crate) struct Job<'f, 'p, L, F> {
    pub(crate) layout: &'f L,
    pub(crate) merger: &'f RayonBackend,
    pub(crate) files: &'f F,
    pub(crate) options: Options,
    pub(crate) budget: Budget,
    pub(crate) compress: bool,
    pub(crate) progress: &'p mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
}

impl<L: Layout, F: Files> Job<'_, '_, L, F> {
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
