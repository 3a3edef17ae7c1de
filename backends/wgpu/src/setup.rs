//! `Setup`: how to create a [`DeviceSorter`](crate::DeviceSorter).

use polysort_shaders::plan::Tuned;
use wgpu::{PipelineCache, Queue};

/// How to create a [`DeviceSorter`](crate::DeviceSorter): when it tests the device, and what the caller knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub(crate) queue: Option<&'a Queue>,
    pub(crate) tuned: Tuned,
    pub(crate) cache: Option<&'a PipelineCache>,
}

impl<'a> Setup<'a> {
    /// The first sort of a kind that is prepared is tested at once, on `queue`, the queue of the device.
    pub fn tested_on(queue: &'a Queue) -> Self {
        Self { queue: Some(queue), tuned: Tuned::NONE, cache: None }
    }

    /// No sort is tested when it is prepared, so preparing it never waits for the device and needs no queue.
    /// [`DeviceSorter::self_test`](crate::DeviceSorter::self_test) tests the prepared sorts at a time of your choice.
    ///
    /// Until then, a driver that compiles a kernel wrongly can make a sort give wrong results.
    pub fn untested() -> Self {
        Self { queue: None, tuned: Tuned::NONE, cache: None }
    }

    /// Sets shapes of passes that were measured on this device. They replace the built-in ones.
    #[must_use]
    pub fn tuned(self, tuned: Tuned) -> Self {
        Self { tuned, ..self }
    }

    /// Sets the cache in which the driver finds and keeps compiled kernels. The caller stores its data between processes. The
    /// device must have the feature [`PIPELINE_CACHE`](wgpu::Features::PIPELINE_CACHE).
    #[must_use]
    pub fn pipeline_cache(self, cache: &'a PipelineCache) -> Self {
        Self { cache: Some(cache), ..self }
    }
}
