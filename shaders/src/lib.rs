//! The GPU kernels of [polysort](https://docs.rs/polysort), and the plans that launch them.
//!
//! A kernel is a file of `wgsl/`. The entry point and the label have the name of the file. [`prelude::wgsl`] returns the
//! text of a [`Variant`](plan::Variant): constants from [`abi`] and the plan, parts that kernels share, and the kernel's
//! file. Tests without a GPU check that the texts are valid, and that their bindings, structures and workgroup memory
//! match the Rust code.
//!
//! This crate belongs to the GPU backends. Any release may add fields and variants to its types, so a program that creates them
//! must name an exact version of this crate.
#![forbid(unsafe_code)]

pub mod abi;
pub mod manifest;
pub mod plan;
pub mod prelude;
