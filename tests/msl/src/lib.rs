//! Runs kernels in Metal Shading Language on the CPU. So the kernels for Apple's GPUs can be tested without such a GPU.
//!
//! ```text
//!   MSL ──text──▶ C++ ──c++ -fsanitize=thread──▶ library ──load──▶ Kernel::run(buffers, groups, threads, Schedule)
//!                       with shim/metal_stdlib,                    a fiber for each thread, simdgroups of 32 lanes,
//!                       and shim/runtime.cpp in place of TSan's    in an order that a seed decides
//! ```
//!
//! The runner checks:
//!
//! * All threads of a threadgroup reach each barrier, and all lanes of a simdgroup each simdgroup operation.
//! * Each access is within a buffer or a threadgroup variable.
//! * Threadgroup memory is written before it is read.
//! * There is no data race: between two accesses by different threads, of which one is a write and one is not atomic, a barrier orders that
//!   memory.
//! * The threadgroup memory is large enough, and the kernel ends.
//!
//! The runner does not check:
//!
//! * The shim may accept a text that Metal's compiler refuses. It does not compare address spaces of pointers.
//! * The memory of the CPU is more strictly ordered than a GPU's: no thread sees relaxed atomic operations out of order.
//!
//! [`MslBackend`] sorts and searches vectors with such kernels, and runs in the conformance suite. It needs a C++17 compiler: `CXX`, or `c++`.
#![deny(unsafe_code)]
#![cfg(unix)]

mod backend;
mod buffer;
mod compiler;
mod error;
mod kernel;
mod loaded;
mod options;
mod schedule;
mod source;
mod text;
mod vector;

pub use backend::{Config, Memory, MslBackend, Traffic};
pub use buffer::Buffer;
pub use error::{Error, Fault, Mistake};
pub use kernel::{Kernel, MAX_RESIDENT, MAX_THREADS};
pub use loaded::Counts;
pub use options::Options;
pub use schedule::{FACTS, Schedule};
pub use source::{Source, Text};
pub use vector::MslStore;
