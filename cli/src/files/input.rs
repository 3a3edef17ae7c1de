//! The input that the user named: an array or a table.

use super::array::Array;
use super::format::Format;
use super::rules::{Empty, TableArgs};
use super::source::Source;
use super::table::Table;
use crate::dtype::{Dtype, Key};
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct InputArgs {
    /// The file to read: .npy, .bin or .csv. Without a name, or with `-`, standard input is read.
    #[cfg_attr(feature = "arrow", doc = "`sort` also reads .parquet and .arrow files.")]
    input: Option<PathBuf>,
    #[command(flatten)]
    columns: ColumnArgs,
}

/// How to read an input.
#[derive(Args)]
pub(crate) struct ColumnArgs {
    /// The format of the input. Standard input needs it, and a file whose name does not imply it.
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// The type of the keys. A .bin needs it. A .npy specifies its own. For a .csv the default is the first of i64, i128 and f64 that
    /// every key is a value of.
    #[arg(long)]
    pub(crate) dtype: Option<Dtype>,
    /// The key column of a .csv: its name in the header, or its index from 0.
    #[arg(long, value_name = "NAME|INDEX")]
    column: Option<String>,
    /// Read the first line of a .csv as a row. Without this option it is the header.
    #[arg(long)]
    no_header: bool,
    /// The key that an empty field in the key column of a .csv stands for. The field stays empty in the output. Without this option an empty field is
    /// an error.
    #[arg(long)]
    empty: Option<Empty>,
}

/// An open input, with its header read.
pub(crate) enum Input {
    Array(Array),
    Table(Table),
}

impl InputArgs {
    /// Returns the path, if the input has one.
    #[cfg(feature = "arrow")]
    pub(crate) fn path(&self) -> Option<&std::path::Path> {
        self.input.as_deref()
    }

    /// Returns how to read the input.
    pub(crate) fn columns(&self) -> &ColumnArgs {
        &self.columns
    }

    /// Opens the input, and checks that its format has what the other arguments are about.
    pub(crate) fn source(&self) -> Result<Source> {
        let source = Source::open(self.input.as_deref(), self.columns.format)?;
        self.columns.check(&source)?;
        Ok(source)
    }
}

impl ColumnArgs {
    /// Checks that the format of `source` has what the arguments are about.
    pub(crate) fn check(&self, source: &Source) -> Result<()> {
        let only_csv = [("--column", self.column.is_some()), ("--no-header", self.no_header), ("--empty", self.empty.is_some())];
        if source.format == Format::Csv {
            return Ok(());
        }
        if let Some((option, _)) = only_csv.iter().find(|(_, given)| *given) {
            bail!(
                "{option} is for .csv, but {} is {}",
                source.name,
                if source.format == Format::Npy { "a .npy" } else { "a .bin" }
            );
        }
        Ok(())
    }

    /// Returns how to read a table.
    pub(crate) fn table(&self) -> TableArgs<'_> {
        TableArgs { column: self.column.as_deref(), header: !self.no_header, dtype: self.dtype, empty: self.empty }
    }
}

impl Input {
    /// Opens the input that the user named.
    pub(crate) fn open(args: &InputArgs) -> Result<Self> {
        let source = args.source()?;
        if source.format == Format::Csv {
            return Ok(Self::Table(Table::read(source, &args.columns.table())?));
        }
        Ok(Self::Array(Array::open(source, args.columns.dtype)?))
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
            Self::Table(table) => table.name(),
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
