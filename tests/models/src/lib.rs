//! Model tests of the concurrent parts of the contract crate, of `polysort-fallback` and of the GPU backend: they run in many orders of a few threads.
//!
//! The modules are the source files of these crates. Here, their `crate::sync` has the types of loom, a model checker. Loom runs a test repeatedly, each time
//! with another order of the threads' steps (Norris and Demsky, "CDSChecker", 2013). A test explores all orders, or all orders with a limited number of
//! preemptions. A thread that waits for ever is an error.
#![cfg(test)]

#[allow(dead_code, reason = "the backend uses more of it")]
#[path = "../../../backends/wgpu/src/budget.rs"]
mod budget;
#[path = "../../../backends/wgpu/src/crew.rs"]
mod crew;
#[allow(dead_code, reason = "the contract crate has one instance for all threads of a process")]
#[path = "../../../backends/core/src/global.rs"]
mod global;
#[path = "../../../backends/wgpu/src/pool.rs"]
mod pool;
#[path = "../../../backends/wgpu/src/readers.rs"]
mod readers;
#[allow(unreachable_pub, reason = "polysort-fallback exports it")]
#[path = "../../../backends/fallback/src/retry.rs"]
mod retry;
#[path = "../../../backends/wgpu/src/turns.rs"]
mod turns;

mod budget_model;
mod crew_model;
mod global_model;
mod pool_model;
mod readers_model;
mod retry_model;
mod turns_model;

pub(crate) use polysort_core::Error;

/// The errors that the modules return.
mod error {
    pub(crate) use polysort_core::Error;
}

/// The locks and threads that the modules use.
mod sync {
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
    // The order of changes of a reference count does not matter here.
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
