//! The adapters of this machine, and the features and facts of their devices.

use crate::way::takes_native;
use polysort_shaders::plan::{Class, Facts, Tuned};
use std::sync::OnceLock;
use wgpu::{Adapter, AdapterInfo, Backend, Backends, Device, DeviceType, Features, Instance, InstanceDescriptor, InstanceFlags};

/// Returns the features that a device of this adapter should have. A device with fewer sorts more slowly.
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

/// Which adapters may be opened, and what their devices may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// The interfaces of the adapters.
    pub(crate) backends: Backends,
    /// Whether adapters that run on the CPU are allowed.
    pub(crate) software: bool,
    /// Whether subgroup operations are allowed.
    pub(crate) subgroups: bool,
    /// Whether kernels in the device's own language are allowed.
    pub(crate) native: bool,
}

/// The interfaces that polysort runs on.
pub(crate) const BACKENDS: Backends =
    Backends::VULKAN.union(Backends::METAL).union(Backends::DX12).union(Backends::BROWSER_WEBGPU);

/// The wgpu instance. All devices share one: after some dozens of instances, NVIDIA's driver finds no adapter any more.
static INSTANCE: OnceLock<Instance> = OnceLock::new();

/// Returns all adapters of this machine, the most capable kinds first.
pub(crate) async fn adapters(backends: Backends) -> Vec<Adapter> {
    if Instance::enabled_backend_features().is_empty() {
        return vec![];
    }
    let instance = INSTANCE.get_or_init(|| {
        // polysort makes no indirect launches. Their checks would limit a buffer to 4 GiB.
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
        // Where two drivers reach the same device, the compilers of Vulkan and Metal are better than that of DX12.
        (kind, info.backend == Backend::Dx12)
    });
    adapters
}

/// Returns whether devices of this kind work in the memory of the host.
pub(crate) fn shares_memory(kind: DeviceType) -> bool {
    matches!(kind, DeviceType::IntegratedGpu | DeviceType::Cpu)
}

pub(crate) fn facts(device: &Device, info: &AdapterInfo) -> Facts {
    let (limits, features) = (device.limits(), device.features());
    let has_subgroups = features.contains(Features::SUBGROUP | Features::SUBGROUP_BARRIER);
    // For Metal, wgpu can only guess the subgroup sizes. Apple's own GPUs have 32 lanes.
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
