//! Opens devices for tests, with settings that no user needs. The feature `testing` turns this module on.

use crate::backend::{Config, WgpuBackend};
pub use crate::faults::Fault;
pub use crate::knobs::Knobs;
use crate::sorter::DeviceSorter;
use crate::wait::blocking;
use polysort_core::Error;

/// Lets a submission of this backend fail, after `more` others have succeeded. It replaces a failure that has not come yet; returns whether there
/// was one.
pub fn fail_after(backend: &WgpuBackend, more: u64, fault: Fault) -> bool {
    backend.gpu().faults.fail_after(more, fault)
}

/// Lets no submission of this backend fail. Returns whether there is a failure that has not come yet.
pub fn fail_no_more(backend: &WgpuBackend) -> bool {
    backend.gpu().faults.fail_no_more()
}

/// Lets allocations of buffers of more than `bytes` bytes fail on this backend; `None` lets them succeed.
pub fn set_max_buffer(backend: &WgpuBackend, bytes: Option<u64>) {
    backend.gpu().faults.set_max_buffer(bytes);
}

/// Opens a device as [`WgpuBackend::open_with`] does, with these knobs for all of its calls.
///
/// # Errors
/// The same as those of [`WgpuBackend::open_with`].
pub fn open(config: Config, knobs: Knobs) -> Result<WgpuBackend, Error> {
    blocking(WgpuBackend::open_with_knobs(config, knobs))
}

/// Returns a sorter on the device of `backend`, with the same knobs and the same tests.
pub fn sorter(backend: &WgpuBackend) -> DeviceSorter {
    let engine = backend.engine();
    DeviceSorter { gpu: engine.gpu().shared.clone(), kinds: engine.kinds.clone(), engine: Some(engine.clone()) }
}
