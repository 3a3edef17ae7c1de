//! The centers of lists, by k-means.
//!
//! ```text
//! first centers   k-means++ on a sample: the next center is a point, drawn with a probability in proportion to its squared distance to the
//!                 nearest center so far
//! until no point changes its center, or the largest number of rounds
//!     each point is assigned to its nearest center  by the backend
//!     each center moves to the mean of its points
//!     a center without points takes the point that is farthest from its own center
//! ```

use crate::backend::{VectorSearch, VectorStore};
use crate::error::VectorError;
use crate::metric::Metric;
use crate::search::{Check, Search};
use crate::shape::Shape;
use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::index::sample;

/// The points per center from which the first centers are drawn. More points improve them little, and the time grows in proportion.
const DRAWN_FROM: usize = 16;

/// The most candidates of one call. It limits the memory of a search.
pub(super) const CANDIDATES: usize = 1 << 22;

/// Centers in a store of a backend.
pub(super) struct Centers<B: VectorSearch> {
    store: B::Store,
    assigned_by: Metric,
    pub(super) numbers: Vec<f32>,
}

/// Points with their nearest centers.
#[derive(Default)]
struct Assigned {
    centers: Vec<u32>,
    distances: Vec<f32>,
}

impl<B: VectorSearch> Centers<B> {
    /// Trains as many centers as `shape` has slots. There must be at least as many `points`.
    pub(super) fn train(
        backend: &B,
        shape: Shape,
        assigned_by: Metric,
        points: &[f32],
        iterations: usize,
        rng: &mut SmallRng,
    ) -> Result<Self, VectorError> {
        let mut store = backend.vector_store(shape)?;
        store.set_entries(&(0..shape.capacity as u32).collect::<Vec<u32>>())?;
        let numbers = first_centers(backend, shape.dimension, points, shape.capacity, rng)?;
        store.write(0, &numbers)?;
        let mut centers = Self { store, assigned_by, numbers };
        let mut last = vec![];
        for _ in 0..iterations {
            let mut assigned = Assigned::default();
            centers.assign(backend, points, |center, distance| {
                assigned.centers.push(center);
                assigned.distances.push(distance);
            })?;
            if assigned.centers == last {
                break;
            }
            centers.numbers = means(shape.dimension, points, shape.capacity, &assigned);
            centers.store.write(0, &centers.numbers)?;
            last = assigned.centers;
        }
        Ok(centers)
    }

    pub(super) fn count(&self) -> usize {
        self.store.shape().capacity
    }

    /// Calls `take` with the nearest center of each point and its distance, point by point.
    pub(super) fn assign(&self, backend: &B, points: &[f32], mut take: impl FnMut(u32, f32)) -> Result<(), VectorError> {
        self.nearest(backend, points, 1, self.assigned_by, |centers, distances| take(centers[0], distances[0]))
    }

    /// Calls `take` with the `k` nearest centers of each point and their distances, point by point.
    pub(super) fn nearest(
        &self,
        backend: &B,
        points: &[f32],
        k: usize,
        metric: Metric,
        mut take: impl FnMut(&[u32], &[f32]),
    ) -> Result<(), VectorError> {
        let (dimension, count) = (self.store.shape().dimension, self.count());
        let batch = (CANDIDATES / count).max(1);
        let most = batch.min(points.len() / dimension);
        let candidates = (0..count as u32).collect::<Vec<u32>>().repeat(most);
        let offsets: Vec<u32> = (0..=most).map(|point| (point * count) as u32).collect();
        for points in points.chunks(batch * dimension) {
            let taken = points.len() / dimension;
            let search = Search::new(points, &candidates[..taken * count], &offsets[..=taken]);
            let nearest = backend.nearest(&self.store, &search.metric(metric).check(Check::Device), k)?;
            for point in 0..taken {
                let (centers, distances) = nearest.of(point);
                take(centers, distances);
            }
        }
        Ok(())
    }
}

/// Draws centers from the points, far from each other (Arthur and Vassilvitskii, 2007).
fn first_centers<B: VectorSearch>(
    backend: &B,
    dimension: usize,
    points: &[f32],
    count: usize,
    rng: &mut SmallRng,
) -> Result<Vec<f32>, VectorError> {
    let drawn = drawn(dimension, points, count * DRAWN_FROM, rng);
    let points = drawn.len() / dimension;
    let all: Vec<u32> = (0..points as u32).collect();
    let mut store = backend.vector_store(Shape::new(dimension, points))?;
    store.write(0, &drawn)?;
    store.set_entries(&all)?;

    let mut centers = vec![];
    let mut distances = vec![f32::INFINITY; points];
    let mut next = rng.random_range(0..points);
    for left in (0..count).rev() {
        let center = &drawn[next * dimension..][..dimension];
        centers.extend_from_slice(center);
        // With the distance 0, this point is not drawn again, unless all distances are 0.
        distances[next] = 0.0;
        if left == 0 {
            break;
        }
        let found = backend.distances(&store, &Search::new(center, &all, &[0, points as u32]).check(Check::Device))?;
        let mut sum = 0.0;
        for (distance, &to_center) in distances.iter_mut().zip(&found.distances) {
            *distance = distance.min(to_center);
            sum += f64::from(*distance);
        }
        let mut rest = rng.random_range(0.0..1.0) * sum;
        let by_distance = distances.iter().position(|&distance| {
            rest -= f64::from(distance);
            rest < 0.0
        });
        next = by_distance.unwrap_or_else(|| rng.random_range(0..points));
    }
    Ok(centers)
}

/// Draws `count` of the vectors at random; returns all vectors if there are at most `count`.
pub(super) fn drawn(dimension: usize, vectors: &[f32], count: usize, rng: &mut SmallRng) -> Vec<f32> {
    let there = vectors.len() / dimension;
    if there <= count {
        return vectors.to_vec();
    }
    sample(rng, there, count).into_iter().flat_map(|at| &vectors[at * dimension..][..dimension]).copied().collect()
}

/// Returns the mean of the points of each center. A center without points becomes the point that is farthest from its own center, and that no other
/// such center has become.
fn means(dimension: usize, points: &[f32], count: usize, assigned: &Assigned) -> Vec<f32> {
    let (mut sums, mut counts) = (vec![0.0_f64; count * dimension], vec![0_usize; count]);
    for (point, &center) in points.chunks_exact(dimension).zip(&assigned.centers) {
        counts[center as usize] += 1;
        for (sum, &number) in sums[center as usize * dimension..].iter_mut().zip(point) {
            *sum += f64::from(number);
        }
    }
    let mut farthest: Vec<usize> = vec![];
    if counts.contains(&0) {
        farthest = (0..assigned.distances.len()).collect();
        farthest.sort_by(|&a, &b| assigned.distances[b].total_cmp(&assigned.distances[a]));
    }
    let mut farthest = farthest.into_iter();
    let mut means = Vec::with_capacity(count * dimension);
    for (sums, &count) in sums.chunks_exact(dimension).zip(&counts) {
        if count > 0 {
            means.extend(sums.iter().map(|&sum| (sum / count as f64) as f32));
        } else {
            // There are at least as many points as centers, so there is a point for each center without points.
            let point = farthest.next().expect("a point for each center");
            means.extend_from_slice(&points[point * dimension..][..dimension]);
        }
    }
    means
}
