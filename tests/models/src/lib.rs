//! The concurrent parts of the GPU backend, run in every order that a few threads can take.
//!
//! The modules are the very source files of the backend. Here their `crate::sync` is that of loom, a model checker: it runs a test again and again, and each
//! time lets the threads take turns in another order, until it has seen them all (Norris and Demsky, "CDSChecker", 2013). A thread that waits for ever
//! is an error.
#![cfg(test)]

#[allow(dead_code, reason = "the backend uses more of it")]
#[path = "../../../backends/wgpu/src/budget.rs"]
mod budget;
#[path = "../../../backends/wgpu/src/crew.rs"]
mod crew;
#[path = "../../../backends/wgpu/src/pool.rs"]
mod pool;
#[path = "../../../backends/wgpu/src/readers.rs"]
mod readers;
#[path = "../../../backends/wgpu/src/turns.rs"]
mod turns;

mod budget_model;
mod crew_model;
mod pool_model;
mod readers_model;
mod turns_model;

/// What the modules are built on.
mod sync {
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    // A counter of references has no order that matters here.
    pub(crate) use std::sync::{Arc, PoisonError};

    pub(crate) use loom::thread::ThreadId;

    pub(crate) fn this_thread() -> ThreadId {
        loom::thread::current().id()
    }

    pub(crate) fn start_thread(run: impl FnOnce() + Send + 'static) -> bool {
        loom::thread::spawn(run);
        true
    }
}
