//! The input that the user named: an array or a table.

use super::array::Array;
use super::format::Format;
use super::source::Source;
use super::table::{Empty, Table, TableArgs};
use crate::dtype::{Dtype, Key};
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct InputArgs {
    /// The file to read: .npy, .bin or .csv. Without a name, or with `-`, standard input is read.
    input: Option<PathBuf>,
    /// The format of the input. Needed if the file name does not imply it.
    #[arg(long)]
    format: Option<Format>,
    /// The type of the keys. A .bin needs it. A .npy specifies its own. For a .csv the default is the first of i64, i128 and f64 that
    /// every key is a value of.
    #[arg(long)]
    dtype: Option<Dtype>,
    /// The key column of a .csv: its name in the header, or its index from 0.
    #[arg(long, value_name = "NAME|INDEX")]
    column: Option<String>,
    /// Sort the first line of a .csv with the others. Without this option it is a header.
    #[arg(long)]
    no_header: bool,
    /// Replace the empty fields in the key column of a .csv. Without this option an empty field is an error.
    #[arg(long)]
    empty: Option<Empty>,
}

/// An open input, with its header read.
pub(crate) enum Input {
    Array(Array),
    Table(Table),
}

impl Input {
    /// Opens the input that the user named.
    pub(crate) fn open(args: &InputArgs) -> Result<Self> {
        let source = Source::open(args.input.as_deref(), args.format)?;
        if source.format == Format::Csv {
            let args =
                TableArgs { column: args.column.as_deref(), header: !args.no_header, dtype: args.dtype, empty: args.empty };
            return Ok(Self::Table(Table::read(source, &args)?));
        }
        let only_csv = [("--column", args.column.is_some()), ("--no-header", args.no_header), ("--empty", args.empty.is_some())];
        if let Some((option, _)) = only_csv.iter().find(|(_, given)| *given) {
            bail!(
                "{option} is for .csv, but {} is {}",
                source.name,
                if source.format == Format::Npy { "a .npy" } else { "a .bin" }
            );
        }
        Ok(Self::Array(Array::open(source, args.dtype)?))
    }

    /// Returns the keys. `K` must be the type of [`dtype`](Input::dtype).
    pub(crate) fn keys<K: Key>(self) -> Result<Vec<K>> {
        match self {
            Self::Array(array) => array.keys(),
            Self::Table(table) => table.keys(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Array(array) => array.name(),
            Self::Table(table) => &table.name,
        }
    }

    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Array(array) => array.format(),
            Self::Table(_) => Format::Csv,
        }
    }

    pub(crate) fn dtype(&self) -> Dtype {
        match self {
            Self::Array(array) => array.dtype,
            Self::Table(table) => table.dtype,
        }
    }
}
