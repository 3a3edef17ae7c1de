//! `Queued`: an open device with its queue.

use crate::gpu::Gpu;
use polysort_core::Error;
use std::ops::Deref;
use std::sync::Arc;
use wgpu::{CommandBuffer, Queue, SubmissionIndex};

/// An open device with its queue. Only with a queue can a call submit commands and write to buffers.
#[derive(Clone)]
pub(crate) struct Queued {
    /// Sorts that are prepared on this device share it.
    pub(crate) shared: Arc<Gpu>,
    pub(crate) queue: Queue,
}

impl Queued {
    /// Submits commands.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a test lets this submission fail; then nothing is submitted.
    pub(crate) fn submit(&self, commands: impl IntoIterator<Item = CommandBuffer>) -> Result<SubmissionIndex, Error> {
        self.faults.at_submission(&self.device, || self.queue.submit(commands))
    }
}

impl Deref for Queued {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        &self.shared
    }
}
