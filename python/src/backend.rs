//! The backend that a call names, and the exceptions of its errors.
//!
//! A child process that was forked has no threads of its parent's pool, so a sort on that pool would never end. `chosen` finds out that the process is
//! not the one that sorted first, and then sorts on a pool of the child's own.

use polysort::{AnyBackend, Auto, Backend, Error, RayonBackend};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The backend of a call.
pub(crate) type Chosen = AnyBackend;

/// The names that `chosen` takes.
const NAMES: &[&str] = if AnyBackend::GPU_NAMES.is_empty() { &["auto", "cpu"] } else { &["auto", "cpu", "gpu"] };

/// The process that made the first call: its threads are those of rayon's global pool.
static FIRST: OnceLock<u32> = OnceLock::new();

/// The pool of a forked process, with the process that it belongs to.
static FORKED: Mutex<Option<(u32, RayonBackend)>> = Mutex::new(None);

/// Returns the backend that has this name.
pub(crate) fn chosen(py: Python<'_>, name: &str) -> PyResult<Chosen> {
    if !NAMES.contains(&name) {
        let hint = if name == "gpu" { "; build the package with --features gpu" } else { "" };
        return Err(PyValueError::new_err(format!("no backend {name:?}: this build has {}{hint}", NAMES.join(", "))));
    }
    // A device may take long to open.
    let opened = py.detach(|| match (name, is_forked()) {
        ("gpu", true) => {
            let why = "a forked process cannot use the GPU of its parent; start processes with the method `spawn`".into();
            Err(Error::Unavailable { backend: name.into(), why, source: None })
        }
        ("gpu", false) => gpu(),
        ("auto", false) => Auto::global().map(|auto| AnyBackend::new("auto", auto)),
        _ => cpu().map(|cpu| AnyBackend::new("cpu", cpu)),
    });
    opened.map_err(raised)
}

/// Whether this process is not the one that made the first call.
fn is_forked() -> bool {
    let process = std::process::id();
    *FIRST.get_or_init(|| process) != process
}

/// Returns the CPU backend of this process.
pub(crate) fn cpu() -> Result<RayonBackend, Error> {
    if !is_forked() {
        return RayonBackend::global();
    }
    let process = std::process::id();
    let mut pool = FORKED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*pool {
        Some((of, backend)) if *of == process => Ok(backend.clone()),
        _ => {
            let backend = RayonBackend::with_threads(std::thread::available_parallelism().map_or(1, usize::from))?;
            // To drop the pool of a parent would wait for threads that this process does not have.
            std::mem::forget(pool.replace((process, backend.clone())));
            Ok(backend)
        }
    }
}

/// The first GPU backend that opens.
fn gpu() -> Result<AnyBackend, Error> {
    let why = "this build has no GPU backend".into();
    let mut latest = Error::Unavailable { backend: "gpu".into(), why, source: None };
    for name in AnyBackend::GPU_NAMES {
        match AnyBackend::by_name(name) {
            Ok(backend) => return Ok(backend),
            Err(error) => latest = error,
        }
    }
    Err(latest)
}

/// The exception of an error.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        error if error.is_misuse() => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// Returns the names of the backends that open on this machine: "auto", "cpu", and "gpu" if there is one.
#[pyfunction]
pub(crate) fn backends(py: Python<'_>) -> Vec<&'static str> {
    NAMES.iter().copied().filter(|name| chosen(py, name).is_ok()).collect()
}

/// Returns what a backend sorts on, such as "rayon, 8 threads".
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, backend: &str) -> PyResult<String> {
    chosen(py, backend).map(|backend| backend.name())
}
