//! A device: what it can do, how its errors are told, and the pipelines that it has compiled.

use crate::way::takes_native;
use polysort_core::plan::{Class, Facts, Kernel, Tuned, Variant};
use polysort_core::{Cause, Error};
use polysort_shaders::{abi, prelude};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::{
    Adapter, AdapterInfo, Backend, Backends, BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    Buffer, BufferBindingType, BufferDescriptor, BufferSize, BufferUsages, ComputePipeline, ComputePipelineDescriptor, Device,
    DeviceDescriptor, DeviceType, ErrorFilter, ErrorScopeGuard, Features, Instance, InstanceDescriptor, InstanceFlags,
    MemoryHints, PassthroughShaderEntryPoint, PipelineCompilationOptions, PipelineLayoutDescriptor, PollType, Queue,
    ShaderModuleDescriptor, ShaderModuleDescriptorPassthrough, ShaderRuntimeChecks, ShaderSource, ShaderStages,
};

/// The name by which errors call the backend.
pub(crate) const NAME: &str = "wgpu";

/// How long a device that gave an error is waited for, in case that it is lost.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What a device of an adapter with these features is to have for a fast sort; with less it sorts more slowly.
pub(crate) fn wanted(info: &AdapterInfo, features: Features) -> Features {
    let mut wanted = Features::SUBGROUP | Features::SUBGROUP_BARRIER | Features::TIMESTAMP_QUERY;
    if shares_memory(info.device_type) {
        wanted |= Features::MAPPABLE_PRIMARY_BUFFERS;
    }
    if takes_native(info, features) {
        wanted |= Features::PASSTHROUGH_SHADERS;
    }
    wanted & features
}

/// What storage of ours is for.
pub(crate) const STORAGE: BufferUsages = BufferUsages::STORAGE.union(BufferUsages::COPY_SRC).union(BufferUsages::COPY_DST);

/// A device and what was made on it.
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) info: AdapterInfo,
    pub(crate) facts: Facts,
    /// Whether kernels in its own language may be used.
    pub(crate) is_native: bool,
    /// Whether the device works in the memory of the host, and lets it map what it sorts.
    pub(crate) is_shared: bool,
    /// The table that numbers are bound from.
    pub(crate) numbers: Buffer,
    pipelines: Mutex<HashMap<(Variant, bool), Arc<Pipeline>>>,
    /// Why the device is gone, if it is.
    lost: Arc<Mutex<Option<String>>>,
}

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub(crate) pipeline: ComputePipeline,
    pub(crate) layout: BindGroupLayout,
}

/// The adapters that may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// Those of these interfaces.
    pub(crate) backends: Backends,
    /// Those that run on the CPU as well.
    pub(crate) software: bool,
    /// Subgroup operations.
    pub(crate) subgroups: bool,
    /// Kernels in the device's own language.
    pub(crate) native: bool,
}

/// The interfaces that polysort runs on.
pub(crate) const BACKENDS: Backends =
    Backends::VULKAN.union(Backends::METAL).union(Backends::DX12).union(Backends::BROWSER_WEBGPU);

/// What leads to the drivers. One for all: NVIDIA's driver finds no adapter any more after some dozens of them.
static INSTANCE: OnceLock<Instance> = OnceLock::new();

/// All adapters of this machine, the most capable kinds first.
pub(crate) async fn adapters(backends: Backends) -> Vec<Adapter> {
    if Instance::enabled_backend_features().is_empty() {
        return vec![];
    }
    let instance = INSTANCE.get_or_init(|| {
        // No checks of indirect launches, which there are none of: they cost a limit of 4 GiB a buffer.
        let flags = InstanceFlags::empty();
        let descriptor = InstanceDescriptor { backends: BACKENDS, flags, ..InstanceDescriptor::new_without_display_handle() };
        Instance::new(descriptor)
    });
    let mut adapters = instance.enumerate_adapters(backends).await;
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        let kind = match info.device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        };
        // Where two drivers reach the same device, Vulkan's compiler and Metal's are the better ones.
        (kind, info.backend == Backend::Dx12)
    });
    adapters
}

impl Gpu {
    /// Opens the best adapter that is allowed.
    pub(crate) async fn open(allowed: Allowed) -> Result<Self, Error> {
        let unavailable = |why: String, source| Error::Unavailable { backend: NAME.into(), why, source };
        let adapters = adapters(allowed.backends & BACKENDS).await;
        let found = adapters.iter().map(|adapter| adapter.get_info().name).collect::<Vec<_>>().join(", ");
        let Some(adapter) = adapters.iter().find(|a| allowed.software || a.get_info().device_type != DeviceType::Cpu) else {
            let why = match adapters.len() {
                0 => "no adapter was found; is a driver for Vulkan, Metal or DX12 installed?".into(),
                _ => format!("there are only adapters that run on the CPU ({found}), which the CPU backend outruns"),
            };
            return Err(unavailable(why, None));
        };
        let mut wanted = wanted(&adapter.get_info(), adapter.features());
        if !allowed.native {
            wanted.remove(Features::PASSTHROUGH_SHADERS);
        }
        if !allowed.subgroups {
            wanted.remove(Features::SUBGROUP | Features::SUBGROUP_BARRIER);
        }
        let descriptor = DeviceDescriptor {
            label: Some("polysort"),
            required_features: wanted,
            required_limits: adapter.limits(),
            memory_hints: MemoryHints::Performance,
            ..Default::default()
        };
        let opened = adapter.request_device(&descriptor).await;
        let (device, queue) = opened.map_err(|error| unavailable(error.to_string(), Some(Arc::new(error) as Cause)))?;
        let lost = Arc::new(Mutex::new(None));
        let noted = lost.clone();
        device.set_device_lost_callback(move |reason, message| {
            *noted.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{reason:?}: {message}"));
        });
        // What no scope catches, such as the unmapping of a buffer whose device is gone, is no reason to panic.
        device.on_uncaptured_error(Arc::new(|error| tracing::error!(%error, "outside every scope")));
        Self::on(device, queue, lost)
    }

    /// Wraps a device that is open.
    pub(crate) fn on(device: Device, queue: Queue, lost: Arc<Mutex<Option<String>>>) -> Result<Self, Error> {
        let info = device.adapter_info();
        let facts = facts(&device, &info);
        let numbers = guarded(&device, || {
            let table = device.create_buffer(&BufferDescriptor {
                label: Some("polysort numbers"),
                size: u64::from(abi::NUMBERS * abi::NUMBER_STRIDE),
                usage: BufferUsages::UNIFORM | BufferUsages::STORAGE | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let mut words = vec![0_u32; (abi::NUMBERS * abi::NUMBER_STRIDE / 4) as usize];
            for (number, entry) in (0..).zip(words.chunks_exact_mut(abi::NUMBER_STRIDE as usize / 4)) {
                entry[0] = number;
            }
            queue.write_buffer(&table, 0, bytemuck::cast_slice(&words));
            table
        })?;
        let is_shared = device.features().contains(Features::MAPPABLE_PRIMARY_BUFFERS) && shares_memory(info.device_type);
        let is_native = takes_native(&info, device.features());
        Ok(Self { device, queue, info, facts, is_native, is_shared, numbers, pipelines: Mutex::default(), lost })
    }

    /// What the device is called, for people.
    pub(crate) fn name(&self) -> String {
        let lanes = match self.facts.subgroups {
            None => "no subgroups".into(),
            Some((least, most)) if least == most => format!("{least} lanes"),
            Some((least, most)) => format!("{least} to {most} lanes"),
        };
        format!("{} ({:?}, {lanes})", self.info.name, self.info.backend)
    }

    /// The error of a device that is gone, if it is.
    pub(crate) fn lost(&self) -> Option<Error> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.clone().map(|why| Error::DeviceLost { backend: NAME.into(), why, source: None })
    }

    /// Notes that the device does not answer any more.
    pub(crate) fn give_up(&self, why: &str) -> Error {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let why = lost.get_or_insert_with(|| why.into()).clone();
        Error::DeviceLost { backend: NAME.into(), why, source: None }
    }

    /// Runs `work` on the device and tells its errors, none of which reaches the device's own handler. In a browser they are known
    /// later only, and told to whoever runs all of it [watched](Gpu::watched).
    pub(crate) fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        let result = guarded(&self.device, work);
        if result.is_err() {
            // A device that is gone calls its buffers invalid, and says so itself only when nothing is under way.
            self.device.poll(PollType::Wait { submission_index: None, timeout: Some(LAST_WORDS) }).ok();
        }
        self.lost().map_or(result, Err)
    }

    /// Runs `work` and tells its own errors and those of the device, for which a browser has to be waited.
    pub(crate) async fn watched<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        #[cfg(target_arch = "wasm32")]
        {
            let scopes = Scopes::begin(&self.device);
            let result = work();
            scopes.end().await?;
            result
        }
        #[cfg(not(target_arch = "wasm32"))]
        work()
    }

    /// A buffer of `bytes` bytes, rounded up to whole words.
    pub(crate) fn buffer(&self, label: &str, bytes: u64, usage: BufferUsages) -> Result<Buffer, Error> {
        let size = bytes.next_multiple_of(16).max(16);
        self.allocated(size, || {
            self.device.create_buffer(&BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
        })
    }

    /// A buffer that holds these bytes.
    pub(crate) fn buffer_of(&self, label: &str, contents: &[u8], usage: BufferUsages) -> Result<Buffer, Error> {
        let descriptor = BufferInitDescriptor { label: Some(label), contents, usage };
        self.allocated(contents.len() as u64, || self.device.create_buffer_init(&descriptor))
    }

    /// The buffer of `size` bytes that `create` makes.
    fn allocated(&self, size: u64, create: impl FnOnce() -> Buffer) -> Result<Buffer, Error> {
        let limit = self.device.limits().max_buffer_size;
        if size > limit {
            return Err(Error::OutOfMemory { asked: size, limit: Some(limit) });
        }
        self.guarded(create).map_err(|error| match error {
            Error::OutOfMemory { limit, .. } => Error::OutOfMemory { asked: size, limit },
            other => other,
        })
    }

    /// The compiled kernel of a variant, compiled at the first call: in the device's own language, if `native` and there is one.
    pub(crate) fn pipeline(&self, variant: &Variant, native: bool, bindings: &[Slot]) -> Result<Arc<Pipeline>, Error> {
        let mut pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = pipelines.get(&(*variant, native)) {
            return Ok(pipeline.clone());
        }
        let pipeline = Arc::new(self.guarded(|| compile(&self.device, variant, native, bindings))?);
        tracing::debug!(kernel = variant.kernel.name(), "compiled");
        pipelines.insert((*variant, native), pipeline.clone());
        Ok(pipeline)
    }
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
    // SAFETY: our kernels index storage below the count of keys, which the host checks against each binding, and workgroup memory below
    // its declared size; their loops end: they are bounded by the tile, its lanes, or by SPIN_LIMIT and the number of tiles, go through
    // the keys by steps of all groups, of which plans launch one or more, or step over values by doubles and halves. What comes from data is limited:
    // the caller's count on the device by the capacity of the bindings, where segments begin and end by the number of keys. Lists of
    // segments end where they are full, long ones are left alone unless their tiles fit the table, and where they overlap, so that keys
    // change while they are sorted, no key goes past the last. A search for vectors looks at an entry, or at a slot, only if it is there.
    unsafe { device.create_shader_module_trusted(descriptor, ShaderRuntimeChecks::unchecked()) }
}

/// A module in Metal Shading Language, which goes to the driver as it is.
#[allow(unsafe_code, reason = "modules that wgpu does not look into are unsafe to make")]
fn passed_through(device: &Device, variant: &Variant, text: String) -> wgpu::ShaderModule {
    let name = variant.kernel.name();
    let entry = PassthroughShaderEntryPoint { name: name.into(), workgroup_size: (variant.group, 1, 1) };
    // SAFETY: the kernels are ours, the twins of those in WGSL, with the same bindings in the same order; what is said there of indices
    // and loops holds for them. They run only on adapters that are known to take them, and only after they have passed a test.
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
pub(crate) fn slots(kernel: Kernel, bindings: &[polysort_core::plan::Buffer]) -> Vec<Slot> {
    use polysort_core::plan::Buffer as Role;
    let slot = |(index, role): (usize, &Role)| match role {
        Role::Number => Slot::Number,
        Role::Sort => Slot::Uniform(size_of::<abi::Sort>() as u64),
        Role::Search => Slot::Uniform(size_of::<abi::Search>() as u64),
        _ => Slot::Storage { writes: prelude::writes(kernel, index) },
    };
    bindings.iter().enumerate().map(slot).collect()
}

/// Whether such a device works in the memory of the host.
fn shares_memory(kind: DeviceType) -> bool {
    matches!(kind, DeviceType::IntegratedGpu | DeviceType::Cpu)
}

fn facts(device: &Device, info: &AdapterInfo) -> Facts {
    let (limits, features) = (device.limits(), device.features());
    let has_subgroups = features.contains(Features::SUBGROUP | Features::SUBGROUP_BARRIER);
    // What wgpu says of Metal is a guess; Apple's own GPUs have 32 lanes.
    let apple = info.backend == Backend::Metal && info.name.starts_with("Apple");
    let sizes = if apple { (32, 32) } else { (info.subgroup_min_size, info.subgroup_max_size) };
    Facts {
        subgroups: (has_subgroups && sizes.0 > 0).then_some(sizes),
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        max_group: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
        max_groups: limits.max_compute_workgroups_per_dimension,
        max_binding: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
        class: if apple { Class::Apple } else { Class::Other },
        tuned: Tuned::NONE,
    }
}

fn guarded<T>(device: &Device, work: impl FnOnce() -> T) -> Result<T, Error> {
    #[cfg(target_arch = "wasm32")]
    {
        let _ = device;
        Ok(work())
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        let scopes = Scopes::begin(device);
        let value = work();
        pollster::block_on(scopes.end())?;
        Ok(value)
    }
}

/// What catches every error of a device between its beginning and its end.
struct Scopes {
    memory: ErrorScopeGuard,
    internal: ErrorScopeGuard,
    validation: ErrorScopeGuard,
}

impl Scopes {
    fn begin(device: &Device) -> Self {
        let memory = device.push_error_scope(ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(ErrorFilter::Internal);
        let validation = device.push_error_scope(ErrorFilter::Validation);
        Self { memory, internal, validation }
    }

    /// Ends at once; tells what was caught when it is known.
    fn end(self) -> impl Future<Output = Result<(), Error>> {
        let (validation, internal, memory) = (self.validation.pop(), self.internal.pop(), self.memory.pop());
        async {
            match validation.await.or(internal.await).or(memory.await) {
                None => Ok(()),
                Some(wgpu::Error::OutOfMemory { .. }) => Err(Error::OutOfMemory { asked: 0, limit: None }),
                Some(error) => {
                    Err(Error::Backend { backend: NAME.into(), why: error.to_string(), source: Some(Arc::new(error)) })
                }
            }
        }
    }
}
