//! `PreparedMerge`: a merge that is ready to be recorded.

use crate::gpu::Gpu;
use crate::launch::Count;
use crate::merge_launches::MergeLaunches;
use crate::profile::{self, Profile};
use crate::queued::Queued;
use polysort_core::Error;
use polysort_shaders::plan::MergePlan;
use std::sync::Arc;
use wgpu::{CommandEncoder, ComputePass, ComputePassDescriptor, Queue};

/// A merge of two sorted runs whose kernels are compiled, whose buffers are bound, and whose scratch is allocated.
///
/// Recording creates no buffer, bind group or pipeline, and submits nothing. The same merge may be recorded any number of times, with
/// different counts, also in one command encoder: the recordings run in order. It must not run on two queues at a time.
pub struct PreparedMerge {
    gpu: Arc<Gpu>,
    launches: MergeLaunches,
}

impl PreparedMerge {
    pub(crate) fn new(gpu: Arc<Gpu>, launches: MergeLaunches) -> Self {
        Self { gpu, launches }
    }

    /// Records the merge into the caller's compute pass. `counts` are the numbers of keys of the first and of the second run.
    ///
    /// # Errors
    /// - [`Error::TooLong`] for more keys than the merge was prepared for.
    /// - [`Error::Unsupported`] for [`Count::OnDevice`] if the run was prepared without a count buffer.
    ///
    /// After an error, nothing is recorded.
    pub fn record(&self, pass: &mut ComputePass<'_>, counts: [Count; 2]) -> Result<(), Error> {
        self.launches.check(counts)?;
        self.launches.record(pass, counts)
    }

    /// Records the merge into a command encoder, in a compute pass of its own.
    ///
    /// # Errors
    /// The same as those of [`record`](PreparedMerge::record).
    pub fn record_in(&self, encoder: &mut CommandEncoder, counts: [Count; 2]) -> Result<(), Error> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None });
        self.record(&mut pass, counts)
    }

    /// The plan of the merge: its steps and their launches.
    pub fn plan(&self) -> &MergePlan {
        self.launches.plan()
    }

    /// Runs the merge `trials` times on `queue`, the queue of the device, and returns the device's times of the whole merge and of each
    /// launch. Before each run, `restore` records commands of the caller, whose time is left out: they may clear the output. Waits for the device.
    ///
    /// # Errors
    /// Those of [`record`](PreparedMerge::record), or a failure of the device.
    pub fn profile(
        &self,
        queue: &Queue,
        counts: [Count; 2],
        trials: usize,
        restore: impl Fn(&mut CommandEncoder),
    ) -> Result<Profile, Error> {
        self.launches.check(counts)?;
        let gpu = Queued { shared: self.gpu.clone(), queue: queue.clone() };
        profile::profile(&gpu, &(&self.launches, counts), trials, restore)
    }
}

impl core::fmt::Debug for PreparedMerge {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PreparedMerge")
            .field("device", &self.gpu.name())
            .field("request", &self.plan().request)
            .finish_non_exhaustive()
    }
}
