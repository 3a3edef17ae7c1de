//! What a frame is drawn to: a texture that the host reads.

use anyhow::Result;
use std::path::Path;

pub const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

pub struct Target<'a> {
    device: &'a wgpu::Device,
    queue: &'a wgpu::Queue,
    side: u32,
    texture: wgpu::Texture,
    view: wgpu::TextureView,
}

impl<'a> Target<'a> {
    /// A square of `side` × `side` pixels. A row of pixels fills whole parts of 256 bytes, as copies of textures want it.
    ///
    /// # Panics
    /// If `side` is not a multiple of 64.
    pub fn new(device: &'a wgpu::Device, queue: &'a wgpu::Queue, side: u32) -> Self {
        assert!(side.is_multiple_of(64), "a side of {side} pixels");
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width: side, height: side, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&Default::default());
        Self { device, queue, side, texture, view }
    }

    pub fn view(&self) -> &wgpu::TextureView {
        &self.view
    }

    /// The bytes of the pixels: red, green, blue and alpha of each, row by row.
    pub fn read(&self) -> Result<Vec<u8>> {
        let (side, size) = (self.side, u64::from(4 * self.side * self.side));
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let copy =
            self.device.create_buffer(&wgpu::BufferDescriptor { label: Some("copy"), size, usage, mapped_at_creation: false });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(4 * side), rows_per_image: None };
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo { buffer: &copy, layout },
            self.texture.size(),
        );
        self.queue.submit([encoder.finish()]);
        let (sender, receiver) = std::sync::mpsc::channel();
        copy.map_async(wgpu::MapMode::Read, .., move |result| sender.send(result).expect("a receiver"));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        receiver.recv()??;
        Ok(copy.get_mapped_range(..)?.to_vec())
    }
}

/// Writes a picture as a PNG file. The viewer's alpha is left out.
pub fn save(pixels: &[u8], side: u32, path: &Path) -> Result<()> {
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(std::fs::File::create(path)?), side, side);
    encoder.set_color(png::ColorType::Rgb);
    let colors: Vec<u8> = pixels.chunks(4).flat_map(|pixel| pixel[..3].iter().copied()).collect();
    encoder.write_header()?.write_image_data(&colors)?;
    Ok(())
}

/// Prints, and returns, how many pixels of two pictures differ, and the largest difference of a channel.
pub fn report(what: &str, one: &[u8], other: &[u8]) -> (usize, u8) {
    let most = one.iter().zip(other).map(|(one, other)| one.abs_diff(*other)).max().unwrap_or(0);
    let pixels = one.chunks(4).zip(other.chunks(4)).filter(|(one, other)| one != other).count();
    println!("{what}: {pixels} of {} pixels differ, by {most} of 255 at most", one.len() / 4);
    (pixels, most)
}
