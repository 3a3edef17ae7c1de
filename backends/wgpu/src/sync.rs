//! What `budget`, `crew`, `pool`, `readers` and `turns` are built on. `tests/models` replaces this file with the types of a
//! model checker.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) use std::thread::ThreadId;

pub(crate) fn this_thread() -> ThreadId {
    std::thread::current().id()
}

/// Starts a thread. Returns whether the system had one.
pub(crate) fn start_thread(run: impl FnOnce() + Send + 'static) -> bool {
    std::thread::Builder::new().name("polysort".into()).spawn(run).is_ok()
}
