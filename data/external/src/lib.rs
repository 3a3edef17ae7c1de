#![doc = include_str!("../README.md")]
//!
//! # How it works
//! ```text
//! reader thread ─▶ sort of a run ─▶ writer thread       runs.rs     while one run is sorted, the next is read and the last is written
//! reader thread ─▶ k-way merge   ─▶ writer thread       merge.rs    each run has two blocks in memory: one is merged, one is read
//! ```
//! * `sorter` is the public type, and `sort_rows` its part for records of any length.
//! * `layout` describes records of constant size. `kind` is what both phases do with records, `fixed` does it for records of constant size, and `rows` for
//!   others. `checked` checks that the inputs of a merge are sorted.
//! * `job` is what both phases share, `budget` divides the memory cap, `spill` is the spill file, and `files` is the part of the file system that it uses.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod budget;
mod checked;
mod error;
mod files;
mod fixed;
mod job;
mod kind;
mod layout;
mod merge;
mod progress;
mod rows;
mod runs;
mod sort_rows;
mod sorter;
mod spill;
#[cfg(test)]
mod tests;

pub use error::ExternalError;
pub use layout::{ByKey, Keys, Layout};
pub use progress::{Phase, Progress};
pub use sort_rows::Rows;
pub use sorter::{Sorter, Summary};
