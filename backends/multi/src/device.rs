//! One device: when a lost one is opened again, and what it has done so far.

use crate::report::DeviceReport;
use polysort_core::{Backend, DynBackend, Error};
use polysort_fallback::{Opened, Retry};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A device that calls share.
#[derive(Debug)]
pub(crate) struct Device {
    retry: Retry<DynBackend>,
    done: Mutex<DeviceReport>,
}

impl Device {
    pub(crate) fn new(backend: DynBackend) -> Self {
        // A name may depend on the thread that asks for it: that of a `RayonBackend` would start rayon's global pool here.
        Self { retry: Retry::of(Ok(backend)), done: Mutex::default() }
    }

    /// Returns the device for a call. Opens it again if it is lost and this call is to try.
    ///
    /// # Errors
    /// Why the call goes without it.
    pub(crate) fn open(&self) -> Result<Opened<DynBackend>, Error> {
        let reopen = |lost: Option<DynBackend>| lost.expect("only a lost device is opened again").reopen();
        self.retry.get(reopen).inspect_err(|why| {
            let mut done = self.done();
            done.absences += 1;
            done.last_failure = Some(why.clone());
        })
    }

    /// Notes how a part of so many bytes ended, after so much time.
    pub(crate) fn note(&self, opened: &Opened<DynBackend>, outcome: &Result<(), Error>, bytes: u64, time: Duration) {
        self.retry.note(opened, outcome, DynBackend::is_lost);
        let mut done = self.done();
        match outcome {
            Ok(()) => {
                done.parts += 1;
                done.bytes += bytes;
                done.time += time;
            }
            Err(why) => {
                done.failures += 1;
                done.name = opened.device.name();
                done.last_failure = Some(why.clone());
                tracing::warn!(device = done.name, %why, "a part goes to the other devices");
            }
        }
    }

    /// The name of the device. A lost one has the name that it had.
    pub(crate) fn name(&self) -> String {
        match self.retry.latest() {
            Some(Ok(backend)) => backend.name(),
            _ => self.done().name.clone(),
        }
    }

    pub(crate) fn report(&self) -> DeviceReport {
        DeviceReport { name: self.name(), ..self.done().clone() }
    }

    /// A panic while the lock is held leaves a whole report.
    fn done(&self) -> MutexGuard<'_, DeviceReport> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
