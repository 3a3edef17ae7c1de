//! Encodes the commands of a plan: the executor of [`polysort_shaders::plan`] on wgpu.

use crate::bind::{Bound, Part};
use crate::compile::Pipeline;
use crate::gpu::Gpu;
use polysort_core::Error;
use polysort_shaders::abi;
use polysort_shaders::plan::{self, Buffer as Role, Command, Groups, Number, SortPlan};
use std::sync::Arc;
use wgpu::{BindGroup, BindGroupDescriptor, BindGroupEntry, BufferUsages, ComputePass};

/// The number of keys, or of segments, that a recorded sort sorts, or the number of keys of a run that a recorded merge merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This number.
    Fixed(u32),
    /// The number that the count buffer has when the commands run. If it is larger than the prepared maximum, the sort
    /// or merge leaves out the keys or segments beyond that maximum.
    OnDevice,
}

impl Count {
    /// Returns the count for all of the `keys` keys that a plan was made for.
    pub(crate) fn all(keys: u64) -> Self {
        // The largest number means this many keys or more: a plan limits it.
        Count::Fixed(u32::try_from(keys).unwrap_or(u32::MAX))
    }

    /// Returns how many of `max` keys this is.
    ///
    /// # Errors
    /// [`Error::TooLong`] if it is more than `max`.
    pub(crate) fn of(self, max: u64, what: &str) -> Result<u64, Error> {
        match self {
            Count::OnDevice => Ok(max),
            Count::Fixed(u32::MAX) if max > u32::MAX.into() => Ok(max),
            Count::Fixed(keys) if u64::from(keys) <= max => Ok(keys.into()),
            Count::Fixed(keys) => Err(Error::TooLong { what: what.into(), asked: keys.into(), limit: max }),
        }
    }

    /// Returns the number; `None` if it lies on the device.
    pub(crate) fn keys(self) -> Option<u32> {
        match self {
            Count::Fixed(keys) => Some(keys),
            Count::OnDevice => None,
        }
    }
}

/// A callback that receives a launch, its count and its grid.
type Launched<'a> = dyn FnMut(&Launch, Count, (u32, u32)) + 'a;

/// The launches of a plan, with compiled kernels and bind groups.
pub(crate) struct Launches {
    /// The most workgroups of a launch in one dimension.
    max_groups: u32,
    plan: SortPlan,
    long: Vec<Launch>,
    short: Vec<Launch>,
    is_counted: bool,
    /// The launches of [`SortPlan::then`].
    then: Option<Box<Launches>>,
}

/// A launch, with its compiled kernel and its bind group.
pub(crate) struct Launch {
    pipeline: Arc<Pipeline>,
    group: BindGroup,
    numbers: Vec<Number>,
    groups: Groups,
    kernel: plan::Kernel,
}

impl Launches {
    /// Creates the bind groups of a plan. Call [`Gpu::compile_all`] first: a kernel that is missing is compiled here, in
    /// this thread. The launches use native kernels if `native` is set. `counted` is the count buffer and the index of its
    /// word. `part` returns the caller's buffers and the scratch.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if a buffer has fewer bytes than the plan touches, or a failure of the device.
    pub(crate) fn new<'a>(
        gpu: &'a Gpu,
        plan: SortPlan,
        native: bool,
        counted: Option<(Part<'a>, u32)>,
        part: &dyn Fn(Role) -> Part<'a>,
    ) -> Result<Self, Error> {
        // Without a count buffer, any readable buffer is bound: the kernels do not read it.
        let (count, count_index) = counted.unwrap_or((Part::from(&gpu.numbers), 0));
        let sort = abi::Sort { count_index, ..abi::Sort::of(&plan) };
        let size = size_of::<abi::Sort>() as u64;
        let uniform = gpu.buffer_of("polysort sort", bytemuck::bytes_of(&sort), BufferUsages::UNIFORM)?;
        let bound = |role| match role {
            Role::Number => Bound::new(gpu, role, Part::from(&gpu.numbers), 4),
            Role::Sort => Bound::new(gpu, role, Part::from(&uniform), size),
            Role::Count => Bound::new(gpu, role, count, 4 * (u64::from(count_index) + 1)),
            role => Bound::new(gpu, role, part(role), plan.touched_bytes(role)),
        };
        let bind = |commands: &[Command]| {
            commands.iter().map(|command| Launch::new(gpu, command, native, bound)).collect::<Result<Vec<_>, _>>()
        };
        let long = if plan.may_be_long() { bind(plan.long_commands())? } else { vec![] };
        let short = bind(plan.short_commands())?;
        let then = match &plan.then {
            None => None,
            Some(then) => {
                let part = |role| match role {
                    Role::Keys => part(Role::Picked),
                    Role::Values => part(plan.request.value_buffer()),
                    role => part(role),
                };
                let counted = counted.map(|_| (part(Role::PickedCount), 0));
                Some(Box::new(Self::new(gpu, (**then).clone(), native, counted, &part)?))
            }
        };
        Ok(Self { max_groups: gpu.facts.max_groups, is_counted: counted.is_some(), plan, long, short, then })
    }

    /// Returns the largest number of launches of one recording.
    pub(crate) fn most(&self) -> usize {
        self.long.len().max(self.short.len()) + self.then.as_ref().map_or(0, |then| then.most())
    }

    pub(crate) fn plan(&self) -> &SortPlan {
        &self.plan
    }

    /// Returns whether the sort has a count buffer.
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Records the sort of `count` keys. Creates no wgpu object, and submits nothing.
    pub(crate) fn record(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        self.each(count, &mut |launch, count, grid| launch.record(pass, count, grid))
    }

    /// Calls `launched` for each launch of a sort of `count` keys, with the count and the grid.
    fn each(&self, count: Count, launched: &mut Launched<'_>) -> Result<(), Error> {
        let keys = count.keys().map(u64::from);
        let limit = self.plan.request.segments.map_or(self.plan.request.max, |segments| segments.max.into());
        if let Some(asked) = keys.filter(|&keys| keys > limit) {
            return Err(Error::TooLong { what: "this prepared sort".into(), asked, limit });
        }
        let launches = match self.plan.length(keys) {
            plan::Length::Nothing => return Ok(()),
            plan::Length::Short => &self.short,
            plan::Length::Long => &self.long,
        };
        for launch in launches {
            let grid = self.plan.grid(launch.groups, keys, self.max_groups)?;
            launched(launch, count, grid);
        }
        let Some(then) = &self.then else { return Ok(()) };
        let count = self.plan.then_count(keys).map_or(Count::OnDevice, |keys| Count::Fixed(keys as u32));
        then.each(count, launched)
    }

    /// Records each launch in a pass of its own. `begin` creates the pass; its argument is the name of the kernel.
    pub(crate) fn record_apart<'a>(
        &self,
        count: Count,
        begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>,
    ) -> Result<(), Error> {
        self.each(count, &mut |launch, count, grid| launch.record(&mut begin(launch.name()), count, grid))
    }
}

impl Launch {
    /// Compiles the kernel of a command, and binds the buffer that `bound` returns for each role.
    pub(crate) fn new(
        gpu: &Gpu,
        command: &Command,
        native: bool,
        bound: impl Fn(Role) -> Result<Bound, Error>,
    ) -> Result<Self, Error> {
        let kernel = command.variant.kernel();
        let pipeline = gpu.pipeline(&command.variant, native)?;
        let parts = command.bindings.iter().map(|&role| bound(role)).collect::<Result<Vec<_>, _>>()?;
        let entries: Vec<_> =
            (0..).zip(&parts).map(|(binding, part)| BindGroupEntry { binding, resource: part.resource() }).collect();
        let descriptor = BindGroupDescriptor { label: Some(kernel.name()), layout: &pipeline.layout, entries: &entries };
        let group = gpu.guarded(|| gpu.device.create_bind_group(&descriptor))?;
        Ok(Self { pipeline, group, numbers: command.numbers.clone(), groups: command.groups, kernel })
    }

    /// The name of the kernel.
    pub(crate) fn name(&self) -> &'static str {
        self.kernel.name()
    }

    pub(crate) fn record(&self, pass: &mut ComputePass<'_>, count: Count, grid: (u32, u32)) {
        self.record_merge(pass, [count; 2], grid);
    }

    /// Records a launch of a merge, which has two numbers of keys.
    pub(crate) fn record_merge(&self, pass: &mut ComputePass<'_>, counts: [Count; 2], (columns, rows): (u32, u32)) {
        let mut offsets = [0; 6];
        for (offset, number) in offsets.iter_mut().zip(&self.numbers) {
            let count = counts[usize::from(matches!(number, Number::SecondCountDigit(_)))];
            *offset = abi::NUMBER_STRIDE * abi::value(*number, count.keys());
        }
        pass.set_pipeline(&self.pipeline.pipeline);
        pass.set_bind_group(0, &self.group, &offsets[..self.numbers.len()]);
        pass.dispatch_workgroups(columns, rows, 1);
    }
}
