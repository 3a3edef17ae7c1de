//! `Queued`: an open device with its queue.

use crate::gpu::Gpu;
use std::ops::Deref;
use std::sync::Arc;
use wgpu::Queue;

/// An open device with its queue. Only with a queue can a call submit commands and write to buffers.
#[derive(Clone)]
pub(crate) struct Queued {
    /// Sorts that are prepared on this device share it.
    pub(crate) shared: Arc<Gpu>,
    pub(crate) queue: Queue,
}

impl Deref for Queued {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        &self.shared
    }
}
