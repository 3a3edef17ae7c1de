//! The native module of the Python package `polysort`.
//!
//! `polysort/__init__.py` checks the arguments of users, and passes one-dimensional, contiguous, aligned arrays in the byte order of the machine. Each
//! function here finds the key type of its array, releases the lock of the interpreter, and sorts. The numpy crate refuses a call if another
//! call still uses one of its arrays.
#![deny(unsafe_code)]

mod arrays;
mod backend;
mod calls;
mod merge;

use pyo3::prelude::*;

#[pymodule]
mod _polysort {
    #[pymodule_export]
    use super::backend::{backends, describe};
    #[pymodule_export]
    use super::calls::{argsort, sort, sort_into, sort_pairs, sort_segments, top_k};
    #[pymodule_export]
    use super::merge::merge_into;
}
