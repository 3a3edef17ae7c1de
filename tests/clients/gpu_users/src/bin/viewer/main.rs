//! Draws one scene of Gaussian splats with the sort of wgpu-3dgs-viewer and with polysort in its place. Compares the pictures and the times.
//!
//!     viewer SPLATS SIDE FRAMES FOLDER
//!
//! The scene has SPLATS splats, a picture has SIDE × SIDE pixels, and each time is the median of FRAMES frames. The pictures go to FOLDER, as PNG files.
//! Everything around the sort is the viewer's own code: its preprocessor writes the depth and the index of each visible splat and their number, all on the
//! device, and its renderer draws the splats in the order of the indices. Up to a million splats have different depths, so the pictures must be equal, and do not show
//! whether a sort is stable.

mod picture;
mod scene;

use anyhow::{Context, Result, ensure};
use glam::UVec2;
use gpu_users::Gpu;
use picture::Target;
use polysort_wgpu::{Ask, Count, DeviceSorter, Prepared};
use std::path::PathBuf;
use std::time::Instant;
use wgpu_3dgs_viewer::Viewer;
use wgpu_3dgs_viewer::core::BufferWrapper;

/// Where splats of the same depth come in another order, a channel of 8 bits may differ by so much.
const MOST_DIFFERENCE: u8 = 8;

/// The largest share of pixels that may differ so.
const MOST_PIXELS: f64 = 0.001;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |name| -> Result<u32> { Ok(arguments.next().with_context(|| format!("{name} is missing"))?.parse()?) };
    let (splats, side, frames) = (number("SPLATS")?, number("SIDE")?, number("FRAMES")?);
    let folder = PathBuf::from(arguments.next().context("FOLDER is missing")?);
    std::fs::create_dir_all(&folder)?;

    let Gpu { device, queue, .. } = gpu_users::open()?;
    let size = UVec2::splat(side);
    let mut viewer = Viewer::<scene::Pod>::new(&device, picture::FORMAT, &scene::splats(splats))?;
    viewer.update_camera(&queue, &scene::camera(), size);
    scene::show(&mut viewer, &queue);

    let started = Instant::now();
    let sorter = DeviceSorter::new(&device, &queue)?;
    let (depths, indices) = (viewer.gaussians_depth_buffer.buffer(), viewer.indirect_indices_buffer.buffer());
    // The arguments of the draw: the second word is the number of visible splats.
    // The sort is a small part of a frame: a short wait for the first one matters more.
    let visible = Ask::up_to(splats).counted_by(viewer.indirect_args_buffer.buffer(), 1).quick_to_compile();
    let sort = sorter.prepare_sort_pairs::<f32, u32>(depths, indices, visible)?;
    println!("prepared in {:.3} s", started.elapsed().as_secs_f64());

    let target = Target::new(&device, &queue, side);
    // Returns how long the device takes, in seconds.
    let draw = |order: Order<'_>| -> Result<f64> {
        let mut encoder = device.create_command_encoder(&Default::default());
        frame(&viewer, order, &mut encoder, target.view())?;
        let started = Instant::now();
        queue.submit([encoder.finish()]);
        device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(started.elapsed().as_secs_f64())
    };
    let picture = |name: &str, order| -> Result<Vec<u8>> {
        draw(order)?;
        let picture = target.read()?;
        picture::save(&picture, side, &folder.join(format!("{name}.png")))?;
        Ok(picture)
    };
    let theirs = picture("viewer", Order::Viewer)?;
    let again = picture("viewer-again", Order::Viewer)?;
    let ours = picture("polysort", Order::Polysort(&sort))?;
    let unsorted = picture("unsorted", Order::None)?;

    let all = theirs.len() / 4;
    let drawn = theirs.chunks(4).filter(|pixel| pixel[..3] != [0; 3]).count();
    ensure!(4 * drawn > all, "{drawn} of {all} pixels have a color: most of the scene is missing");
    // The viewer's preprocessor writes splats in an order that may differ from frame to frame, so splats of the same depth may change places.
    let (pixels, _) = picture::report("the viewer's sort, drawn twice", &theirs, &again);
    ensure!(splats > scene::MOST_DIFFERENT || pixels == 0, "the viewer's own pictures differ");
    let (pixels, most) = picture::report("the viewer's sort and polysort", &theirs, &ours);
    let is_bounded = most <= MOST_DIFFERENCE && pixels as f64 <= MOST_PIXELS * all as f64;
    ensure!(if splats <= scene::MOST_DIFFERENT { pixels == 0 } else { is_bounded }, "the pictures differ");
    let (pixels, _) = picture::report("the viewer's sort and none", &theirs, &unsorted);
    ensure!(4 * pixels > drawn, "the picture hardly depends on the order");

    let mut times = [vec![], vec![]];
    for _ in 0..frames {
        times[0].push(draw(Order::Viewer)?);
        times[1].push(draw(Order::Polysort(&sort))?);
    }
    let [theirs, ours] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        1e3 * times[times.len() / 2]
    });
    println!("{splats} splats, {side} x {side}: a frame takes {theirs:.2} ms with the viewer's sort, {ours:.2} ms with polysort");
    Ok(())
}

/// What puts the splats in the order of their depth.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// The viewer's own sort.
    Viewer,
    Polysort(&'a Prepared),
    /// Nothing: they are drawn as they come.
    None,
}

/// Records one frame.
fn frame(
    viewer: &Viewer<scene::Pod>,
    order: Order<'_>,
    encoder: &mut wgpu::CommandEncoder,
    view: &wgpu::TextureView,
) -> Result<()> {
    viewer.preprocessor.preprocess(encoder, viewer.gaussians_buffer.len() as u32);
    match order {
        Order::Viewer => viewer.radix_sorter.sort(encoder, &viewer.radix_sort_indirect_args_buffer),
        Order::Polysort(sort) => sort.record_in(encoder, Count::OnDevice)?,
        Order::None => {}
    }
    viewer.renderer.render(encoder, view, &viewer.indirect_args_buffer);
    Ok(())
}
