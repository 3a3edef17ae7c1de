#![doc = include_str!("../README.md")]
//!
//! # How it works
//! ```text
//! reader thread ─▶ sort of a run ─▶ writer thread       runs.rs     while one run is sorted, the next is read and the last is written
//! reader thread ─▶ k-way merge   ─▶ writer thread       merge.rs    each run has two blocks in memory: one is merged, one is read
//! ```
//! `sorter` is the public type, `layout` describes records, `job` is what both phases share, `budget` divides the memory cap, `spill` is the spill file, and `files` is the part of the file
//! system that it uses.
#![forbid(unsafe_code)]

mod budget;
mod error;
mod files;
mod job;
mod layout;
mod merge;
mod progress;
mod runs;
mod sorter;
mod spill;
#[cfg(test)]
mod tests;

pub use error::ExternalError;
pub use layout::{ByKey, Keys, Layout};
pub use progress::{Phase, Progress};
pub use sorter::{Sorter, Summary};
