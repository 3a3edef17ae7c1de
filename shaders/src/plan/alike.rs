//! Which sorts use the same kernels.

use super::facts::Facts;
use super::request::{Algorithm, Request};
use super::{shapes, tuning};

impl Facts {
    /// Returns the smallest number of keys whose sort uses the same kernels as `request`. A self-test of these kernels needs
    /// no more keys. One constant may differ: the keys per thread of the histogram. Returns 1 for gathers and selections,
    /// whose kernels are the same for all lengths. A sort that follows a selection is a request of its own.
    pub fn least_alike(&self, request: &Request) -> u64 {
        if request.top.is_some() || request.gather.is_some() {
            return 1;
        }
        let has_single = request.segments.is_none() && request.runs.is_none();
        let singles = has_single.then(|| self.single_steps(request)).into_iter().flatten();
        let shapes = tuning::steps(self.class).chain(singles).take_while(|_| self.unrolls());
        let counted = self.count_16().filter(|_| request.key_bits == 16 && Algorithm::Counting.sorts(request));
        shapes.chain(counted).filter(|&step| step <= request.max).max().unwrap_or(1)
    }

    /// Returns the numbers of keys at which the shape of the single launch changes. From the last one on, there may be no
    /// single launch, and its loops may not be unrolled.
    fn single_steps(&self, request: &Request) -> impl Iterator<Item = u64> {
        let next = |&step: &u64| {
            let single = shapes::single(request, step, self).ok().filter(|_| request.algorithm.is_none())?;
            Some(u64::from(single.tile()?) + 1).filter(|&next| next > step)
        };
        core::iter::successors(Some(1), next).skip(1)
    }
}
