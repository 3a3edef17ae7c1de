//! The device that a program shares with polysort.

use anyhow::{Result, ensure};
use polysort_wgpu::DeviceSorter;

pub struct Gpu {
    pub instance: wgpu::Instance,
    pub adapter: wgpu::Adapter,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

/// Opens the fastest adapter of this machine, with all of its limits and the features that polysort wants. Prints its name.
///
/// # Errors
/// If there is no adapter, or only one that runs on the CPU and `POLYSORT_SOFTWARE_GPU` is not set.
pub fn open() -> Result<Gpu> {
    pollster::block_on(async {
        let instance = wgpu::Instance::default();
        let options =
            wgpu::RequestAdapterOptions { power_preference: wgpu::PowerPreference::HighPerformance, ..Default::default() };
        let adapter = instance.request_adapter(&options).await?;
        let info = adapter.get_info();
        println!("adapter: {}", info.name);
        let may_be_software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some();
        ensure!(
            may_be_software || info.device_type != wgpu::DeviceType::Cpu,
            "no GPU; POLYSORT_SOFTWARE_GPU=1 allows a software GPU"
        );
        let descriptor = wgpu::DeviceDescriptor {
            required_features: DeviceSorter::wanted_features(&adapter),
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let (device, queue) = adapter.request_device(&descriptor).await?;
        Ok(Gpu { instance, adapter, device, queue })
    })
}
