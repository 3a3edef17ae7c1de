//! Sorts and merges that hold only a part of their data in memory, with spill files in a folder.
//!
//! `limit` is the cap and what follows from it, and `sink` the output. `keys` sorts arrays, `rows` sorts tables, and `merge` merges sorted files of both.

mod keys;
mod limit;
mod merge;
mod rows;
mod sink;

pub(crate) use limit::MemoryArgs;
pub(crate) use merge::{MergeArgs, merge};

use crate::files::{Format, InputArgs};
use crate::output::Output;
use anyhow::Result;
use limit::Limit;
use polysort::{AnyBackend, Options};

/// Sorts an array, or the rows of a table, within the cap of `memory`.
pub(crate) fn sort(
    input: &InputArgs,
    memory: &MemoryArgs,
    options: Options,
    (output, backend): (Output, AnyBackend),
) -> Result<()> {
    let limit = Limit::new(memory, &output, backend, options)?;
    let source = input.source()?;
    if source.format == Format::Csv {
        rows::sort(source, input, &limit, output)
    } else {
        keys::sort(source, input, &limit, output)
    }
}
