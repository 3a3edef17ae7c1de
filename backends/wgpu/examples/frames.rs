//! A program that draws frames, and prepares a sort meanwhile: how much longer do its frames take?
//!
//!   frames KEYS async|blocking     KEYS: the number of pairs that the sort is prepared for
//!
//! Each frame clears a picture, and waits for the device. After 10 frames, the program prepares a sort of pairs: `async` polls the future of
//! `prepare_sort_pairs_async` once a frame, `blocking` calls `prepare_sort_pairs`. Once the sort is prepared, each frame sorts. All keys are 0, so no pass
//! runs: this phase shows only that the frames go on. One line for each phase: the number of its frames, and the median and the longest of them in milliseconds. The driver keeps compiled kernels for later processes; NVIDIA's driver begins anew
//! with the environment variable `__GL_SHADER_DISK_CACHE_PATH` set to an empty folder.

mod device;

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use polysort_core::Error;
use polysort_measure::{Times, timed};
use polysort_wgpu::wgpu::{
    Extent3d, LoadOp, Operations, RenderPassColorAttachment, RenderPassDescriptor, StoreOp, TextureDescriptor, TextureDimension,
    TextureFormat, TextureUsages, TextureView,
};
use polysort_wgpu::{Ask, Config, Count, DeviceSorter, Prepared, WgpuBackend};
use std::time::Duration;

/// Frames before the program prepares the sort, and after the sort is prepared.
const BEFORE: usize = 10;
const AFTER: usize = 50;

/// Draws a frame, with a sort if there is one, and waits for the device.
fn draw(backend: &WgpuBackend, picture: &TextureView, sort: Option<(&Prepared, u32)>) -> Result<(), Error> {
    let mut encoder = backend.device().create_command_encoder(&Default::default());
    if let Some((sort, keys)) = sort {
        sort.record_in(&mut encoder, Count::Fixed(keys))?;
    }
    let cleared = RenderPassColorAttachment {
        view: picture,
        depth_slice: None,
        resolve_target: None,
        ops: Operations { load: LoadOp::Clear(Default::default()), store: StoreOp::Store },
    };
    drop(encoder.begin_render_pass(&RenderPassDescriptor { color_attachments: &[Some(cleared)], ..Default::default() }));
    backend.queue().submit([encoder.finish()]);
    device::wait(backend).expect("the device is there");
    Ok(())
}

/// Adds the time of `frame` to `frames`.
fn add<T>(frames: &mut Vec<Duration>, frame: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let (time, result) = timed(frame);
    frames.push(time);
    result
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [keys, how] = &arguments[..] else { panic!("usage: frames KEYS async|blocking") };
    let keys: u32 = keys.parse().expect("KEYS is a number");
    let backend = WgpuBackend::open_with(Config::from_env())?;
    let [depths, splats] = [(); 2].map(|()| device::buffer(&backend, 4 * keys as usize));
    let picture = backend.device().create_texture(&TextureDescriptor {
        label: None,
        size: Extent3d { width: 1920, height: 1080, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format: TextureFormat::Rgba8Unorm,
        usage: TextureUsages::RENDER_ATTACHMENT,
        view_formats: &[],
    });
    let picture = picture.create_view(&Default::default());
    let sorter = DeviceSorter::new(backend.device(), backend.queue())?;

    let (mut before, mut preparing, mut after) = (vec![], vec![], vec![]);
    for _ in 0..BEFORE {
        add(&mut before, || draw(&backend, &picture, None))?;
    }
    let mut call = pin!(sorter.prepare_sort_pairs_async::<f32, u32>(&depths, &splats, Ask::up_to(keys)));
    let sort = loop {
        let frame = || {
            draw(&backend, &picture, None)?;
            match &**how {
                "async" => polled(call.as_mut()),
                "blocking" => sorter.prepare_sort_pairs::<f32, u32>(&depths, &splats, Ask::up_to(keys)).map(Some),
                _ => panic!("neither async nor blocking: {how}"),
            }
        };
        if let Some(sort) = add(&mut preparing, frame)? {
            break sort;
        }
    };
    for _ in 0..AFTER {
        add(&mut after, || draw(&backend, &picture, Some((&sort, keys))))?;
    }
    for (phase, frames) in [("before", before), ("preparing", preparing), ("sorting", after)] {
        let (count, ms) = (frames.len(), |time: Duration| time.as_secs_f64() * 1e3);
        let (together, frames) = (ms(frames.iter().sum()), frames.into_iter().collect::<Times>());
        let (median, longest) = (ms(frames.median()), ms(frames.percentile(100)));
        println!("{how},{phase},{count} frames,{together:.1} ms together,median {median:.2} ms,longest {longest:.2} ms");
    }
    Ok(())
}

/// Returns the result of a call if it has ended.
fn polled<T>(call: Pin<&mut impl Future<Output = Result<T, Error>>>) -> Result<Option<T>, Error> {
    match call.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result.map(Some),
        Poll::Pending => Ok(None),
    }
}
