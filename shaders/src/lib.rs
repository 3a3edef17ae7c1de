//! The GPU kernels of [polysort](https://docs.rs/polysort), and what the host must know of them.
//!
//! A kernel is a file of `wgsl/`; its name is that of the entry point and the label. [`prelude::wgsl`] makes the text of a
//! [`Variant`](polysort_shaders::plan::Variant): constants from [`abi`] and the plan, parts that kernels share, the file. Tests prove, without a
//! GPU, that every text is valid, and that bindings, structures and workgroup memory are what Rust says.
#![forbid(unsafe_code)]

pub mod abi;
pub mod plan;
pub mod prelude;
