//! Encodes the steps of a merge: the executor of [`MergePlan`] on wgpu.

use crate::bind::{Bound, Part};
use crate::gpu::Gpu;
use crate::launch::{Count, Launch};
use crate::profile::Profiled;
use polysort_core::Error;
use polysort_shaders::abi;
use polysort_shaders::plan::{Buffer as Role, MergePlan, MergeStep, SortedRun};
use wgpu::{BufferUsages, ComputePass};

/// The launches of a merge, with compiled kernels and bind groups.
pub(crate) struct MergeLaunches {
    /// The most workgroups of a launch in one dimension.
    max_groups: u32,
    plan: MergePlan,
    /// The two launches of each step.
    steps: Vec<[Launch; 2]>,
    is_counted: [bool; 2],
}

impl MergeLaunches {
    /// Creates the bind groups of the steps of a plan. Call [`Gpu::compile_all`] first: a kernel that is missing is compiled
    /// here, in this thread. `counted` is the count buffer of each run, and the index of its word. `part` returns the
    /// caller's arrays and the scratch, from a byte of the array on.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if a buffer has fewer bytes than the plan touches, or a failure of the device.
    pub(crate) fn new<'a>(
        gpu: &'a Gpu,
        plan: MergePlan,
        counted: [Option<(Part<'a>, u32)>; 2],
        part: &dyn Fn(Role, u64) -> Part<'a>,
    ) -> Result<Self, Error> {
        // Without a count buffer, any readable buffer is bound: the kernels do not read it.
        let counts = counted.map(|counted| counted.unwrap_or((Part::from(&gpu.numbers), 0)));
        let bind = |(number, step): (u32, &MergeStep)| {
            let [first_count_index, second_count_index] = counts.map(|(_, index)| index);
            let merge = abi::Merge { first_count_index, second_count_index, ..abi::Merge::of(&plan, number, step) };
            let uniform = gpu.buffer_of("polysort merge", bytemuck::bytes_of(&merge), BufferUsages::UNIFORM)?;
            let count = |role, (buffer, index): (Part<'_>, u32)| Bound::new(gpu, role, buffer, 4 * (u64::from(index) + 1));
            let bound = |role| match role {
                Role::Number => Bound::new(gpu, role, Part::from(&gpu.numbers), 4),
                Role::Merge => Bound::new(gpu, role, Part::from(&uniform), size_of::<abi::Merge>() as u64),
                Role::Count => count(role, counts[0]),
                Role::SecondCount => count(role, counts[1]),
                role => {
                    let (byte, bytes) = plan.touched(step, role).unwrap_or_default();
                    Bound::new(gpu, role, part(role, byte), bytes)
                }
            };
            Ok([Launch::new(gpu, &plan.path, false, bound)?, Launch::new(gpu, &plan.tiles, false, bound)?])
        };
        let steps = (0..).zip(&plan.steps).map(bind).collect::<Result<Vec<_>, Error>>()?;
        let is_counted = counted.map(|counted| counted.is_some());
        Ok(Self { max_groups: gpu.facts.max_groups, steps, plan, is_counted })
    }

    pub(crate) fn plan(&self) -> &MergePlan {
        &self.plan
    }

    /// Returns the largest number of launches of one recording.
    pub(crate) fn most(&self) -> usize {
        2 * self.steps.len()
    }

    /// Fails if a run cannot have this number of keys.
    ///
    /// # Errors
    /// - [`Error::TooLong`] for more keys than the merge was prepared for.
    /// - [`Error::Unsupported`] for [`Count::OnDevice`] if the run has no count buffer.
    pub(crate) fn check(&self, counts: [Count; 2]) -> Result<(), Error> {
        for ((count, run), is_counted) in counts.into_iter().zip(self.runs()).zip(self.is_counted) {
            count.of(run.max, "a run of this prepared merge")?;
            if count == Count::OnDevice && !is_counted {
                let what = "a count on the device by a merge that was prepared without one; use `MergeAsk::first_counted_by`";
                return Err(Error::Unsupported { what: what.into() });
            }
        }
        Ok(())
    }

    fn runs(&self) -> [SortedRun; 2] {
        [self.plan.request.first, self.plan.request.second]
    }

    /// Records a merge. `counts` are the numbers of keys of the runs, or of the arrays that the runs are parts of. Creates no
    /// wgpu object, and submits nothing.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the device launches too few workgroups.
    pub(crate) fn record(&self, pass: &mut ComputePass<'_>, counts: [Count; 2]) -> Result<(), Error> {
        self.each(counts, &mut |launch, grid| launch.record_merge(pass, counts, grid))
    }

    /// Records each launch in a pass of its own. `begin` creates the pass; its argument is the name of the kernel.
    pub(crate) fn record_apart<'a>(
        &self,
        counts: [Count; 2],
        begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>,
    ) -> Result<(), Error> {
        self.each(counts, &mut |launch, grid| launch.record_merge(&mut begin(launch.name()), counts, grid))
    }

    /// Calls `launched` for each launch of a merge of runs of `counts` keys, with the grid.
    fn each(&self, counts: [Count; 2], launched: &mut dyn FnMut(&Launch, (u32, u32))) -> Result<(), Error> {
        let keys = |(count, run): (Count, SortedRun)| match count.keys() {
            // The largest number means this many keys or more.
            Some(keys) if keys < u32::MAX => u64::from(keys).saturating_sub(run.skip).min(run.max),
            _ => run.max,
        };
        let total: u64 = counts.into_iter().zip(self.runs()).map(keys).sum();
        if total == 0 {
            return Ok(());
        }
        for (step, launches) in self.plan.steps.iter().zip(&self.steps) {
            for (launch, command) in launches.iter().zip(self.plan.commands()) {
                launched(launch, command.groups.grid(step.max().clamp(1, total), self.max_groups)?);
            }
        }
        Ok(())
    }
}

impl Profiled for (&MergeLaunches, [Count; 2]) {
    fn most(&self) -> usize {
        self.0.most()
    }

    fn record_whole(&self, pass: &mut ComputePass<'_>) -> Result<(), Error> {
        self.0.record(pass, self.1)
    }

    fn record_apart<'a>(&self, begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>) -> Result<(), Error> {
        self.0.record_apart(self.1, begin)
    }
}
