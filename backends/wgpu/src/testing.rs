//! Opens devices for tests, with settings that no user needs. The feature `testing` turns this module on.

use crate::backend::{Config, WgpuBackend};
use crate::call::Call;
pub use crate::faults::{Fault, Flaw};
use crate::host_memory;
pub use crate::knobs::Knobs;
use crate::sorter::DeviceSorter;
use crate::wait::{Waiting, blocking};
use polysort_core::Error;
use polysort_shaders::manifest::Kernel;

/// Lets a submission of this backend fail, after `more` others have succeeded. It replaces a failure that has not come yet; returns whether there
/// was one.
pub fn fail_after(backend: &WgpuBackend, more: u64, fault: Fault) -> bool {
    backend.gpu().faults.fail_after(more, fault)
}

/// Lets an allocation of a buffer fail on this backend with [`Error::OutOfMemory`], after `more` others have succeeded. Those after it succeed again. It
/// replaces a failure that has not come yet; returns whether there was one.
pub fn fail_allocation(backend: &WgpuBackend, more: u64) -> bool {
    backend.gpu().faults.fail_allocation(more)
}

/// Lets no submission and no allocation of this backend fail. Returns whether there is a failure that has not come yet.
pub fn fail_no_more(backend: &WgpuBackend) -> bool {
    backend.gpu().faults.fail_no_more()
}

/// Lets allocations of buffers of more than `bytes` bytes fail on this backend; `None` lets them succeed.
pub fn set_max_buffer(backend: &WgpuBackend, bytes: Option<u64>) {
    backend.gpu().faults.set_max_buffer(bytes);
}

/// Gives these kernels a flaw on this backend. Kernels that it has compiled before, and those in Metal Shading Language, have none.
pub fn set_flaw(backend: &WgpuBackend, flaw: Flaw, kernels: &'static [Kernel]) {
    backend.gpu().faults.set_flaw(flaw, kernels);
}

/// Copies bytes, whose number is a multiple of 4, through a buffer in the memory of the host to the device and back. Returns `None` if the API does not
/// let a caller choose the memory.
///
/// # Errors
/// A failure of the device.
pub fn through_host_memory(backend: &WgpuBackend, bytes: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let (engine, mut back) = (backend.engine(), vec![0; bytes.len()]);
    let gpu = engine.gpu();
    let Some(upload) = gpu.guarded(|| host_memory::mapped(&gpu.device, "polysort upload", bytes.len() as u64))? else {
        return Ok(None);
    };
    upload.get_mapped_range_mut(..).map_err(|error| gpu.give_up(&error.to_string()))?.slice(..).copy_from_slice(bytes);
    upload.unmap();
    blocking(Call::download(engine, Waiting::Here, &upload.into(), &[], &mut back))?;
    Ok(Some(back))
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
