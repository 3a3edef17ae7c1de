//! The GPU backend of [polysort](https://docs.rs/polysort): one engine for Vulkan, Metal, DX12 and WebGPU, through wgpu.
//!
//! ```no_run
//! use polysort_core::{Backend, Sort};
//! use polysort_wgpu::WgpuBackend;
//!
//! let mut keys = [3.5_f32, -1.0, f32::NAN, -0.0];
//! WgpuBackend::global()?.sort(&mut keys)?;
//! assert_eq!(keys[..3], [-1.0, -0.0, 3.5]);
//! # Ok::<(), polysort_core::Error>(())
//! ```
//!
//! [`polysort_shaders::plan`] plans each sort, without a GPU. This crate encodes the commands of a plan, and moves the
//! data.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod adapter;
mod adapters;
mod array;
mod ask;
mod backend;
mod bind;
mod block;
mod budget;
mod buffer;
mod call;
mod compile;
mod compile_all;
mod copy;
mod crew;
mod data;
mod device_memory;
mod down;
mod engine;
#[cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "the feature `testing` exports it"))]
mod faults;
mod gather;
mod gpu;
mod heap_merge;
mod host_memory;
mod joined;
mod kinds;
#[cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "the feature `testing` exports it"))]
mod knobs;
mod known;
mod launch;
mod long;
mod long_segments;
#[cfg(test)]
mod memory_tests;
mod merge_ask;
mod merge_buffers;
mod merge_launches;
mod merge_test;
mod one_trip;
mod operations;
mod pool;
mod portion_launches;
mod portions;
mod prepare_gather;
mod prepare_runs;
mod prepared;
mod prepared_merge;
mod profile;
mod queued;
mod readers;
mod resident;
mod runs;
mod scratch;
mod segments;
mod select;
mod self_test;
mod setup;
mod sorter;
mod sorter_merges;
mod sync;
mod tested;
#[cfg(feature = "testing")]
pub mod testing;
mod turns;
mod untested;
mod up;
#[cfg(feature = "vector")]
mod vector;
mod wait;
mod way;
mod workspace;

pub use adapter::Adapter;
pub use ask::Ask;
pub use backend::{Config, WgpuBackend};
pub use bind::Part;
pub use buffer::{Elements, SortBuffer};
pub use engine::Memory;
pub use launch::Count;
pub use merge_ask::MergeAsk;
pub use polysort_shaders::plan::tuning::PassShape;
pub use polysort_shaders::plan::{self, Algorithm, Facts, PassKind, Tuned};
pub use prepare_gather::Column;
pub use prepare_runs::RunBuffers;
pub use prepared::Prepared;
pub use prepared_merge::PreparedMerge;
pub use profile::{Profile, Times};
pub use setup::Setup;
pub use sorter::DeviceSorter;
#[cfg(feature = "vector")]
pub use vector::WgpuStore;
pub use wgpu;
