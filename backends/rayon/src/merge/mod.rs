//! Merging sorted runs: `two` merges two slices, `cut` finds where a part of a merge starts in each run, `halves` merges two halves in place, and
//! `runs` any number of runs.

mod cut;
mod halves;
mod runs;
mod two;

pub(crate) use halves::merge_halves;
pub(crate) use runs::{Runs, merge_runs};
