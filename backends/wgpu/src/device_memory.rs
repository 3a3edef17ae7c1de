//! The memory that a GPU has of its own.

use wgpu::Device;

/// Returns the bytes of the largest heap of the device's own memory; `None` if wgpu does not use Vulkan for the device.
#[cfg(all(feature = "vulkan", any(target_os = "linux", target_os = "windows")))]
#[allow(unsafe_code, reason = "wgpu itself does not report how much memory a device has")]
pub(crate) fn bytes(device: &Device) -> Option<u64> {
    /// `VK_MEMORY_HEAP_DEVICE_LOCAL_BIT`.
    const DEVICE_LOCAL: u32 = 1;

    // SAFETY: this function neither destroys the device nor keeps a handle after `of_hal` is dropped.
    let of_hal = unsafe { device.as_hal::<wgpu::hal::api::Vulkan>() }?;
    let instance = of_hal.shared_instance().raw_instance();
    // SAFETY: the physical device is one of this instance. `of_hal` keeps both alive.
    let memory = unsafe { instance.get_physical_device_memory_properties(of_hal.raw_physical_device()) };
    let heaps = memory.memory_heaps.iter().take(memory.memory_heap_count as usize);
    heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size).max()
}

#[cfg(not(all(feature = "vulkan", any(target_os = "linux", target_os = "windows"))))]
pub(crate) fn bytes(_: &Device) -> Option<u64> {
    None
}
