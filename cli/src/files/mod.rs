//! Reads input files: arrays of keys in .npy and .bin files, and tables in .csv files.

mod array;
mod format;
mod input;
mod key_stream;
mod npy;
mod records;
mod rounding;
mod row_stream;
mod rules;
mod source;
mod table;

pub(crate) use array::{Array, check_writable, write_array, write_header, write_keys};
pub(crate) use format::Format;
pub(crate) use input::{ColumnArgs, Input, InputArgs};
pub(crate) use key_stream::KeyStream;
pub(crate) use row_stream::RowStream;
pub(crate) use rules::{Choice, TableArgs};
pub(crate) use source::Source;
pub(crate) use table::Table;
