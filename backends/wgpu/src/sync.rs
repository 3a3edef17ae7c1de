//! What `budget`, `crew`, `pool` and `readers` are built on. `tests/models` replaces this file with the types of a
//! model checker.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Starts a thread. Returns whether the system could start one.
pub(crate) fn start_thread(run: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name("polysort".into()).spawn(run).is_ok()
}
