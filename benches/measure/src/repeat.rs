//! Work that is repeated for a time.

use std::time::{Duration, Instant};

/// The time for which a GPU works before it is timed: the clock rate of an idle device is low.
pub const WARM_UP: Duration = Duration::from_millis(500);

/// Repeats `work` until [`WARM_UP`] has passed. `work` waits for the device.
///
/// # Errors
/// The first error of `work`.
pub fn warm_up<E>(work: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    repeat(1, WARM_UP, work).map(drop)
}

/// Repeats `work` until it ran `least` times and `time` has passed. Returns the time that all of it took.
///
/// # Errors
/// The first error of `work`, which then does not run again.
pub fn repeat<E>(least: usize, time: Duration, mut work: impl FnMut() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    let mut runs = 0;
    while runs < least || start.elapsed() < time {
        work()?;
        runs += 1;
    }
    Ok(start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_lasts_at_least_its_time() {
        let (start, mut runs) = (Instant::now(), 0);
        let work = || {
            runs += 1;
            std::thread::sleep(Duration::from_millis(20));
            Ok::<_, ()>(())
        };
        assert_eq!(warm_up(work), Ok(()));
        assert!(start.elapsed() >= Duration::from_millis(500), "{:?}", start.elapsed());
        assert!((2..=25).contains(&runs), "{runs}");
    }

    #[test]
    fn work_runs_often_enough_and_stops_at_an_error() {
        let mut runs = 0;
        let mut once = || {
            runs += 1;
            if runs == 7 { Err(runs) } else { Ok(()) }
        };
        assert!(repeat(3, Duration::ZERO, &mut once).is_ok());
        assert_eq!(repeat(100, Duration::ZERO, &mut once), Err(7));
        assert_eq!(runs, 7);
    }
}
