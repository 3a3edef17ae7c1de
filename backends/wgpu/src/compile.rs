//! Compiles kernels for a device, and keeps them.

use crate::faults::Faults;
use polysort_core::Error;
use polysort_shaders::manifest::{Access, Binding};
use polysort_shaders::plan::Variant;
use polysort_shaders::{abi, prelude};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType, BufferBindingType, BufferSize,
    ComputePipeline, ComputePipelineDescriptor, Device, PassthroughShaderEntryPoint, PipelineCache, PipelineCompilationOptions,
    PipelineLayoutDescriptor, ShaderModuleDescriptor, ShaderModuleDescriptorPassthrough, ShaderRuntimeChecks, ShaderSource,
    ShaderStages,
};

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub(crate) pipeline: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
}

/// The declaration of a binding in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// A uniform with a dynamic offset.
    Number,
    /// A uniform of this many bytes.
    Uniform(u64),
    /// A storage buffer.
    Storage {
        /// Whether the kernel writes it.
        writes: bool,
    },
}

/// A kernel, and whether it is compiled in the device's own language.
pub(crate) type KernelKey = (Variant, bool);

/// The compiled kernels of a device.
///
/// Each kernel has a lock, which a thread holds while it compiles the kernel. So two calls can compile different
/// kernels at the same time, and each kernel is compiled only once.
#[derive(Default)]
pub(crate) struct Pipelines(Mutex<HashMap<KernelKey, Compiled>>);

/// A kernel, once it is compiled.
type Compiled = Arc<Mutex<Option<Arc<Pipeline>>>>;

impl Pipelines {
    /// Returns those of `kernels` that are not compiled, each once. A kernel that another thread compiles now is among them.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn missing(&self, kernels: impl IntoIterator<Item = KernelKey>) -> Vec<KernelKey> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_compiled =
            |kernel: &KernelKey| known.get(kernel).and_then(|entry| entry.try_lock().ok()).is_some_and(|entry| entry.is_some());
        let mut missing: Vec<KernelKey> = vec![];
        for kernel in kernels {
            if !is_compiled(&kernel) && !missing.contains(&kernel) {
                missing.push(kernel);
            }
        }
        missing
    }

    /// Returns the kernel of a variant and a language. The first call compiles it with `compile`.
    pub(crate) fn get(
        &self,
        variant: &Variant,
        native: bool,
        compile: impl FnOnce() -> Result<Pipeline, Error>,
    ) -> Result<Arc<Pipeline>, Error> {
        let entry = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((*variant, native)).or_default().clone();
        let mut compiled = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = &*compiled {
            return Ok(pipeline.clone());
        }
        let span = tracing::debug_span!("compile", kernel = variant.kernel().name()).entered();
        let pipeline = Arc::new(compile()?);
        drop(span);
        *compiled = Some(pipeline.clone());
        Ok(pipeline)
    }
}

/// Compiles the kernel of a variant: in the device's own language if `native` is set and such a kernel exists, else from
/// WGSL.
pub(crate) fn compile(
    device: &Device,
    cache: Option<&PipelineCache>,
    faults: &Faults,
    variant: &Variant,
    native: bool,
) -> Pipeline {
    let entry = |(binding, slot): (usize, Slot)| {
        let (ty, size) = match slot {
            Slot::Number => (BufferBindingType::Uniform, BufferSize::new(4)),
            Slot::Uniform(bytes) => (BufferBindingType::Uniform, BufferSize::new(bytes)),
            Slot::Storage { writes } => (BufferBindingType::Storage { read_only: !writes }, None),
        };
        let has_dynamic_offset = slot == Slot::Number;
        BindGroupLayoutEntry {
            binding: binding as u32,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: size },
            count: None,
        }
    };
    let label = Some(variant.kernel().name());
    let entries: Vec<_> = slots(variant).into_iter().enumerate().map(entry).collect();
    let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor { label, entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let module = match prelude::msl(variant).filter(|_| native) {
        Some(text) => passed_through(device, variant, text),
        None => {
            let source = ShaderSource::Wgsl(faults.text(variant.kernel(), prelude::wgsl(variant)).into());
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
        cache,
    });
    Pipeline { pipeline, layout }
}

/// Creates a module without wgpu's run-time checks.
#[allow(unsafe_code, reason = "unchecked modules are unsafe to create")]
fn trusted(device: &Device, descriptor: ShaderModuleDescriptor<'_>) -> wgpu::ShaderModule {
    // SAFETY: unchecked code must not access memory out of bounds, and its loops must end.
    // * Storage: a kernel's indices into a binding are below the numbers of its uniform: the largest numbers of keys
    //   and segments of the plan, the words of scratch, the entries and slots of a store. Only `Bound::new` can bind a
    //   buffer. It has checked that the binding has the bytes that the plan touches for these numbers
    //   (`SortPlan::touched_bytes`, `SearchPlan::touched_bytes`).
    //   A merge has a uniform for each step; its numbers are those of the parts that the step binds (`MergePlan::touched`).
    // * Before a kernel uses data as an index, it limits the data: a count on the device to the plan's largest number of
    //   keys; begins and ends of segments to the number of keys; entries and slots to their numbers.
    //   Indices of a gather are limited to the elements of the source. Begins and ends of segments to select from are limited
    //   to the plan's keys (`segment_bounds`) if they lie in buffers of the caller, or in one of `Ask::rows`. Otherwise they come from the host, which
    //   has checked them against the number of keys: of the uploaded keys, or of the candidates whose distances are the keys.
    //   The plan does not have that number; `Engine::sort_untested` and `SearchCall::begin` make the buffer at least as long. Kernels never write
    //   past the capacity of a list of segments, and skip long segments whose tiles do not fit the table. If segments
    //   overlap, keys can change during the sort: so kernels limit each offset to the last key. The kernels of a merge limit
    //   the lengths of the runs to their largest, and each point of the merge path to the ends of the step, whatever the keys.
    // * Workgroup memory: indices stay below the declared sizes, which are constants of the same text.
    // * Loops are bounded by the tile, by its lanes, or by SPIN_LIMIT and the number of tiles. Other loops advance
    //   through the keys by the size of all workgroups, and plans launch at least one workgroup. Binary searches halve a
    //   range; other searches double and halve their step. The loop of `ivf_distance` over the offsets ends, since the
    //   host has checked that they ascend to the number of candidates.
    unsafe { device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked()) }
}

/// Creates a module in Metal Shading Language. wgpu passes its text to the driver unchanged.
#[allow(unsafe_code, reason = "modules that wgpu does not check are unsafe to create")]
fn passed_through(device: &Device, variant: &Variant, text: String) -> wgpu::ShaderModule {
    let name = variant.kernel().name();
    let entry = PassthroughShaderEntryPoint { name: name.into(), workgroup_size: (variant.group, 1, 1) };
    // SAFETY: the texts are this project's own MSL versions of the WGSL kernels, with the same bindings in the same
    // order. The argument of `trusted` about indices and loops holds for them too. They run only on Apple's GPUs, and
    // get a caller's data only after they have passed a self-test there.
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
fn slots(variant: &Variant) -> Vec<Slot> {
    let slot = |binding: &Binding| match binding.access {
        Access::Number => Slot::Number,
        Access::Sort => Slot::Uniform(size_of::<abi::Sort>() as u64),
        Access::Search => Slot::Uniform(size_of::<abi::Search>() as u64),
        Access::Merge => Slot::Uniform(size_of::<abi::Merge>() as u64),
        Access::Read | Access::Write | Access::Aliased => Slot::Storage { writes: prelude::writes(variant, binding) },
    };
    prelude::bindings(variant).map(slot).collect()
}
