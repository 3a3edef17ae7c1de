//! Buffers for uploads in the memory of the host.
//!
//! wgpu places mapped buffers for uploads in the memory of a GPU that has its own, if Vulkan lets the host write there. Then the cores of the host
//! write through PCIe in small packets. A GPU that reads the memory of the host uses large packets: a sort of 2^28 `u32` of the host takes 75 ms instead
//! of 83 on an H200. For short slices, which the GPU copies only when the host has filled a buffer, both ways take equal times.

use wgpu::{Buffer, Device};

/// Returns a mapped buffer for uploads of `bytes` bytes, a multiple of 4; `None` if the device is not one of Vulkan, or fails.
#[cfg(all(feature = "vulkan", any(target_os = "linux", target_os = "windows")))]
#[allow(unsafe_code, reason = "wgpu itself does not let a caller choose the memory")]
pub(crate) fn mapped(device: &Device, label: &str, bytes: u64) -> Option<Buffer> {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use wgpu::hal::{self, Device as _, api::Vulkan};
    use wgpu::{BufferDescriptor, BufferUsages, BufferUses, MapMode, PollType};

    if bytes == 0 {
        return None;
    }
    // hal places buffers that the host reads in memory that the host reads fast, which is its own.
    let usage = BufferUses::MAP_READ | BufferUses::COPY_SRC;
    let descriptor = hal::BufferDescriptor { label: Some(label), size: bytes, usage, memory_flags: hal::MemoryFlags::empty() };
    // SAFETY: this function destroys nothing of hal's.
    let of_hal = unsafe { device.as_hal::<Vulkan>() }?;
    // SAFETY: a buffer may have any size but 0, and these usages.
    let buffer = unsafe { of_hal.create_buffer(&descriptor) }.ok()?;
    drop(of_hal);
    let usage = BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC;
    let descriptor = BufferDescriptor { label: Some(label), size: bytes, usage, mapped_at_creation: false };
    // SAFETY: the buffer is one of this device, has this size, which is not 0, and suits these usages: Vulkan has no usage for mappings. The host
    // writes all bytes below, before anything can read one.
    let buffer = unsafe { device.create_buffer_from_hal::<Vulkan>(buffer, &descriptor) };
    let is_mapped = Arc::new(AtomicBool::new(false));
    let noted = is_mapped.clone();
    buffer.map_async(MapMode::Write, .., move |result| noted.store(result.is_ok(), Ordering::Release));
    // No command uses the buffer, so the first poll maps it.
    device.poll(PollType::Poll).ok()?;
    if !is_mapped.load(Ordering::Acquire) {
        return None;
    }
    buffer.get_mapped_range_mut(..).ok()?.slice(..).fill(0);
    Some(buffer)
}

#[cfg(not(all(feature = "vulkan", any(target_os = "linux", target_os = "windows"))))]
pub(crate) fn mapped(_: &Device, _: &str, _: u64) -> Option<Buffer> {
    None
}
