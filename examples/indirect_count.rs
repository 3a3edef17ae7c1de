//! A sort of as many keys as a kernel before it has found: the number never comes to the host.
//!
//! A culling kernel keeps the particles that are alive and counts them; the sort reads the count where it lies.
//! `POLYSORT_SOFTWARE_GPU=1` allows an adapter that runs on the CPU.

use polysort::gpu::wgpu::{self, util::DeviceExt};
use polysort::gpu::{Ask, Config, Count, DeviceSorter, WgpuBackend};
use std::error::Error;

const PARTICLES: u32 = 100_000;

const CULL: &str = "
@group(0) @binding(0) var<storage, read> ages: array<u32>;
@group(0) @binding(1) var<storage, read_write> alive: array<u32>;
@group(0) @binding(2) var<storage, read_write> count: array<atomic<u32>>;

@compute @workgroup_size(64)
fn cull(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&ages) && ages[id.x] % 3u == 0u) {
        alive[atomicAdd(&count[1], 1u)] = ages[id.x];
    }
}";

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    config.software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some_and(|value| value == "1");
    let backend = WgpuBackend::open_with(config)?;
    let (device, queue) = (backend.device(), backend.queue());

    let ages: Vec<u32> = (0..PARTICLES).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let filled =
        |contents| device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage: storage });
    let (input, count) = (filled(bytemuck::cast_slice(&ages)), filled(&[0; 16]));
    let size = input.size();
    let alive = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage: storage, mapped_at_creation: false });

    // The second word of `count` is the number of keys; there is room for all of them.
    let sorter = DeviceSorter::new(device, queue)?;
    let sort = sorter.prepare_sort::<u32>(&alive, Ask::up_to(PARTICLES).counted_by(&count, 1))?;

    let source = wgpu::ShaderSource::Wgsl(CULL.into());
    let cull = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source }),
        entry_point: Some("cull"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffers = [&input, &alive, &count];
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let layout = cull.get_bind_group_layout(0);
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });

    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&cull);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(PARTICLES.div_ceil(64), 1, 1);
        sort.record(&mut pass, Count::OnDevice)?;
    }
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let copy = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    encoder.copy_buffer_to_buffer(&alive, 0, &copy, 0, size);
    queue.submit([encoder.finish()]);
    copy.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the buffer can be mapped"));
    device.poll(wgpu::PollType::wait_indefinitely())?;

    // Only to show that it is right.
    let mut expected: Vec<u32> = ages.into_iter().filter(|age| age % 3 == 0).collect();
    expected.sort_unstable();
    let sorted: Vec<u32> = bytemuck::pod_collect_to_vec(&copy.get_mapped_range(..)?);
    assert_eq!(sorted[..expected.len()], expected);
    println!("{} of {PARTICLES} particles are alive, and in order", expected.len());
    Ok(())
}
