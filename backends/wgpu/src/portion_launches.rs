//! Encodes the sorts and merges of a [`PortionPlan`].

use crate::bind::Part;
use crate::compile::KernelKey;
use crate::compile_all::{kernels, merge_kernels};
use crate::gpu::Gpu;
use crate::launch::{Count, Launches};
use crate::merge_launches::MergeLaunches;
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, PortionPlan};
use wgpu::ComputePass;

/// The launches of a sort in portions, with compiled kernels and bind groups.
pub(crate) struct PortionLaunches {
    plan: PortionPlan,
    sorts: Vec<Launches>,
    merges: Vec<MergeLaunches>,
}

/// Returns the kernels of a sort in portions. `native` states for the first and for the last sort whether it uses native kernels.
pub(crate) fn portion_kernels(plan: &PortionPlan, native: [bool; 2]) -> impl Iterator<Item = KernelKey> {
    let sorts = plan.portions.iter().zip(natives(plan, native)).flat_map(|(portion, native)| kernels(&portion.plan, native));
    sorts.chain(plan.merges.iter().flat_map(|merge| merge_kernels(&merge.plan)))
}

/// Returns for each portion whether its sort uses native kernels.
fn natives(plan: &PortionPlan, [first, last]: [bool; 2]) -> impl Iterator<Item = bool> {
    let count = plan.portions.len();
    (1..=count).map(move |number| if number == count && count > 1 { last } else { first })
}

impl PortionLaunches {
    /// Creates the bind groups of a plan, with the kernels of [`portion_kernels`]. `native` states for the first and for the last sort whether
    /// it uses native kernels. `counted` is the count buffer and the index of its word. `part` returns the caller's arrays and
    /// the scratch, from a byte of the array on.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if a buffer has fewer bytes than the plan touches, or a failure of the device.
    pub(crate) fn new<'a>(
        gpu: &'a Gpu,
        plan: PortionPlan,
        native: [bool; 2],
        counted: Option<(Part<'a>, u32)>,
        part: &dyn Fn(Role, u64) -> Part<'a>,
    ) -> Result<Self, Error> {
        let mut sorts = vec![];
        for (portion, native) in plan.portions.iter().zip(natives(&plan, native)) {
            let part = |role| {
                let (array, before) = plan.array(portion, role);
                part(array, before)
            };
            sorts.push(Launches::new(gpu, portion.plan.clone(), native, counted, &part)?);
        }
        let mut merges = vec![];
        for merge in &plan.merges {
            let part = |role, byte| {
                let (array, before) = merge.array(role);
                part(array, before + byte)
            };
            merges.push(MergeLaunches::new(gpu, merge.plan.clone(), [counted; 2], &part)?);
        }
        Ok(Self { plan, sorts, merges })
    }

    pub(crate) fn plan(&self) -> &PortionPlan {
        &self.plan
    }

    /// Returns whether the sort has a count buffer.
    pub(crate) fn is_counted(&self) -> bool {
        self.sorts.iter().any(Launches::is_counted)
    }

    /// Returns the largest number of launches of one recording.
    pub(crate) fn most(&self) -> usize {
        self.sorts.iter().map(Launches::most).sum::<usize>() + self.merges.iter().map(MergeLaunches::most).sum::<usize>()
    }

    /// Returns the sorts with their counts, for a sort of `count` keys.
    fn counted_sorts(&self, count: Count) -> Result<impl Iterator<Item = (&Launches, Count)>, Error> {
        let keys = count.of(self.plan.request.max, "this prepared sort")?;
        let count_of = move |portion| match count {
            Count::Fixed(_) => Count::Fixed(PortionPlan::portion_count(portion, keys) as u32),
            Count::OnDevice => Count::OnDevice,
        };
        Ok(self.sorts.iter().zip(self.plan.portions.iter().map(count_of)))
    }

    /// Records the sort of the portion with this number, for a sort of all keys.
    pub(crate) fn record_portion(&self, pass: &mut ComputePass<'_>, portion: usize) -> Result<(), Error> {
        self.sorts[portion].record(pass, Count::Fixed(self.plan.portions[portion].plan.request.max as u32))
    }

    /// Records the merges of the portions, for a sort of `count` keys.
    pub(crate) fn record_merges(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        self.merges.iter().try_for_each(|merge| merge.record(pass, [count; 2]))
    }

    /// Records the sort of `count` keys. Creates no wgpu object, and submits nothing.
    pub(crate) fn record(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        self.counted_sorts(count)?.try_for_each(|(sort, count)| sort.record(pass, count))?;
        self.record_merges(pass, count)
    }

    /// Records each launch in a pass of its own. `begin` creates the pass; its argument is the name of the kernel.
    pub(crate) fn record_apart<'a>(
        &self,
        count: Count,
        begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>,
    ) -> Result<(), Error> {
        self.counted_sorts(count)?.try_for_each(|(sort, count)| sort.record_apart(count, &mut *begin))?;
        self.merges.iter().try_for_each(|merge| merge.record_apart([count; 2], begin))
    }
}
