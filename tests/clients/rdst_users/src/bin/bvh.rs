//! Bounding volume hierarchies of obvhs over random triangles: `bvh [POWER [REPS]]` for 2^POWER triangles.
//!
//! obvhs sorts the triangles by Morton codes. Equal codes may come in any order, so two hierarchies may differ; the nearest hits of rays may not.

use glam::{Vec3A, vec3a};
use obvhs::bvh2::builder::build_bvh2;
use obvhs::ray::{Ray, RayHit};
use obvhs::triangle::Triangle;
use obvhs::{BvhBuildParams, bvh2::Bvh2};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rdst_users::report;
use std::time::Duration;

/// Rays whose nearest hits are compared.
const RAYS: usize = 20_000;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let (power, reps): (u32, usize) = (arguments.next().unwrap_or(20) as u32, arguments.next().unwrap_or(3));
    let mut rng = SmallRng::seed_from_u64(1);
    let mut point = |radius: f32| Vec3A::from_array(std::array::from_fn(|_| rng.random_range(-radius..radius)));
    let triangles: Vec<Triangle> = (0..1_usize << power)
        .map(|_| {
            let center = point(100.0);
            Triangle { v0: center + point(0.3), v1: center + point(0.3), v2: center + point(0.3) }
        })
        .collect();
    let rays: Vec<Ray> = (0..RAYS).map(|_| Ray::new_inf(point(100.0), point(1.0).normalize_or(vec3a(1.0, 0.0, 0.0)))).collect();
    for (name, params) in [("fastest build", BvhBuildParams::fastest_build()), ("medium build", BvhBuildParams::medium_build())] {
        let build = |_| build_bvh2(&triangles, params, &mut Duration::default());
        let built = build(());
        let hits: Vec<u32> = rays.iter().map(|&ray| nearest(&built, &triangles, ray)).collect();
        for (&ray, &hit) in rays.iter().zip(&hits).take(20) {
            let all = triangles.iter().map(|triangle| triangle.intersect(&ray)).fold(f32::INFINITY, f32::min);
            assert_eq!(f32::from_bits(hit), all, "the nearest hit of {ray:?}");
        }
        // The hierarchy is not part of the result, but is built in the time.
        report(
            &format!("obvhs, 2^{power} triangles, {name}"),
            reps,
            || (),
            |()| {
                std::hint::black_box(build(()));
                &hits
            },
        );
    }
}

/// Returns the bits of the distance to the nearest hit.
fn nearest(bvh: &Bvh2, triangles: &[Triangle], ray: Ray) -> u32 {
    let mut hit = RayHit::none();
    bvh.ray_traverse(ray, &mut hit, |ray, id| triangles[bvh.primitive_indices[id] as usize].intersect(ray));
    hit.t.to_bits()
}
