//! Reads input files: arrays of keys in .npy and .bin files, and tables in .csv files.

mod array;
mod format;
mod input;
mod npy;
mod records;
mod rounding;
mod source;
mod table;

pub(crate) use array::{Array, check_writable, write_array};
pub(crate) use format::Format;
pub(crate) use input::{Input, InputArgs};
pub(crate) use source::Source;
pub(crate) use table::{Table, TableArgs};
