//! What a backend has done so far: counts and times that the caller reads.

use crate::speeds::Speeds;
use polysort_core::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a [`MultiBackend`](crate::MultiBackend) has done since it was made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// What each device has done, in the order of the devices.
    pub devices: Vec<DeviceReport>,
    /// The bytes that merges on the CPU have written.
    pub merged_bytes: u64,
    /// The time of these merges.
    pub merge_time: Duration,
}

/// What a device of a [`MultiBackend`](crate::MultiBackend) has done since the backend was made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DeviceReport {
    /// The name of the device.
    pub name: String,
    /// Parts of inputs, and whole inputs, that the device has sorted.
    pub parts: u64,
    /// The bytes of their keys and payloads.
    pub bytes: u64,
    /// The time that the device took for them. Other devices may have worked at the same time.
    pub time: Duration,
    /// Parts that failed on the device. Other devices have sorted them, or the call has failed.
    pub failures: u64,
    /// Calls that went without the device, because it was lost and was not open again.
    pub absences: u64,
    /// The latest reason why a part failed, or why the device could not be opened again.
    pub last_failure: Option<Error>,
}

impl Report {
    /// Returns the speeds that the calls so far show, in bytes per second; `None` until each device has sorted a part and a merge has run.
    ///
    /// [`with_speeds`](crate::MultiBackend::with_speeds) divides later inputs by them.
    pub fn speeds(&self) -> Option<Speeds> {
        let speed = |bytes: u64, time: Duration| (bytes > 0 && !time.is_zero()).then(|| bytes as f64 / time.as_secs_f64());
        let devices: Option<Vec<f64>> = self.devices.iter().map(|device| speed(device.bytes, device.time)).collect();
        Some(Speeds::new(devices?, speed(self.merged_bytes, self.merge_time)?))
    }
}

/// The merges of all calls.
#[derive(Debug, Default)]
pub(crate) struct Merges {
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Merges {
    pub(crate) fn note(&self, bytes: u64, time: Duration) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.nanoseconds.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}
