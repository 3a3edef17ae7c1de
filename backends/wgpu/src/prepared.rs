//! `Prepared`: a sort that is ready to be recorded.

use crate::gpu::Gpu;
use crate::launch::{Count, Launches};
use crate::profile::{self, Profile};
use polysort_core::Error;
use polysort_shaders::plan::SortPlan;
use std::sync::Arc;
use wgpu::{CommandEncoder, ComputePass, ComputePassDescriptor};

/// A sort with everything compiled, bound and allocated.
///
/// Recording makes no object of wgpu and submits nothing. The same sort may be recorded any number of times, with different counts, in
/// one encoder as well: what is recorded runs in its order. It must not run on two queues at a time.
pub struct Prepared {
    gpu: Arc<Gpu>,
    launches: Launches,
}

impl Prepared {
    pub(crate) fn new(gpu: Arc<Gpu>, launches: Launches) -> Self {
        Self { gpu, launches }
    }

    /// Records the sort into a pass of the caller's.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more keys, or segments, than it was prepared for, [`Error::Unsupported`] for [`Count::OnDevice`] if it was not prepared with
    /// a count buffer. Nothing is recorded then.
    pub fn record(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        if count == Count::OnDevice && !self.launches.is_counted() {
            let what = "a count on the device by a sort that was prepared without one; use `Ask::counted_by`".into();
            return Err(Error::Unsupported { what });
        }
        self.launches.record(pass, count)
    }

    /// Records the sort into an encoder, in a pass of its own.
    ///
    /// # Errors
    /// As [`record`](Prepared::record).
    pub fn record_in(&self, encoder: &mut CommandEncoder, count: Count) -> Result<(), Error> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None });
        self.record(&mut pass, count)
    }

    /// What it does, launch by launch.
    pub fn plan(&self) -> &SortPlan {
        self.launches.plan()
    }

    /// Runs the sort `trials` times, after `restore` has recorded what makes its input, and tells how long it and each of its launches
    /// took. The device is waited for.
    ///
    /// # Errors
    /// As [`record`](Prepared::record), or if the device fails.
    pub fn profile(&self, count: Count, trials: usize, restore: impl Fn(&mut CommandEncoder)) -> Result<Profile, Error> {
        profile::profile(&self.gpu, &(&self.launches, count), trials, restore)
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
