//! Kernels, compiled for a device.

use crate::gpu::Gpu;
use polysort_core::Error;
use polysort_shaders::plan::Variant;
use polysort_shaders::{abi, prelude};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType, BufferSize,
    ComputePipeline, ComputePipelineDescriptor, Device, PassthroughShaderEntryPoint, PipelineCompilationOptions,
    PipelineLayoutDescriptor, ShaderModuleDescriptor, ShaderModuleDescriptorPassthrough, ShaderRuntimeChecks, ShaderSource,
    ShaderStages,
};

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub(crate) pipeline: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
}

/// How a kernel declares a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A uniform with a dynamic offset.
    Number,
    /// A uniform of so many bytes.
    Uniform(u64),
    /// A storage buffer.
    Storage {
        /// Whether the kernel writes it.
        writes: bool,
    },
}

/// The compiled kernels of a device.
///
/// Each kernel has a lock, which a thread holds while it compiles the kernel. So two calls can compile different
/// kernels at the same time, and no kernel is compiled twice.
#[derive(Default)]
pub(crate) struct Pipelines(Mutex<HashMap<(Variant, bool), Compiled>>);

/// A kernel, once it is compiled.
type Compiled = Arc<Mutex<Option<Arc<Pipeline>>>>;

impl Gpu {
    /// Returns the kernel of a variant. The first call compiles it: in the device's own language if `native` is set and
    /// such a kernel exists, else from WGSL.
    pub(crate) fn pipeline(&self, variant: &Variant, native: bool, bindings: &[Slot]) -> Result<Arc<Pipeline>, Error> {
        let entry =
            self.pipelines.0.lock().unwrap_or_else(PoisonError::into_inner).entry((*variant, native)).or_default().clone();
        let mut compiled = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*compiled {
            return Ok(pipeline.clone());
        }
        let pipeline = Arc::new(self.guarded(|| compile(&self.device, variant, native, bindings))?);
        tracing::debug!(kernel = variant.kernel.name(), "compiled");
        *compiled = Some(pipeline.clone());
        Ok(pipeline)
    }
}

fn compile(device: &Device, variant: &Variant, native: bool, bindings: &[Slot]) -> Pipeline {
    let entry = |(binding, slot): (usize, &Slot)| {
        let (ty, size) = match slot {
            Slot::Number => (BufferBindingType::Uniform, BufferSize::new(4)),
            Slot::Uniform(bytes) => (BufferBindingType::Uniform, BufferSize::new(*bytes)),
            Slot::Storage { writes } => (BufferBindingType::Storage { read_only: !writes }, None),
        };
        let has_dynamic_offset = *slot == Slot::Number;
        BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: size },
            count: None,
        }
    };
    let label = Some(variant.kernel.name());
    let entries: Vec<_> = bindings.iter().enumerate().map(entry).collect();
    let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor { label, entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let module = match prelude::msl(variant).filter(|_| native) {
        Some(text) => passed_through(device, variant, text),
        None => {
            let source = ShaderSource::Wgsl(prelude::wgsl(variant).into());
            trusted(device, ShaderModuleDescriptor { label, source })
        }
    };
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label,
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: label,
        // Every kernel clears the workgroup memory that it reads.
        compilation_options: PipelineCompilationOptions { constants: &[], zero_initialize_workgroup_memory: false },
        cache: None,
    });
    Pipeline { pipeline, layout }
}

/// Makes a module without the run-time checks that wgpu would add to it.
#[allow(unsafe_code, reason = "unchecked modules are unsafe to make")]
fn trusted(device: &Device, descriptor: ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
    // SAFETY: unchecked code must not access memory out of bounds, and its loops must end.
    // * Storage: a kernel indexes a binding below the numbers of its uniform: keys and segments that a plan was made
    //   for, words of scratch, entries and slots of a store. `Bound::new` is the only way to bind a buffer. It has
    //   checked that the binding holds the bytes that the plan touches for these numbers (`SortPlan::touched_bytes`,
    //   `SearchPlan::touched_bytes`).
    // * Data that kernels use as an index is limited before: a count on the device by the number of keys that the plan
    //   was made for; begins and ends of segments by the number of keys; entries and slots by how many there are.
    //   Begins and ends of segments to select from come from the host alone, which has checked them against the number
    //   of keys: of those that it uploaded, or of the candidates whose distances are the keys. The plan does not know
    //   that number; `Engine::sort_untested` and `SearchCall::begin` make the buffer as long at least. Kernels write no more to a list of segments than it holds, and sort no long segments whose
    //   tiles do not fit the table. Where segments overlap, keys can change during the sort: each offset is limited to
    //   the last key.
    // * Workgroup memory: indices stay below the declared sizes, which are constants of the same text.
    // * Loops are bounded by the tile, by its lanes, or by SPIN_LIMIT and the number of tiles. Others go through the
    //   keys in steps of all workgroups, of which plans launch at least one. Searches halve a range, or step over
    //   values by doubles and halves. The distances of a search step over its offsets, which ascend to the number of
    //   candidates: the host has checked that.
    unsafe { device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked()) }
}

/// Makes a module in Metal Shading Language. wgpu passes its text to the driver unchanged.
#[allow(unsafe_code, reason = "modules that wgpu does not look into are unsafe to make")]
fn passed_through(device: &Device, variant: &Variant, text: String) -> wgpu::ShaderModule {
    let name = variant.kernel.name();
    let entry = PassthroughShaderEntryPoint { name: name.into(), workgroup_size: (variant.group, 1, 1) };
    // SAFETY: the kernels are ours: the MSL versions of those in WGSL, with the same bindings in the same order. What
    // `trusted` says of indices and loops holds for them. They run only on Apple's GPUs, and they get a caller's data
    // only after they have passed a self-test there.
    unsafe {
        device.create_shader_module_passthrough(ShaderModuleDescriptorPassthrough {
            label: Some(name),
            entry_points: vec![entry].into(),
            msl: Some(text.into()),
            ..Default::default()
        })
    }
}

/// Returns the declarations of a kernel's bindings.
pub(crate) fn slots(variant: &Variant, bindings: &[polysort_shaders::plan::Buffer]) -> Vec<Slot> {
    use polysort_shaders::plan::Buffer as Role;
    let slot = |(index, role): (usize, &Role)| match role {
        Role::Number => Slot::Number,
        Role::Sort => Slot::Uniform(size_of::<abi::Sort>() as u64),
        Role::Search => Slot::Uniform(size_of::<abi::Search>() as u64),
        _ => Slot::Storage { writes: prelude::writes(variant, index) },
    };
    bindings.iter().enumerate().map(slot).collect()
}
