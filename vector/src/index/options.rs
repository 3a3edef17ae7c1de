//! The options of an index.

use crate::metric::Metric;
use crate::precision::Precision;

/// The default number of vectors per list that training reads: more vectors do not move the centers much.
const SAMPLE: usize = 256;

/// The default maximum of rounds of training.
const ITERATIONS: usize = 20;

/// Options of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IvfOptions {
    pub(super) dimension: usize,
    pub(super) lists: usize,
    pub(super) metric: Metric,
    pub(super) precision: Precision,
    pub(super) seed: u64,
    pub(super) iterations: usize,
    pub(super) sample: usize,
}

impl IvfOptions {
    /// Returns options for vectors of `dimension` numbers in `lists` lists, with squared distances and single precision. A usual number of lists is
    /// the square root of the number of vectors.
    pub fn new(dimension: usize, lists: usize) -> Self {
        let (metric, precision) = (Metric::L2, Precision::F32);
        Self { dimension, lists, metric, precision, seed: 0, iterations: ITERATIONS, sample: SAMPLE }
    }

    /// Sets the metric of the distances. With [`Metric::Cosine`] training uses the directions of the vectors only.
    #[must_use]
    pub fn metric(self, metric: Metric) -> Self {
        Self { metric, ..self }
    }

    /// Sets the precision of the vectors in the store of the backend. Centers are always in single precision.
    #[must_use]
    pub fn precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// Sets the seed of the random choices of training. Equal seeds give equal lists on one backend.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the largest number of rounds of training; the default is 20.
    #[must_use]
    pub fn iterations(self, iterations: usize) -> Self {
        Self { iterations, ..self }
    }

    /// Sets the largest number of vectors per list that training reads. The default is 256, the minimum is 1.
    #[must_use]
    pub fn sample(self, sample: usize) -> Self {
        Self { sample: sample.max(1), ..self }
    }
}
