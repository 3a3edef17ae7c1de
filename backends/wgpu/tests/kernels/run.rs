//! A plain executor: launches one command of a plan, with new buffers for each launch.

use libtest_mimic::Failed;
use polysort_shaders::manifest::{Access, Binding};
use polysort_shaders::plan::{self, Command, Number, Variant};
use polysort_shaders::{abi, prelude};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::wgpu::{
    BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, Buffer,
    BufferBindingType, BufferDescriptor, BufferSize, BufferUsages, CommandEncoderDescriptor, ComputePassDescriptor,
    ComputePipeline, ComputePipelineDescriptor, Device, MapMode, PipelineCompilationOptions, PipelineLayoutDescriptor, PollType,
    ShaderModule, ShaderModuleDescriptor, ShaderRuntimeChecks, ShaderSource, ShaderStages,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::channel;

/// The words of each buffer.
pub(crate) type Contents = BTreeMap<plan::Buffer, Vec<u32>>;

/// A device, and the kernels that were compiled on it.
pub(crate) struct Runner {
    pub(crate) backend: WgpuBackend,
    pipelines: HashMap<Variant, (BindGroupLayout, ComputePipeline)>,
}

impl Runner {
    pub(crate) fn new(backend: WgpuBackend) -> Self {
        Self { backend, pipelines: HashMap::new() }
    }

    /// Launches `command` with `grid` workgroups on buffers with these `contents`, and replaces the contents by the result. `uniform` is the
    /// uniform of the sort, or of the step of a merge. A number of keys that is not in `counts` lies in its count buffer. Only a merge has two
    /// different numbers.
    pub(crate) fn run(
        &mut self,
        uniform: &[u8],
        command: &Command,
        counts: [Option<u32>; 2],
        grid: (u32, u32),
        contents: &mut Contents,
    ) -> Result<(), Failed> {
        let backend = self.backend.clone();
        let (device, queue) = (backend.device(), backend.queue());
        let (layout, pipeline) = self.pipeline(command);
        let buffer = |bytes: &[u8], usage| {
            let size = (bytes.len() as u64).next_multiple_of(16);
            let buffer = device.create_buffer(&BufferDescriptor {
                label: None,
                size,
                usage: usage | BufferUsages::COPY_DST | BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            });
            queue.write_buffer(&buffer, 0, bytes);
            buffer
        };
        let mut numbers = command.numbers.iter();
        let bound: Vec<Buffer> = command
            .bindings
            .iter()
            .map(|role| match role {
                plan::Buffer::Number => {
                    let number = numbers.next().expect("a number for each binding");
                    let count = counts[usize::from(matches!(number, Number::SecondCountDigit(_)))];
                    buffer(bytemuck::bytes_of(&[abi::value(*number, count), 0, 0, 0]), BufferUsages::UNIFORM)
                }
                plan::Buffer::Sort | plan::Buffer::Merge => buffer(uniform, BufferUsages::UNIFORM),
                role => buffer(bytemuck::cast_slice(&contents[role]), BufferUsages::STORAGE),
            })
            .collect();
        let entry = |binding: usize| BindGroupEntry { binding: binding as u32, resource: bound[binding].as_entire_binding() };
        let entries: Vec<_> = (0..bound.len()).map(entry).collect();
        let group = device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
        let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, &group, &vec![0; command.numbers.len()]);
        pass.dispatch_workgroups(grid.0, grid.1, 1);
        drop(pass);
        let mut copies = vec![];
        for (index, (role, binding)) in command.bindings.iter().zip(prelude::bindings(&command.variant)).enumerate() {
            if prelude::writes(&command.variant, binding) {
                let size = bound[index].size();
                let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
                let copy = device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
                encoder.copy_buffer_to_buffer(&bound[index], 0, &copy, 0, size);
                copies.push((*role, copy));
            }
        }
        queue.submit([encoder.finish()]);
        let (sender, receiver) = channel();
        for (_, copy) in &copies {
            let sender = sender.clone();
            copy.map_async(MapMode::Read, .., move |result| sender.send(result).expect("the test waits"));
        }
        device.poll(PollType::wait_indefinitely())?;
        for (role, copy) in &copies {
            receiver.recv()??;
            let view = copy.get_mapped_range(..)?;
            let words: &[u32] = bytemuck::cast_slice(&view);
            let content = contents.get_mut(role).expect("each bound buffer has contents");
            let len = content.len();
            content.copy_from_slice(&words[..len]);
        }
        Ok(())
    }

    /// Returns the compiled kernel. It has the engine's layout, so that a driver that caches compiled kernels has it already.
    fn pipeline(&mut self, command: &Command) -> &(BindGroupLayout, ComputePipeline) {
        self.pipelines.entry(command.variant).or_insert_with(|| {
            let device = self.backend.device();
            let entry = |(index, binding): (usize, &Binding)| {
                let (ty, size) = match binding.access {
                    Access::Number => (BufferBindingType::Uniform, BufferSize::new(4)),
                    Access::Sort => (BufferBindingType::Uniform, BufferSize::new(size_of::<abi::Sort>() as u64)),
                    Access::Merge => (BufferBindingType::Uniform, BufferSize::new(size_of::<abi::Merge>() as u64)),
                    _ => (BufferBindingType::Storage { read_only: !prelude::writes(&command.variant, binding) }, None),
                };
                BindGroupLayoutEntry {
                    binding: index as u32,
                    visibility: ShaderStages::COMPUTE,
                    ty: BindingType::Buffer { ty, has_dynamic_offset: binding.access == Access::Number, min_binding_size: size },
                    count: None,
                }
            };
            let entries: Vec<_> = prelude::bindings(&command.variant).enumerate().map(entry).collect();
            let label = Some(command.variant.kernel().name());
            let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor { label, entries: &entries });
            let source = ShaderSource::Wgsl(prelude::wgsl(&command.variant).into());
            let module = trusted(device, ShaderModuleDescriptor { label, source });
            let bind_group_layouts = &[Some(&layout)];
            let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
                label,
                layout: Some(&device.create_pipeline_layout(&PipelineLayoutDescriptor {
                    label,
                    bind_group_layouts,
                    immediate_size: 0,
                })),
                module: &module,
                entry_point: label,
                compilation_options: PipelineCompilationOptions { constants: &[], zero_initialize_workgroup_memory: false },
                cache: None,
            });
            (layout, pipeline)
        })
    }
}

/// Creates the same module as the engine.
#[allow(unsafe_code, reason = "unchecked modules are unsafe to create")]
fn trusted(device: &Device, descriptor: ShaderModuleDescriptor<'_>) -> ShaderModule {
    // SAFETY: the commands of a plan run on buffers of the plan's sizes, as in the engine: see `trusted` in `src/compile.rs`.
    unsafe { device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked()) }
}
