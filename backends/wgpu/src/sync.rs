//! What `budget`, `crew`, `pool`, `readers` and `turns` are built on, in one place: `tests/models` puts what a model checker has here.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Starts a thread. Returns whether the system had one.
pub(crate) fn start_thread(run: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name("polysort".into()).spawn(run).is_ok()
}
