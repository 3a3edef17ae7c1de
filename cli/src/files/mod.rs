//! What is read: arrays of keys in .npy and .bin files, and tables in .csv files.

mod array;
mod csv;
mod npy;

pub(crate) use array::{Array, check_writable, write_array};
pub(crate) use csv::{Empty, Table, TableArgs};

use crate::args::InputArgs;
use crate::dtype::{Dtype, Key};
use crate::progress;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use std::fs::File;
use std::io::{IsTerminal, Read, stdin};
use std::path::Path;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// numpy's array with a header
    Npy,
    /// keys one after another, little-endian, no header
    Bin,
    /// a table, or in output one key a line
    Csv,
}

impl Format {
    /// The format that a file's name tells.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_ascii_lowercase() {
            "npy" => Some(Self::Npy),
            "bin" => Some(Self::Bin),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// About how many bytes these keys are in a file, if that is known before they are written.
    pub(crate) fn bytes<K>(self, keys: &[K]) -> Option<u64> {
        (self != Self::Csv).then_some(size_of_val(keys) as u64)
    }
}

/// Bytes to come, and how messages call them.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) reader: Box<dyn Read>,
    /// Their number, if it is known.
    pub(crate) bytes: Option<u64>,
}

impl Source {
    fn open(path: Option<&Path>, format: Option<Format>) -> Result<Self> {
        let path = path.filter(|path| *path != Path::new("-"));
        let Some(path) = path else {
            let Some(format) = format else { bail!("stdin has no name that tells its format: add --format npy, bin or csv") };
            if stdin().is_terminal() {
                bail!("there is nothing on stdin: name a file, or pipe one in");
            }
            let bar = progress::bytes("reading stdin".into(), None);
            return Ok(Self { name: "stdin".into(), format, reader: Box::new(bar.wrap_read(stdin())), bytes: None });
        };
        let name = path.display().to_string();
        let open = || File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = open().with_context(|| format!("cannot read {name}"))?;
        if metadata.is_dir() {
            bail!("cannot read {name}: it is a directory; name a file");
        }
        let Some(format) = format.or_else(|| Format::of(path)) else {
            bail!("the name {name} does not tell a format: add --format npy, bin or csv");
        };
        let bytes = metadata.is_file().then_some(metadata.len());
        let bar = progress::bytes(format!("reading {name}"), bytes);
        Ok(Self { name, format, reader: Box::new(bar.wrap_read(file)), bytes })
    }

    /// A file that is part of the program.
    pub(crate) fn embedded(name: &str, format: Format, bytes: &'static [u8]) -> Self {
        Self { name: name.into(), format, reader: Box::new(bytes), bytes: Some(bytes.len() as u64) }
    }
}

/// A file that is open, with its header read.
pub(crate) enum Input {
    Array(Array),
    Table(Table),
}

impl Input {
    /// Opens the file that the user named.
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

    /// The keys. `K` is the type of the dtype.
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
