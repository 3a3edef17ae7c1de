//! Files of columns: sorts of the rows of Parquet and Arrow IPC files, by several columns.
//!
//! `by` is the order, `format` the formats, `source` reads, `target` writes, `spill` is the file of sorted runs, `merge` merges them, and `sort` is the sort.

mod by;
mod format;
mod merge;
mod sort;
mod source;
mod spill;
mod target;

pub(crate) use by::Order;
pub(crate) use format::ColumnFormat;
pub(crate) use sort::{Room, sort};
