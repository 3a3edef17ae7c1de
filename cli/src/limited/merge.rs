//! `merge`: a stable merge of sorted files.

use super::keys::sink;
use super::limit::{DEFAULT_MEMORY, Limit, MemoryArgs, explain};
use super::rows;
use crate::backend::{COUNTED, Chosen};
use crate::dtype::{Dtype, with_key};
use crate::files::{Array, Choice, ColumnArgs, Format, KeyStream, RowStream, Source, check_writable};
use crate::order::OrderArgs;
use crate::outcome::Outcome;
use crate::output::Output;
use anyhow::{Context, Error, Result, bail, ensure};
use clap::Args;
use polysort_external::{ExternalError, Keys};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

#[derive(Args)]
pub(crate) struct MergeArgs {
    /// The files to merge, each sorted by these options: all .npy, all .bin or all .csv.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    columns: ColumnArgs,
    #[command(flatten)]
    order: OrderArgs,
    /// The file to write, as in `sort`. It may be one of the inputs.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Merges sorted files.
pub(crate) fn merge(args: &MergeArgs) -> Result<Outcome> {
    let output = Output::open(args.output.as_deref())?;
    let memory = MemoryArgs { memory: Some(args.memory.memory.unwrap_or(DEFAULT_MEMORY)), temp: args.memory.temp.clone() };
    let limit = Limit::new(&memory, &output, Chosen::open(COUNTED, None)?.any(), args.order.options())?;
    let formats = args.inputs.iter().map(|path| Ok(args.source(path)?.format)).collect::<Result<Vec<_>>>()?;
    let format = formats[0];
    if let Some(other) = formats.iter().position(|other| *other != format) {
        let [first, other] = [0, other].map(|index| args.inputs[index].display());
        bail!("{first} and {other} have different formats: convert one of them with sort");
    }
    if format == Format::Csv {
        args.rows(&limit, output)?;
    } else {
        args.keys(format, &limit, output)?;
    }
    Ok(Outcome::Fine)
}

impl MergeArgs {
    /// Opens an input, which may be opened again.
    fn source(&self, path: &Path) -> Result<Source> {
        ensure!(path != Path::new("-"), "cannot merge standard input: save it as a file");
        let source = Source::without_bar(Some(path), self.columns.format)?;
        ensure!(source.bytes.is_some(), "cannot merge {}, which is no regular file: save it as one", source.name);
        self.columns.check(&source)?;
        Ok(source)
    }

    fn array(&self, path: &Path) -> Result<Array> {
        Array::open(self.source(path)?, self.columns.dtype)
    }

    /// Merges arrays.
    fn keys(&self, format: Format, limit: &Limit, output: Output) -> Result<()> {
        let (mut dtype, mut count) = (None, 0);
        for path in &self.inputs {
            let array = self.array(path)?;
            let first: Dtype = *dtype.get_or_insert(array.dtype);
            if first != array.dtype {
                let (name, other) = (array.name(), array.dtype.name());
                bail!("{name} holds {other}, but {} holds {}: convert one of them", self.inputs[0].display(), first.name());
            }
            count += array.len().context("the length of a file is known")?;
        }
        let (dtype, format) = (dtype.context("there is an input")?, output.format_or(format));
        check_writable(format, dtype).with_context(|| output.name().to_string())?;
        output.check_terminal(format)?;
        let mut writing = output.begin();
        let merged = with_key!(dtype, K => {
            let mut sorter = limit.sorter(Keys::<K>::new(), &self.name(), Some(size_of::<K>() as u64));
            let inputs = self.inputs.iter().map(|path| KeyFile { args: self, path, open: None });
            sorter.merge(inputs, sink::<K>(&mut writing, format, dtype, Arc::new(AtomicU64::new(count))))
        });
        merged.map_err(|error| self.unsorted(&error, "key", 0).unwrap_or_else(|| explain(error, &self.name(), &writing)))?;
        writing.finish()
    }

    /// Merges the rows of tables.
    fn rows(&self, limit: &Limit, output: Output) -> Result<()> {
        output.check_rows()?;
        let (args, longest) = (self.columns.table(), rows::sorter::<u8>(limit, "").longest_merged_row());
        let open = |path: &Path| RowStream::open(self.source(path)?, &args, longest);
        let mut choice = Choice::new(&args);
        let (mut head, mut dtype) = (None, args.dtype);
        for path in &self.inputs {
            let rows = open(path)?;
            let first: &Vec<u8> = head.get_or_insert_with(|| rows.head().to_vec());
            if content(first) != content(rows.head()) {
                bail!("{} has another header than {}: make them equal", rows.name(), self.inputs[0].display());
            }
            if args.dtype.is_none() {
                dtype = Some(rows.choose(&mut choice)?);
            }
        }
        let (head, dtype) = (head.unwrap_or_default(), dtype.context("there is an input")?);
        let mut writing = output.begin();
        let merged = with_key!(dtype, K => {
            let inputs = self.inputs.iter().map(|path| {
                let mut rows = None;
                move |text: &mut Vec<u8>| {
                    let rows = match &mut rows {
                        Some(rows) => rows,
                        closed => closed.insert(open(path).map_err(io::Error::other)?),
                    };
                    rows.next::<K>(dtype, text).map_err(io::Error::other)
                }
            });
            rows::sorter::<K>(limit, &self.name()).merge_rows(inputs, rows::sink(&mut writing, head))
        });
        merged.map_err(|error| self.unsorted(&error, "row", 1).unwrap_or_else(|| explain(error, &self.name(), &writing)))?;
        writing.finish()
    }

    /// Returns the error that an input is not sorted, if that is what happened. Messages count the records from `first` on.
    fn unsorted(&self, error: &ExternalError, record: &str, first: u64) -> Option<Error> {
        let ExternalError::Unsorted { input, record: index, .. } = error else { return None };
        let (name, index) = (self.inputs[*input].display(), index + first);
        Some(Error::msg(format!(
            "{name} is not sorted: {record} {index} must come before {record} {}; sort it first, or merge with the options that it was sorted with",
            index - 1
        )))
    }

    /// Returns the name of the inputs in messages.
    fn name(&self) -> String {
        match &self.inputs[..] {
            [path] => path.display().to_string(),
            inputs => format!("{} files", inputs.len()),
        }
    }
}

/// Returns a header without its end of line and the byte order mark.
fn content(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_end()
}

/// The keys of a file, which is opened when they are read.
struct KeyFile<'a> {
    args: &'a MergeArgs,
    path: &'a Path,
    open: Option<KeyStream>,
}

impl Read for KeyFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let keys = match &mut self.open {
            Some(keys) => keys,
            closed => closed.insert(KeyStream::new(self.args.array(self.path).map_err(io::Error::other)?)),
        };
        keys.read(buffer).map_err(|error| match error.get_ref() {
            Some(_) => error,
            None => io::Error::other(format!("cannot read {}: {error}", self.path.display())),
        })
    }
}
