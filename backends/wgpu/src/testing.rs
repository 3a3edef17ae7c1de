//! Opens devices for tests, with settings that no user needs. The feature `testing` turns this module on.

use crate::backend::{Config, WgpuBackend};
pub use crate::knobs::Knobs;
use crate::wait::blocking;
use polysort_core::Error;

/// Opens a device as [`WgpuBackend::open_with`] does, with these knobs for all of its calls.
///
/// # Errors
/// The same as those of [`WgpuBackend::open_with`].
pub fn open(config: Config, knobs: Knobs) -> Result<WgpuBackend, Error> {
    blocking(WgpuBackend::open_with_knobs(config, knobs))
}
