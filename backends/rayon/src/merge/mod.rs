//! Merging sorted runs.
//!
//! `halves` merges two halves in place, and `runs` any number of runs. Both call `two`, which merges two slices: in registers, or by `ends`. `path` computes
//! where a part of the output begins in its inputs.

mod ends;
mod halves;
mod path;
mod pieces;
mod runs;
mod two;

pub(crate) use halves::merge_halves;
pub(crate) use runs::merge_runs;
