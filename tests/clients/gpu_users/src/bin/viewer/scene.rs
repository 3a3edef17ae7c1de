//! A scene of splats: a ball, a ring around it, and a floor, each splat at a depth of its own.

use glam::{Quat, U8Vec4, Vec3};
use std::f32::consts::TAU;
use wgpu_3dgs_viewer::core::{
    Gaussian, GaussianDisplayMode, GaussianMaxStdDev, GaussianPodWithShNoneCov3dSingleConfigs, GaussianShDegree,
};
use wgpu_3dgs_viewer::{Camera, Viewer};

/// How the device has a splat: without directions of color, which say nothing about a sort.
pub type Pod = GaussianPodWithShNoneCov3dSingleConfigs;

/// Up to so many splats, no two have the same depth.
pub const MOST_DIFFERENT: u32 = 1_000_000;

/// Distances from the camera between which splats lie.
const NEAR: f32 = 1.2;
const FAR: f32 = 40.0;

/// The camera looks along the z axis from its origin.
pub fn camera() -> Camera {
    Camera::new(1.0..100.0, 60_f32.to_radians())
}

/// `count` splats, in an order that says nothing about their depth.
///
/// The device computes the depth as 1 − z, where z is the coordinate after projection: a function of the distance d that grows as −1/d. So splats whose 1/d are
/// evenly spaced have depths that are evenly spaced. The depths of up to [`MOST_DIFFERENT`] splats differ by ten times the precision of an `f32` or more.
pub fn splats(count: u32) -> Vec<Gaussian> {
    let size = 1.2 / (count as f32).sqrt();
    (0..count).map(|index| splat(index, count, size)).collect()
}

fn splat(index: u32, count: u32, size: f32) -> Gaussian {
    // The multiplier is a prime number, so each place comes once.
    let place = (u64::from(index) * 2_654_435_761 % u64::from(count)) as f32 / count as f32;
    let distance = 1.0 / (1.0 / NEAR + place * (1.0 / FAR - 1.0 / NEAR));
    let [a, b, c] = [1, 2, 3].map(|salt| random(index, salt));
    let angle = TAU * a;
    // Within the picture at any distance: directions, not positions.
    let (direction, color) = match index % 3 {
        0 => (0.28 * b.sqrt() * Vec3::new(angle.cos(), angle.sin(), 0.0), Vec3::new(0.9, 0.2 + 0.5 * b, 0.15)),
        1 => ((0.40 + 0.05 * b) * Vec3::new(angle.cos(), 0.5 * angle.sin(), 0.0), Vec3::new(0.2, 0.5, 0.6 + 0.4 * b)),
        _ => (Vec3::new(1.1 * (a - 0.5), -0.35 - 0.2 * b, 0.0), Vec3::new(0.3 + 0.3 * b, 0.6, 0.25)),
    };
    let color = 255.0 * color * (0.6 + 0.4 * c);
    Gaussian {
        rot: Quat::from_rotation_z(angle),
        pos: distance * (direction + VIEW),
        color: U8Vec4::new(color.x as u8, color.y as u8, color.z as u8, 96 + (128.0 * c) as u8),
        sh: [Vec3::ZERO; 15],
        scale: distance * size * Vec3::new(1.0 + b, 1.0, 1.0),
    }
}

/// The direction in which the camera looks.
const VIEW: Vec3 = Vec3::new(0.0, 0.0, 1.0);

/// A number from 0 to 1 that looks random.
fn random(index: u32, salt: u32) -> f32 {
    let mixed = (index.wrapping_mul(3) + salt).wrapping_mul(0x9e37_79b9);
    let mixed = (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca6b);
    ((mixed ^ mixed >> 13) >> 8) as f32 / (1 << 24) as f32
}

/// Tells the viewer to draw whole splats, without directions of color.
pub fn show(viewer: &mut Viewer<Pod>, queue: &wgpu::Queue) {
    let degree = GaussianShDegree::new(0).expect("a degree");
    let deviations = GaussianMaxStdDev::new(3.0).expect("a width");
    viewer.update_model_transform(queue, Vec3::ZERO, Quat::IDENTITY, Vec3::ONE);
    viewer.update_gaussian_transform(queue, 1.0, GaussianDisplayMode::Splat, degree, false, deviations);
}
