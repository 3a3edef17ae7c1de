//! Kernels in the Metal Shading Language, run on the CPU, so that those for Apple's GPUs are tested without one.
//!
//! ```text
//!   MSL ──text──▶ C++ ──c++ -fsanitize=thread──▶ library ──load──▶ Kernel::run(buffers, groups, threads, Schedule)
//!                       with shim/metal_stdlib,                    a fiber for each thread, simdgroups of 32 lanes,
//!                       and shim/runtime.cpp in place of TSan's    in an order that a seed decides
//! ```
//!
//! What is checked: barriers and simdgroup operations are reached by all; every access is within a buffer or a threadgroup variable;
//! threadgroup memory is written before it is read; of two accesses by different threads, one a write, one not atomic, a barrier that orders
//! such memory is in between; threadgroup memory suffices; the kernel ends. What is not: a text that the shim takes may use what Metal has
//! not, address spaces of pointers are not compared, and the CPU's memory is more orderly than a GPU's, so that a relaxed atomic operation
//! is never seen out of order.
//!
//! [`MslBackend`] sorts with such kernels, and searches vectors, and enters the conformance suite. A C++17 compiler (`CXX`, or `c++`) must be there.
#![deny(unsafe_code)]
#![cfg(unix)]

mod backend;
mod buffer;
mod compiler;
mod error;
mod kernel;
mod loaded;
mod source;
mod text;
mod vector;

pub use backend::{Config, FACTS, Memory, MslBackend, Traffic};
pub use buffer::Buffer;
pub use error::{Error, Fault, Mistake};
pub use kernel::{Counts, Kernel, MAX_RESIDENT, MAX_THREADS, Options, Schedule};
pub use source::{Source, Text};
pub use vector::MslStore;
