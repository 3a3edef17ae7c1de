//! `Prepared`: a sort that is ready to be recorded.

use crate::gpu::Gpu;
use crate::launch::{Count, Launches};
use crate::portion_launches::PortionLaunches;
use crate::profile::{self, Profile, Profiled};
use crate::queued::Queued;
use polysort_core::Error;
use polysort_shaders::plan::{PortionPlan, SortPlan};
use std::sync::Arc;
use wgpu::{CommandEncoder, ComputePass, ComputePassDescriptor, Queue};

/// A sort, selection, gather or search for runs whose kernels are compiled, whose buffers are bound, and whose scratch is allocated.
///
/// Recording creates no buffer, bind group or pipeline, and submits nothing. The same sort may be recorded any number of times, with
/// different counts, also in one command encoder: the recordings run in order. It must not run on two queues at a time.
pub struct Prepared {
    gpu: Arc<Gpu>,
    launches: AnyLaunches,
}

/// The launches of a sort: of one plan, or of portions and merges.
pub(crate) enum AnyLaunches {
    Whole(Box<Launches>),
    Portions(Box<PortionLaunches>),
}

impl Profiled for (&AnyLaunches, Count) {
    fn most(&self) -> usize {
        match self.0 {
            AnyLaunches::Whole(launches) => launches.most(),
            AnyLaunches::Portions(launches) => launches.most(),
        }
    }

    fn record_whole(&self, pass: &mut ComputePass<'_>) -> Result<(), Error> {
        match self.0 {
            AnyLaunches::Whole(launches) => launches.record(pass, self.1),
            AnyLaunches::Portions(launches) => launches.record(pass, self.1),
        }
    }

    fn record_apart<'a>(&self, begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>) -> Result<(), Error> {
        match self.0 {
            AnyLaunches::Whole(launches) => launches.record_apart(self.1, begin),
            AnyLaunches::Portions(launches) => launches.record_apart(self.1, begin),
        }
    }
}

impl Prepared {
    pub(crate) fn new(gpu: Arc<Gpu>, launches: AnyLaunches) -> Self {
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
        let is_counted = match &self.launches {
            AnyLaunches::Whole(launches) => launches.is_counted(),
            AnyLaunches::Portions(launches) => launches.is_counted(),
        };
        if count == Count::OnDevice && !is_counted {
            let what = "a count on the device by a sort that was prepared without one; use `Ask::counted_by`".into();
            return Err(Error::Unsupported { what });
        }
        (&self.launches, count).record_whole(pass)
    }

    /// Records the sort into a command encoder, in a compute pass of its own.
    ///
    /// # Errors
    /// The same as those of [`record`](Prepared::record).
    pub fn record_in(&self, encoder: &mut CommandEncoder, count: Count) -> Result<(), Error> {
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor { label: Some("polysort"), timestamp_writes: None });
        self.record(&mut pass, count)
    }

    /// The plan of the sort: its launches, one by one. If the sort has [portions](Prepared::portions), this is the plan of
    /// the first.
    pub fn plan(&self) -> &SortPlan {
        match &self.launches {
            AnyLaunches::Whole(launches) => launches.plan(),
            AnyLaunches::Portions(launches) => &launches.plan().portions[0].plan,
        }
    }

    /// The plan of a sort of more keys than one sort takes: portions, and merges of neighbors. `None` for shorter sorts.
    pub fn portions(&self) -> Option<&PortionPlan> {
        match &self.launches {
            AnyLaunches::Whole(_) => None,
            AnyLaunches::Portions(launches) => Some(launches.plan()),
        }
    }

    /// Runs the sort `trials` times on `queue`, the queue of the device, and returns the device's times of the whole sort
    /// and of each launch. Before each run, `restore` records commands that restore the input, as a sort in place overwrites
    /// it; the device's times leave them out. Waits for the device.
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
