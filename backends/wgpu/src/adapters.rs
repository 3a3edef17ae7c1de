//! The adapters of this machine, and the features and facts of their devices.

use crate::adapter::{self, BACKENDS};
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

/// The adapters that may be opened, and the features that their devices may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// The interfaces of the adapters.
    pub(crate) backends: Backends,
    /// The adapter among them.
    pub(crate) adapter: adapter::Adapter,
    /// Whether the best adapter may run on the CPU.
    pub(crate) software: bool,
    /// Whether subgroup operations are allowed.
    pub(crate) subgroups: bool,
    /// Whether kernels in the device's own language are allowed.
    pub(crate) native: bool,
}

/// The wgpu instance. All devices share one: after some dozens of instances, NVIDIA's driver finds no adapter any more.
static INSTANCE: OnceLock<Instance> = OnceLock::new();

/// Returns the adapters of this machine that polysort runs on and `backends` reach, the most capable kinds first.
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
    let mut adapters = instance.enumerate_adapters(backends & BACKENDS).await;
    adapters.sort_by_key(|adapter| {
        let info = adapter.get_info();
        let kind = match info.device_type {
            DeviceType::DiscreteGpu => 0,
            DeviceType::IntegratedGpu => 1,
            DeviceType::VirtualGpu => 2,
            DeviceType::Other => 3,
            DeviceType::Cpu => 4,
        };
        // If two drivers reach the same device, DX12 comes last: the compilers of Vulkan and Metal are better.
        (kind, info.backend == Backend::Dx12)
    });
    adapters
}

/// Returns whether devices of this kind work in the memory of the host.
pub(crate) fn shares_memory(kind: DeviceType) -> bool {
    matches!(kind, DeviceType::IntegratedGpu | DeviceType::Cpu)
}

/// Returns the architecture of an adapter, by its driver and the PCI number of its vendor.
fn class(info: &AdapterInfo) -> Class {
    match (info.device_type, info.vendor) {
        (DeviceType::Cpu, _) => Class::Software,
        _ if info.backend == Backend::Metal && info.name.starts_with("Apple") => Class::Apple,
        (_, 0x10de) => Class::Nvidia,
        (_, 0x1002) => Class::Amd,
        (_, 0x8086) => Class::Intel,
        _ => Class::Unknown,
    }
}

/// The most bytes of a binding: kernels count its words with 32 bits, and add up to the words of one round of all workgroups. Metal allows
/// longer bindings.
const MAX_BINDING: u64 = (1 << 34) - (1 << 26);

pub(crate) fn facts(device: &Device, info: &AdapterInfo) -> Facts {
    let (limits, features) = (device.limits(), device.features());
    let has_subgroups = features.contains(Features::SUBGROUP | Features::SUBGROUP_BARRIER);
    // For Metal, wgpu can only guess the subgroup sizes. Apple's own GPUs have 32 lanes.
    let sizes = if class(info) == Class::Apple { (32, 32) } else { (info.subgroup_min_size, info.subgroup_max_size) };
    Facts {
        subgroups: (has_subgroups && sizes.0 > 0).then_some(sizes),
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        max_group: limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x),
        max_groups: limits.max_compute_workgroups_per_dimension,
        max_binding: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size).min(MAX_BINDING),
        class: class(info),
        tuned: Tuned::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(device_type: DeviceType, backend: Backend, vendor: u32, name: &str) -> AdapterInfo {
        AdapterInfo { vendor, name: name.into(), ..AdapterInfo::new(device_type, backend) }
    }

    #[test]
    fn the_architecture_follows_from_driver_and_vendor() {
        let of = |device_type, backend, vendor, name| class(&adapter(device_type, backend, vendor, name));
        assert_eq!(of(DeviceType::DiscreteGpu, Backend::Vulkan, 0x10de, "NVIDIA H200"), Class::Nvidia);
        assert_eq!(of(DeviceType::IntegratedGpu, Backend::Vulkan, 0x1002, "AMD Radeon 780M"), Class::Amd);
        assert_eq!(of(DeviceType::IntegratedGpu, Backend::Dx12, 0x8086, "Intel Arc"), Class::Intel);
        assert_eq!(of(DeviceType::IntegratedGpu, Backend::Metal, 0, "Apple M4 Pro"), Class::Apple);
        assert_eq!(of(DeviceType::DiscreteGpu, Backend::Metal, 0x1002, "AMD Radeon Pro"), Class::Amd);
        assert_eq!(of(DeviceType::Cpu, Backend::Vulkan, 0x10005, "llvmpipe"), Class::Software);
        assert_eq!(of(DeviceType::IntegratedGpu, Backend::Vulkan, 0x13b5, "Mali-G720"), Class::Unknown);
    }
}
