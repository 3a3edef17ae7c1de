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

/// How a binding is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A uniform at a dynamic offset.
    Number,
    /// A uniform of so many bytes.
    Uniform(u64),
    /// A storage buffer that the kernel writes, or not.
    Storage {
        /// Whether it does.
        writes: bool,
    },
}

/// The kernels that were compiled for a device.
///
/// Each has a lock of its own, which is held while it is compiled: two calls compile different kernels at the same time, and one kernel once.
#[derive(Default)]
pub(crate) struct Pipelines(Mutex<HashMap<(Variant, bool), Compiled>>);

/// A kernel, if it is compiled.
type Compiled = Arc<Mutex<Option<Arc<Pipeline>>>>;

impl Gpu {
    /// The kernel of a variant, compiled at the first call: in the device's own language, if `native` and there is one.
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
        // Every kernel clears what it reads.
        compilation_options: PipelineCompilationOptions { constants: &[], zero_initialize_workgroup_memory: false },
        cache: None,
    });
    Pipeline { pipeline, layout }
}

/// A module without the run-time checks that wgpu would weave into it.
#[allow(unsafe_code, reason = "unchecked modules are unsafe to make")]
fn trusted(device: &Device, descriptor: ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
    // SAFETY: unchecked code must not access memory out of bounds, and its loops must end.
    // * Storage: a kernel indexes a binding below the numbers of its uniform: keys and segments that a plan was made for, words of scratch, entries and
    //   slots of a store. `Bound::new` is the only way to bind a buffer, and checked that the binding holds the bytes that the plan touches for
    //   these numbers (`SortPlan::touched_bytes`, `SearchPlan::touched_bytes`).
    // * Data that kernels read as an index is limited before: a count on the device by the number of keys that the plan was made for; begins and ends of
    //   segments by the number of keys; entries and slots by how many there are. Begins and ends of segments that are selected from come from
    //   the host alone, which checked them against the keys that it uploaded. Lists of segments end where they are full; long segments are
    //   left alone unless their tiles fit the table; where segments overlap, so that keys change while they are sorted, no offset passes the last key.
    // * Workgroup memory: indices stay below the declared sizes, which are constants of the same text.
    // * Loops are bounded by the tile, its lanes, or by SPIN_LIMIT and the number of tiles; or go through the keys in steps of all workgroups, of
    //   which plans launch one or more; or step over values by doubles and halves.
    unsafe { device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked()) }
}

/// A module in Metal Shading Language, which goes to the driver as it is.
#[allow(unsafe_code, reason = "modules that wgpu does not look into are unsafe to make")]
fn passed_through(device: &Device, variant: &Variant, text: String) -> wgpu::ShaderModule {
    let name = variant.kernel.name();
    let entry = PassthroughShaderEntryPoint { name: name.into(), workgroup_size: (variant.group, 1, 1) };
    // SAFETY: the kernels are ours: the MSL versions of those in WGSL, with the same bindings in the same order. What `trusted` says of indices
    // and loops holds for them. They run only on Apple's GPUs, and only after they have passed a self-test there.
    unsafe {
        device.create_shader_module_passthrough(ShaderModuleDescriptorPassthrough {
            label: Some(name),
            entry_points: vec![entry].into(),
            msl: Some(text.into()),
            ..Default::default()
        })
    }
}

/// The declarations of a kernel's bindings.
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
