//! `Prepared`: a sort that is ready to be recorded.

use crate::gpu::Gpu;
use crate::launch::{Count, Launches};
use crate::profile::{self, Profile};
use crate::queued::Queued;
use polysort_core::Error;
use polysort_shaders::plan::SortPlan;
use std::sync::Arc;
use wgpu::{CommandEncoder, ComputePass, ComputePassDescriptor, Queue};

/// A sort whose kernels are compiled, whose buffers are bound, and whose scratch is allocated.
///
/// Recording creates no wgpu object and submits nothing. The same sort may be recorded any number of times, with
/// different counts, also in one command encoder: the recordings run in order. It must not run on two queues at a time.
pub struct Prepared {
    gpu: Arc<Gpu>,
    launches: Launches,
}

impl Prepared {
    pub(crate) fn new(gpu: Arc<Gpu>, launches: Launches) -> Self {
        Self { gpu, launches }
    }

    /// Records the sort into the caller's compute pass.
    ///
    /// # Errors
    /// - [`Error::TooLong`] for more keys, or segments, than the sort was prepared for.
    /// - [`Error::Unsupported`] for [`Count::OnDevice`] if the sort was prepared without a count buffer.
    ///
    /// After an error, nothing is recorded.
    pub fn record(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        if count == Count::OnDevice && !self.launches.is_counted() {
            let what = "a count on the device by a sort that was prepared without one; use `Ask::counted_by`".into();
            return Err(Error::Unsupported { what });
        }
        self.launches.record(pass, count)
    }

    /// Records the sort into a command encoder, in a compute pass of its own.
    ///
    /// # Errors
    /// The same as those of [`record`](Prepared::record).
    pub fn record_in(&self, encoder: &mut CommandEncoder, count: Count) -> Result<(), Error> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None });
        self.record(&mut pass, count)
    }

    /// The plan of the sort: its launches, one by one.
    pub fn plan(&self) -> &SortPlan {
        self.launches.plan()
    }

    /// Runs the sort `trials` times on `queue`, the queue of the device, and returns the times of the sort and of each launch.
    /// Before each run, `restore` records commands that restore the input. Waits for the device.
    ///
    /// # Errors
    /// Those of [`record`](Prepared::record), or a failure of the device.
    pub fn profile(
        &self,
        queue: &Queue,
        count: Count,
        trials: usize,
        restore: impl Fn(&mut CommandEncoder),
    ) -> Result<Profile, Error> {
        let gpu = Queued { shared: self.gpu.clone(), queue: queue.clone() };
        profile::profile(&gpu, &(&self.launches, count), trials, restore)
    }
}

impl core::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Prepared")
            .field("device", &self.gpu.name())
            .field("request", &self.plan().request)
            .finish_non_exhaustive()
    }
}
