//! The GPU kernels of [polysort](https://docs.rs/polysort), and everything that the host must know of them.
//!
//! A kernel is a file of `wgsl/`. Its name is also that of the entry point and of the label. [`prelude::wgsl`] makes
//! the text of a [`Variant`](plan::Variant): constants from [`abi`] and the plan, parts that kernels
//! share, and the kernel's file. Tests without a GPU prove that every text is valid, and that its bindings, structures
//! and workgroup memory match what Rust says of them.
#![forbid(unsafe_code)]

pub mod abi;
pub mod plan;
pub mod prelude;
