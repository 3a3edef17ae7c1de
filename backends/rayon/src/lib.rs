//! [`RayonBackend`] of [polysort](https://docs.rs/polysort): a stable sort on all cores, the reference of the other backends and what they
//! fall back to.
//!
//! It runs in the current [rayon] thread pool and keeps the memory it worked in for the next call; see [`RayonBackend`].
//!
//! The order of the modules is that of reading: `sort` (which algorithm suits), `columns` (the caller's slices as records),
//! `cached` (a partition and networks), `msd` and `partition` (what is larger than a cache), `digit`, `scatter` and `stream` (what
//! partitions are made of), `simd` (sorting networks), `tickets` (stable ones), and the special cases `presorted` and `merge`, `counting`,
//! `segments`, `top_k`; and `vector`, the search of vectors, with `wide`. `threads` is the one place that starts work on other threads;
//! numbers are in `tuning`, and `machine` says what they depend on.
#![deny(unsafe_code)]

mod backend;
mod cached;
mod columns;
mod counting;
mod digit;
mod machine;
mod merge;
mod msd;
mod operations;
mod pages;
mod partition;
mod passes;
mod presorted;
mod record;
mod scatter;
mod scratch;
mod segments;
mod simd;
mod sort;
mod stream;
mod threads;
mod tickets;
mod top_k;
mod tuning;
mod vector;
mod wide;
mod window;

pub use backend::RayonBackend;
pub use vector::RayonStore;
