//! Merging sorted runs: `two` merges two slices, `halves` merges two halves in place, and `runs` any number of runs.

mod halves;
mod runs;
mod two;

pub(crate) use halves::merge_halves;
pub(crate) use runs::merge_runs;
