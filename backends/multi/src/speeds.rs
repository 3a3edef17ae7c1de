//! How fast the devices are, as the caller states it.

use polysort_core::Error;

/// The speeds by which a [`MultiBackend`](crate::MultiBackend) divides its input. All have one unit, for example bytes per second; only their ratios matter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Speeds {
    /// The speed of each device, in the order of the devices. The share of a device in the input is proportional to it.
    pub devices: Vec<f64>,
    /// The speed of the merge on the CPU. Infinity means that a merge costs nothing; all devices then get a part of each long input.
    pub merge: f64,
}

impl Speeds {
    /// Speeds of devices, and of the merge.
    pub fn new(devices: impl Into<Vec<f64>>, merge: f64) -> Self {
        Self { devices: devices.into(), merge }
    }

    /// Equal speeds of this number of devices, and a merge that costs nothing.
    pub(crate) fn equal(devices: usize) -> Self {
        Self::new(vec![1.0; devices], f64::INFINITY)
    }

    /// Checks that there is a speed for each of `devices` devices, and that all are positive.
    pub(crate) fn check(&self, devices: usize) -> Result<(), Error> {
        Error::check_lengths("devices", devices, "speeds", self.devices.len())?;
        let is_speed = |speed: f64| speed > 0.0;
        if self.devices.iter().all(|&speed| is_speed(speed) && speed.is_finite()) && is_speed(self.merge) {
            return Ok(());
        }
        Err(Error::Unsupported { what: format!("{self:?}: a speed is a positive number, and that of a device is finite") })
    }
}
