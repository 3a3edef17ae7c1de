//! The times of trials, and their percentiles.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Runs `work` once, and returns its time and its result.
#[inline]
pub fn timed<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let start = Instant::now();
    let result = black_box(work());
    (start.elapsed(), result)
}

/// The times of trials, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut times: Vec<Duration> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

impl Times {
    /// Returns the number of trials.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the smallest time that at least `percent` % of the trials did not exceed; zero without trials. 0 gives the shortest time, and 100 the longest.
    pub fn percentile(&self, percent: usize) -> Duration {
        percentile(&self.0, percent)
    }

    /// Returns the median. Of an even number of trials, it is the shorter one of the two in the middle.
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// Returns the five times of a record's row, in nanoseconds: the median, the 5th and the 95th percentile, the shortest and the longest time. Each
    /// trial made `calls` calls, and the times are those of one call.
    pub fn of_one(&self, calls: usize) -> [u64; 5] {
        [50, 5, 95, 0, 100].map(|percent| (self.percentile(percent).as_nanos() as f64 / calls as f64).round() as u64)
    }

    /// Returns what the median trial processed per nanosecond, if a trial processes `amount`: 10⁹ keys or bytes per second.
    pub fn per_nanosecond(&self, amount: f64) -> f64 {
        amount / self.median().as_nanos().max(1) as f64
    }
}

/// Returns the median of numbers, such as ratios of times; zero if there are none. Of an even number, it is the smaller one of the two in the middle.
pub fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    percentile(&numbers, 50)
}

fn percentile<T: Copy + Default>(ascending: &[T], percent: usize) -> T {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    ascending.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(nanos: impl IntoIterator<Item = u64>) -> Times {
        nanos.into_iter().map(Duration::from_nanos).collect()
    }

    #[test]
    fn percentiles_are_times_of_trials() {
        let of = |nanos: &[u64]| [5, 50, 95].map(|percent| times(nanos.iter().copied()).percentile(percent).as_nanos());
        assert_eq!(of(&(1..=100).rev().collect::<Vec<_>>()), [5, 50, 95]);
        assert_eq!(of(&[3]), [3, 3, 3]);
        assert_eq!(of(&[9, 1, 2]), [1, 2, 9]);
        assert_eq!(of(&[]), [0, 0, 0]);
    }

    #[test]
    fn a_median_of_an_even_number_is_the_smaller_one_in_the_middle() {
        assert_eq!(times([4, 1, 3, 2]).median(), Duration::from_nanos(2));
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), 2.0);
        assert_eq!((median([7.0, 1.0, 2.0]), median([0.5]), median([])), (2.0, 0.5, 0.0));
    }

    #[test]
    fn a_row_has_the_times_of_one_call() {
        assert_eq!(times([1000, 3000, 2000, 9000]).of_one(1), [2000, 1000, 9000, 1000, 9000]);
        // 2000 / 1024 is 1.95.
        assert_eq!(times([2000]).of_one(1024), [2; 5]);
        assert_eq!(times([2000, 1000, 4000]).per_nanosecond(500.0), 0.25);
    }
}
