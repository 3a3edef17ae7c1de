//! Measures sorts on the CPU side by side with their peers; `README.md` says how to run it and what the records hold.
//!
//! ```text
//! key       what a key must do for every peer to sort it
//! input     the slices of one cell, and their right answer
//! task      one system's work on such slices: prepare, run, verify
//! system    a system that sorts, ours or a peer
//! peers     the systems, by operation
//! timing    the systems of a cell take turns, by polysort-measure
//! machine   the text about the machine that lies beside a record
//! table     ratios to the best peer
//! ```
#![allow(missing_debug_implementations, reason = "systems and tasks hold functions, and no other crate uses them")]
#![deny(unsafe_code)]

pub mod input;
pub mod key;
pub mod machine;
pub mod peers;
pub mod system;
pub mod table;
pub mod task;
pub mod timing;
mod x86_simd_sort;
