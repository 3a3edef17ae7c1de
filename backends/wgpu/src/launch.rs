//! Encodes the commands of a plan: the executor of [`polysort_shaders::plan`] on wgpu.

use crate::bind::{Bound, Part};
use crate::compile::{Pipeline, slots};
use crate::gpu::Gpu;
use polysort_core::Error;
use polysort_shaders::abi;
use polysort_shaders::plan::{self, Buffer as Role, Command, Groups, Number, SortPlan};
use std::sync::Arc;
use wgpu::{BindGroup, BindGroupDescriptor, BindGroupEntry, BufferUsages, ComputePass};

/// How many keys, or segments, a recorded sort sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// This many.
    Fixed(u32),
    /// As many as the count buffer says when the sort runs. Keys or segments beyond what the sort was prepared for are
    /// left out.
    OnDevice,
}

impl Count {
    /// The number, if the host knows it.
    fn keys(self) -> Option<u32> {
        match self {
            Count::Fixed(keys) => Some(keys),
            Count::OnDevice => None,
        }
    }
}

/// Receives a launch, its count and its grid.
type Launched<'a> = dyn FnMut(&Launch, Count, (u32, u32)) + 'a;

/// The launches of a plan, with everything bound.
pub(crate) struct Launches {
    gpu: Arc<Gpu>,
    plan: SortPlan,
    long: Vec<Launch>,
    short: Vec<Launch>,
    is_counted: bool,
    /// The launches of the plan that follows.
    then: Option<Box<Launches>>,
}

/// A launch, with everything bound.
pub(crate) struct Launch {
    pipeline: Arc<Pipeline>,
    group: BindGroup,
    numbers: Vec<Number>,
    groups: Groups,
    kernel: plan::Kernel,
}

impl Launches {
    /// Compiles and binds what the plan needs, with native kernels if `native` is set. `counted` is the buffer that may
    /// hold the number of keys, and the index of its word. `part` returns the caller's buffers and the scratch.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if a buffer is smaller than what the plan touches of it, or a failure of the device.
    pub(crate) fn new<'a>(
        gpu: &'a Arc<Gpu>,
        plan: SortPlan,
        native: bool,
        counted: Option<(Part<'a>, u32)>,
        part: &dyn Fn(Role) -> Part<'a>,
    ) -> Result<Self, Error> {
        // Without a count on the device, any readable buffer.
        let (count, count_index) = counted.unwrap_or((Part::from(&gpu.numbers), 0));
        let sort = abi::Sort { count_index, ..abi::Sort::of(&plan) };
        let size = size_of::<abi::Sort>() as u64;
        let uniform = gpu.buffer("polysort sort", size, BufferUsages::UNIFORM | BufferUsages::COPY_DST)?;
        gpu.guarded(|| gpu.queue.write_buffer(&uniform, 0, bytemuck::bytes_of(&sort)))?;
        let bound = |role| match role {
            Role::Number => Bound::new(gpu, role, Part::from(&gpu.numbers), 4),
            Role::Sort => Bound::new(gpu, role, Part::from(&uniform), size),
            Role::Count => Bound::new(gpu, role, count, 4 * (u64::from(count_index) + 1)),
            role => Bound::new(gpu, role, part(role), plan.touched_bytes(role)),
        };
        let bind = |commands: &[Command]| {
            commands.iter().map(|command| Launch::new(gpu, command, native, bound)).collect::<Result<Vec<_>, _>>()
        };
        let long = bind(plan.long_commands())?;
        let short = bind(plan.short_commands())?;
        let then = match &plan.then {
            None => None,
            Some(then) => {
                let part = |role| part(if role == Role::Keys { Role::Picked } else { role });
                let counted = counted.map(|_| (part(Role::PickedCount), 0));
                Some(Box::new(Self::new(gpu, (**then).clone(), native, counted, &part)?))
            }
        };
        Ok(Self { gpu: gpu.clone(), is_counted: counted.is_some(), plan, long, short, then })
    }

    /// The most launches of one recording.
    pub(crate) fn most(&self) -> usize {
        self.long.len().max(self.short.len()) + self.then.as_ref().map_or(0, |then| then.most())
    }

    pub(crate) fn plan(&self) -> &SortPlan {
        &self.plan
    }

    /// Returns whether a buffer may hold the number of keys.
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Records the sort of `count` keys. Makes no wgpu object, and submits nothing.
    pub(crate) fn record(&self, pass: &mut ComputePass<'_>, count: Count) -> Result<(), Error> {
        self.each(count, &mut |launch, count, grid| launch.record(pass, count, grid))
    }

    /// Calls `launched` for each launch of a sort of `count` keys, with the count and the grid.
    fn each(&self, count: Count, launched: &mut Launched<'_>) -> Result<(), Error> {
        let keys = count.keys().map(u64::from);
        let limit = self.plan.request.segments.map_or(self.plan.request.max, |segments| segments.max.into());
        if let Some(asked) = keys.filter(|&keys| keys > limit) {
            return Err(Error::TooLong { what: "what this sort was prepared for".into(), asked, limit });
        }
        let launches = match self.plan.length(keys) {
            plan::Length::Nothing => return Ok(()),
            plan::Length::Short => &self.short,
            plan::Length::Long => &self.long,
        };
        for launch in launches {
            let grid = self.plan.grid(launch.groups, keys, self.gpu.facts.max_groups)?;
            launched(launch, count, grid);
        }
        let Some(then) = &self.then else { return Ok(()) };
        let count = self.plan.then_count(keys).map_or(Count::OnDevice, |keys| Count::Fixed(keys as u32));
        then.each(count, launched)
    }

    /// Records each launch in a pass of its own. `begin` makes the pass, and gets the name of the kernel.
    pub(crate) fn record_apart<'a>(
        &self,
        count: Count,
        mut begin: impl FnMut(&'static str) -> ComputePass<'a>,
    ) -> Result<(), Error> {
        self.each(count, &mut |launch, count, grid| launch.record(&mut begin(launch.name()), count, grid))
    }
}

impl Launch {
    /// Compiles a command, and binds the buffer that `bound` returns for each role.
    pub(crate) fn new(
        gpu: &Gpu,
        command: &Command,
        native: bool,
        bound: impl Fn(Role) -> Result<Bound, Error>,
    ) -> Result<Self, Error> {
        let kernel = command.variant.kernel;
        let pipeline = gpu.pipeline(&command.variant, native, &slots(&command.variant, &command.bindings))?;
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

    pub(crate) fn record(&self, pass: &mut ComputePass<'_>, count: Count, (columns, rows): (u32, u32)) {
        let mut offsets = [0; 5];
        for (offset, number) in offsets.iter_mut().zip(&self.numbers) {
            *offset = abi::NUMBER_STRIDE * abi::value(*number, count.keys());
        }
        pass.set_pipeline(&self.pipeline.pipeline);
        pass.set_bind_group(0, &self.group, &offsets[..self.numbers.len()]);
        pass.dispatch_workgroups(columns, rows, 1);
    }
}
