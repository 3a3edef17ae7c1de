//! Measures what sorts cost on this machine, and stores that, together with the pass shapes that were found for its GPUs.

mod file;
mod times;

pub(crate) use file::load;

use crate::costs::{Costs, Measured};
use crate::{Backend, Error, RayonBackend};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use times::{Times, time_words};

/// What [`calibrate`] measured: the cost of sorts of each size of key and payload, on the CPU and on the GPU of this machine.
#[derive(Clone, Debug)]
pub struct Calibration(Measured);

impl Calibration {
    /// The budget of [`calibrate`] that suits most machines.
    pub const BUDGET: Duration = Duration::from_secs(20);

    /// Returns the path of the file that [`store`](Calibration::store) writes and that [`Auto`](crate::Auto) reads: the value of the
    /// environment variable `POLYSORT_CALIBRATION`, or `polysort/calibration` in the user's cache folder.
    ///
    /// # Errors
    /// If there is no cache folder, or if the path names something that must not be replaced: a folder, a FIFO, a device, or a file
    /// that is no calibration.
    pub fn path() -> io::Result<PathBuf> {
        file::path()
    }

    /// Stores the calibration for [`Auto`](crate::Auto), which reads it when it is opened. Stored pass shapes of GPUs are kept.
    /// Returns the [path](Calibration::path) of the file.
    ///
    /// # Errors
    /// Those of [`Calibration::path`], and if the file cannot be written. The file is then as it was.
    pub fn store(&self) -> io::Result<PathBuf> {
        file::change(|stored| stored.measured = Some(self.0.clone()))
    }
}

/// Returns the pass shapes that are stored for the device of a backend.
#[cfg(feature = "wgpu")]
pub fn stored_tuned(backend: &crate::AnyBackend) -> crate::gpu::Tuned {
    load().and_then(|stored| stored.tuned.get(&backend.device()).copied()).unwrap_or_default()
}

/// Stores pass shapes for the device of a backend, in place of those that are stored for it. [`Auto`](crate::Auto) reads them when it is
/// opened. Returns the path of the file, which is that of [`Calibration::store`]; a stored calibration is kept.
///
/// # Errors
/// Those of [`Calibration::store`].
#[cfg(feature = "wgpu")]
pub fn store_tuned(backend: &crate::AnyBackend, tuned: crate::gpu::Tuned) -> io::Result<PathBuf> {
    let device = backend.device();
    file::change(|stored| {
        stored.tuned.remove(&device);
        if tuned != crate::gpu::Tuned::NONE {
            stored.tuned.insert(device, tuned);
        }
    })
}

/// Measures the CPU and the GPU that [`Auto`](crate::Auto) would use, each of them for at most `budget`.
///
/// Short sorts are measured first. If the budget ends before the longest, their cost is estimated from the longest that was measured, in
/// proportion to the number of keys. If it ends during the shortest sorts on the GPU, the GPU is left out; those on the CPU, which take
/// about half a second, are always measured.
///
/// A GPU may take longer than the budget to compile for a single sort. The call then returns at the end of the budget, and a thread in
/// the background ends when that sort does. The CPU exceeds the budget only by what a sort takes longer than estimated.
///
/// `report` is called with a line of text before a device is measured, and again if its budget ended.
///
/// # Errors
/// If a device fails. A GPU that does not open is left out.
pub fn calibrate(budget: Duration, mut report: impl FnMut(&str)) -> Result<Calibration, Error> {
    let cpu = RayonBackend::global()?;
    let device = Device { name: cpu.name(), budget, begun: Instant::now() };
    let time = |len, key, payload| time_words(&cpu, len, key, payload).map(Some);
    let cores = device.measure(time, &mut report)?.expect("nothing stops the sorts on the CPU");
    #[cfg(feature = "wgpu")]
    let gpu = calibrate_gpu(budget, &mut report)?;
    #[cfg(not(feature = "wgpu"))]
    let gpu = None;
    Ok(Calibration(Measured { threads: cpu.threads(), cores, gpu }))
}

/// Measures the GPU. Returns none if there is none, or if it is left out.
#[cfg(feature = "wgpu")]
fn calibrate_gpu(budget: Duration, report: &mut impl FnMut(&str)) -> Result<Option<(String, Costs)>, Error> {
    let begun = Instant::now();
    let gpu = match within(budget, || crate::auto::preferred_gpu(&load().unwrap_or_default())) {
        Some(Ok(gpu)) => gpu,
        Some(Err(_)) => return Ok(None),
        None => {
            report(&format!("the GPU: stopped after {:.1} s: left out, since it did not open", begun.elapsed().as_secs_f64()));
            return Ok(None);
        }
    };
    let device = Device { name: gpu.name(), budget, begun };
    let time = |len, key, payload| {
        let gpu = gpu.clone();
        within(device.left(), move || time_words(&gpu, len, key, payload)).transpose()
    };
    Ok(device.measure(time, report)?.map(|costs| (gpu.name(), costs)))
}

/// A device that is measured within a budget.
struct Device {
    name: String,
    budget: Duration,
    /// When the budget began.
    begun: Instant,
}

impl Device {
    /// Measures the device with `time` (see [`Times::of_shortest`]), and reports that. Returns none if `time` stops during the shortest sorts.
    fn measure<E>(
        &self,
        mut time: impl FnMut(usize, usize, usize) -> Result<Option<f64>, E>,
        report: &mut impl FnMut(&str),
    ) -> Result<Option<Costs>, E> {
        let name = &self.name;
        report(&format!("measuring {name}, for at most {} s", self.budget.as_secs_f64()));
        let mut stopped = |why: &str| {
            let after = self.begun.elapsed().as_secs_f64();
            report(&format!("{name}: stopped after {after:.1} s: {why}; a larger budget measures them"));
        };
        let Some(mut times) = Times::of_shortest(&mut time)? else {
            stopped("left out, since not all of its shortest sorts were measured");
            return Ok(None);
        };
        if let Some(len) = times.add_longer(self.budget, || self.begun.elapsed(), time)? {
            stopped(&format!("costs of {len} keys and more are in part estimated"));
        }
        Ok(Some(times.costs()))
    }

    /// Returns what is left of the budget.
    #[cfg(feature = "wgpu")]
    fn left(&self) -> Duration {
        self.budget.saturating_sub(self.begun.elapsed())
    }
}

/// Runs `work` on a thread of its own. Returns none if it takes longer than `limit`; the thread then goes on in the background.
#[cfg(feature = "wgpu")]
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    let (sender, receiver) = channel();
    // If nobody waits any more, the result is not needed.
    let worker = std::thread::spawn(move || drop(sender.send(work())));
    match receiver.recv_timeout(limit) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("a worker that does not panic sends its result"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::LENGTHS;

    #[test]
    fn a_budget_that_ends_is_reported() -> Result<(), Error> {
        let device = Device { name: "A card".into(), budget: Calibration::BUDGET, begun: Instant::now() };
        let report = |slow: usize| {
            let mut lines = vec![];
            let time = |len: usize, _, _| Ok::<_, Error>((len < slow).then_some(1.0));
            let costs = device.measure(time, &mut |line: &str| lines.push(line.to_owned()))?;
            assert_eq!(lines.remove(0), "measuring A card, for at most 20 s");
            Ok::<_, Error>((costs.is_some(), lines))
        };
        let line = |why| vec![format!("A card: stopped after 0.0 s: {why}; a larger budget measures them")];
        assert_eq!(report(LENGTHS[0])?, (false, line("left out, since not all of its shortest sorts were measured")));
        assert_eq!(report(LENGTHS[1])?, (true, line("costs of 16384 keys and more are in part estimated")));
        assert_eq!(report(usize::MAX)?, (true, vec![]));
        Ok(())
    }

    #[test]
    #[cfg(feature = "wgpu")]
    fn work_that_takes_too_long_is_not_waited_for() {
        let (limit, begun) = (Duration::from_millis(50), Instant::now());
        let forever = std::sync::Arc::new(std::sync::Barrier::new(2));
        let work = std::sync::Arc::clone(&forever);
        assert_eq!(within(limit, move || work.wait().is_leader()), None);
        assert!((limit..1000 * limit).contains(&begun.elapsed()));
        // The thread went on in the background.
        forever.wait();
        assert_eq!(within(Duration::from_secs(60), || 7), Some(7));
        assert!(std::panic::catch_unwind(|| within(Duration::from_secs(60), || panic!("on purpose"))).is_err());
    }
}
