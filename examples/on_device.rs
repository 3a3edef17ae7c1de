//! Splats sorted by depth in a frame loop: positions, keys and indices never leave the GPU.
//!
//! Each frame, in one submission: a kernel writes the depth of every splat, the sort orders their indices from back to front, and a
//! render pass draws them in that order, off-screen. `POLYSORT_SOFTWARE_GPU=1` allows an adapter that runs on the CPU.

use polysort::Options;
use polysort::gpu::wgpu::{self, util::DeviceExt};
use polysort::gpu::{Ask, Config, Count, DeviceSorter, WgpuBackend};
use std::error::Error;

const SPLATS: u32 = 20_000;
const FRAMES: u32 = 5;
const SIZE: u32 = 128;

const KERNELS: &str = "
@group(0) @binding(0) var<uniform> angle: f32;
@group(0) @binding(1) var<storage, read> places: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> depths: array<f32>;
@group(0) @binding(3) var<storage, read_write> order: array<u32>;

fn turned(place: vec3<f32>) -> vec3<f32> {
    return vec3(cos(angle) * place.x + sin(angle) * place.z, place.y, cos(angle) * place.z - sin(angle) * place.x);
}

@compute @workgroup_size(64)
fn depth(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < arrayLength(&places)) {
        depths[id.x] = turned(places[id.x].xyz).z;
        order[id.x] = id.x;
    }
}";

const SHADERS: &str = "
@group(0) @binding(0) var<uniform> angle: f32;
@group(0) @binding(1) var<storage, read> places: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> order: array<u32>;

struct Corner {
    @builtin(position) position: vec4<f32>,
    @location(0) color: vec4<f32>,
}

@vertex
fn corner(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Corner {
    let splat = order[instance];
    let place = places[splat].xyz;
    let x = cos(angle) * place.x + sin(angle) * place.z;
    let offset = vec2(f32(vertex & 1u), f32(vertex >> 1u)) * 0.02 - 0.01;
    return Corner(vec4(vec2(x, place.y) + offset, 0.5, 1.0), vec4(unpack4x8unorm(splat * 2654435761u).rgb, 0.6));
}

@fragment
fn color(corner: Corner) -> @location(0) vec4<f32> {
    return corner.color;
}";

fn main() -> Result<(), Box<dyn Error>> {
    // Any device will do; this one is opened by the backend to keep the example short.
    let mut config = Config::default();
    config.software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some_and(|value| value == "1");
    let backend = WgpuBackend::open_with(config)?;
    let (device, queue) = (backend.device(), backend.queue());

    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let place = |i: u32| {
        let part = |step: u32| (i.wrapping_mul(step) >> 8) as f32 / (1 << 23) as f32 - 1.0;
        [part(2_654_435_761), part(2_246_822_519), part(3_266_489_917), 1.0]
    };
    let places: Vec<[f32; 4]> = (0..SPLATS).map(place).collect();
    let filled = |contents, usage| device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage });
    let places = filled(bytemuck::cast_slice(&places), storage);
    let angle = filled(&[0; 4], wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
    let empty = |usage| {
        let size = 4 * u64::from(SPLATS);
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
    };
    let (depths, order) = (empty(storage), empty(storage));

    // The sort: keys and values are the caller's buffers. Compiled, tested and bound here; each frame only records it.
    let sorter = DeviceSorter::new(device, queue)?;
    let back_to_front = Ask::up_to(SPLATS).options(Options::descending());
    let by_depth = sorter.prepare_sort_pairs::<f32, u32>(&depths, &order, back_to_front)?;

    let shader = |text: &'static str| wgpu::ShaderModuleDescriptor { label: None, source: wgpu::ShaderSource::Wgsl(text.into()) };
    let (kernels, shaders) = (device.create_shader_module(shader(KERNELS)), device.create_shader_module(shader(SHADERS)));
    let depth = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &kernels,
        entry_point: Some("depth"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let format = wgpu::TextureFormat::Rgba8Unorm;
    let draw = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState {
            module: &shaders,
            entry_point: Some("corner"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[],
        },
        fragment: Some(wgpu::FragmentState {
            module: &shaders,
            entry_point: Some("color"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format,
                blend: Some(wgpu::BlendState::ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        primitive: wgpu::PrimitiveState { topology: wgpu::PrimitiveTopology::TriangleStrip, ..Default::default() },
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        multiview_mask: None,
        cache: None,
    });
    let bind = |layout: &wgpu::BindGroupLayout, buffers: &[&wgpu::Buffer]| {
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
    };
    let depth_group = bind(&depth.get_bind_group_layout(0), &[&angle, &places, &depths, &order]);
    let draw_group = bind(&draw.get_bind_group_layout(0), &[&angle, &places, &order]);
    let target = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
        view_formats: &[],
    });
    let view = target.create_view(&wgpu::TextureViewDescriptor::default());

    for frame in 0..FRAMES {
        queue.write_buffer(&angle, 0, &(frame as f32 * 0.7).to_le_bytes());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&depth);
            pass.set_bind_group(0, &depth_group, &[]);
            pass.dispatch_workgroups(SPLATS.div_ceil(64), 1, 1);
            by_depth.record(&mut pass, Count::Fixed(SPLATS))?;
        }
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        pass.set_pipeline(&draw);
        pass.set_bind_group(0, &draw_group, &[]);
        pass.draw(0..4, 0..SPLATS);
        drop(pass);
        queue.submit([encoder.finish()]);

        // Only to show that it is right: a real program reads nothing back.
        let sorted: Vec<f32> = bytemuck::pod_collect_to_vec(&read(device, queue, &depths)?);
        assert!(sorted.is_sorted_by(|a, b| a >= b), "frame {frame} is not in order");
        println!("frame {frame}: {SPLATS} splats from {:.3} to {:.3}", sorted[0], sorted[sorted.len() - 1]);
    }
    Ok(())
}

fn read(device: &wgpu::Device, queue: &wgpu::Queue, buffer: &wgpu::Buffer) -> Result<Vec<u8>, Box<dyn Error>> {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let copy =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: buffer.size(), usage, mapped_at_creation: false });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, buffer.size());
    queue.submit([encoder.finish()]);
    copy.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the buffer can be mapped"));
    device.poll(wgpu::PollType::wait_indefinitely())?;
    Ok(copy.get_mapped_range(..)?.to_vec())
}
