//! [`RayonBackend`] of [polysort](https://docs.rs/polysort): a stable sort on all cores, the reference of the other backends and what they
//! fall back to.
//!
//! It runs in the current [rayon] thread pool and keeps the memory it worked in for the next call; see [`RayonBackend`].
//!
//! The order of the modules is that of reading: `backend` (the public type), `sort` (which algorithm suits), `source` and `columns` (the caller's slices as records),
//! `few` (short slices: `simd`, sorting networks, and `tickets`, stable ones), `quicksort` and `in_place` (keys alone), `cached`, `narrow`, `passes` and `lowered` (what fits in a cache), `msd` and
//! `partition` (what is larger), `sample`, `digit`, `range_digit`, `classify`, `frequent`, `dictionary`, `scatter`, `ahead` and `stream` (what partitions are made of), `merges` and `merge` (sorted runs), and the special cases `presorted`, `counting` with `equal`,
//! `segments`, `select`, `top_k`, `runs`; and, with the feature `vector`, `vector`, the search of vectors, with `wide`. `threads` is the one place that starts work on other threads;
//! numbers are in `tuning`, and `machine` says what they depend on; `trace` records for tests which steps a call takes.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod ahead;
mod backend;
mod cached;
mod classify;
mod columns;
mod counting;
mod dictionary;
mod digit;
mod equal;
mod few;
mod frequent;
#[cfg(test)]
mod fuzz;
mod in_place;
mod lowered;
mod machine;
mod merge;
mod merges;
mod msd;
mod narrow;
mod operations;
mod pages;
mod partition;
mod passes;
mod presorted;
mod quicksort;
mod range_digit;
mod record;
mod runs;
mod sample;
mod scatter;
mod scratch;
mod segments;
mod select;
mod simd;
mod sort;
mod source;
mod stream;
#[cfg(test)]
mod testing;
mod threads;
mod tickets;
mod top_k;
mod trace;
mod tuning;
#[cfg(feature = "vector")]
mod vector;
#[cfg(feature = "vector")]
mod wide;
mod window;

pub use backend::RayonBackend;
#[doc(hidden)]
pub use scratch::Scratch;
#[cfg(feature = "vector")]
pub use vector::RayonStore;

/// Compiles and runs the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
