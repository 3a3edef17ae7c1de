//! `sort`, `argsort` and `top`: read, sort, write.

use crate::backend::{AUTO, COUNTED, Chosen, names};
use crate::dtype::{Dtype, Key, with_key};
use crate::files::{Format, Input, InputArgs, Table, check_writable, write_array};
use crate::limited::{self, MemoryArgs};
use crate::order::{BitsArgs, OrderArgs};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::spin;
use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use polysort::{Options, Order, TopK};
use std::path::PathBuf;
#[cfg(feature = "arrow")]
use {
    crate::columns::{self, ColumnFormat, Order as ColumnOrder},
    std::path::Path,
};

/// The arguments for the output and the backend.
#[derive(Args)]
struct RunArgs {
    /// The file to write. Without a name, or with `-`, standard output is written. The extension selects the format (.txt is a .csv); without a known
    /// one, arrays and tables keep the format of the input, and `top` writes .csv. A file is replaced when the result is complete, so it may be the
    /// input; the new file keeps the owner, mode and attributes of the old one. A symbolic link stays, and its target is replaced. A FIFO and a
    /// device are written in place.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The backend that sorts. The default is auto; for `sort --memory` it is rayon.
    #[arg(long, value_parser = PossibleValuesParser::new(names()))]
    backend: Option<String>,
    /// The adapter of a backend on a GPU: its index, or a part of its name. With `--backend multi`, the devices that sort at once, separated by commas; `cpu` is
    /// the CPU: `0,1,cpu`.
    #[arg(long, value_name = "ADAPTER")]
    adapter: Option<String>,
}

impl RunArgs {
    /// Opens the output, and then the backend, which takes longer to open. `default` is the name of the backend if the user named none.
    fn open(&self, default: &str) -> Result<(Output, Chosen)> {
        let name = self.backend.as_deref().unwrap_or(default);
        Ok((Output::open(self.output.as_deref())?, Chosen::open(name, self.adapter.as_deref())?))
    }
}

#[derive(Args)]
pub(crate) struct ArgsortArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Args)]
pub(crate) struct SortArgs {
    #[command(flatten)]
    sort: ArgsortArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[cfg(feature = "arrow")]
    /// The columns of a .parquet or .arrow to sort by, the most significant one first, such as "pickup desc nulls last, fare". The default is
    /// ascending, nulls last. A name with spaces or commas is in double quotes.
    #[arg(long, value_name = "COLUMNS", conflicts_with_all = ["descending", "bits", "column", "dtype", "no_header", "empty", "format"])]
    by: Option<ColumnOrder>,
}

#[derive(Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The number of keys to select.
    #[arg(short)]
    k: usize,
    /// Select the smallest keys instead, smallest first.
    #[arg(long)]
    smallest: bool,
    #[command(flatten)]
    bits: BitsArgs,
    #[command(flatten)]
    run: RunArgs,
}

impl TopArgs {
    fn options(&self) -> Options {
        self.bits.options(if self.smallest { Order::Ascending } else { Order::Descending })
    }
}

/// Sorts an array, or the rows of a table.
pub(crate) fn sort(args: &SortArgs) -> Result<Outcome> {
    #[cfg(feature = "arrow")]
    if let Some(path) = args.columns()? {
        return sort_columns(args, path);
    }
    let SortArgs { sort: args, memory, .. } = args;
    let options = args.order.options();
    if memory.memory.is_some() {
        let (output, chosen) = args.run.open(COUNTED)?;
        limited::sort(&args.input, memory, options, (output, chosen.any()))?;
        return Ok(Outcome::Fine);
    }
    let (output, chosen) = args.run.open(AUTO)?;
    match Input::open(&args.input)? {
        Input::Array(array) => {
            let (name, dtype, format) = (array.name().to_string(), array.dtype, output.format_or(array.format()));
            check_writable(format, dtype).with_context(|| output.name().to_string())?;
            output.check_terminal(format)?;
            with_key!(dtype, K => {
                let mut keys = array.keys::<K>()?;
                let sorted = spin(format!("sorting {} keys", keys.len()), || chosen.sort(&mut keys, options));
                sorted.with_context(|| cannot_sort(&name))?;
                output.write(format.bytes(&keys), |out| write_array(out, format, dtype, &keys))?;
            });
        }
        Input::Table(table) => {
            output.check_rows()?;
            let order = argsort_rows(&table, options, &chosen)?;
            output.write(Some(table.bytes()), |out| table.write(out, &order))?;
        }
    }
    Ok(Outcome::Fine)
}

#[cfg(feature = "arrow")]
impl SortArgs {
    /// Returns the path of the input, if it is a file of columns.
    fn columns(&self) -> Result<Option<&Path>> {
        let path = self.sort.input.path().filter(|path| ColumnFormat::of(path).is_some());
        match (path, &self.by) {
            (None, Some(_)) => bail!("--by is for .parquet and .arrow files: name one as the input, or sort a .csv by --column"),
            (Some(path), None) => bail!("add --by with the columns of {} to sort by", path.display()),
            (path, _) => Ok(path),
        }
    }
}

/// Sorts a file of columns.
#[cfg(feature = "arrow")]
fn sort_columns(SortArgs { sort, memory, by }: &SortArgs, path: &Path) -> Result<Outcome> {
    let (output, chosen) = sort.run.open(if memory.memory.is_some() { COUNTED } else { AUTO })?;
    let folder = memory.folder(&output)?;
    let room = columns::Room { memory: memory.memory.map(|memory| memory.0), folder };
    let order = by.as_ref().context("the caller has checked it")?;
    columns::sort(path, order, &room, (output, &chosen.any()))?;
    Ok(Outcome::Fine)
}

/// Writes the indices that sort an array or a table.
pub(crate) fn argsort(args: &ArgsortArgs) -> Result<Outcome> {
    let (options, (output, chosen)) = (args.order.options(), args.run.open(AUTO)?);
    let input = Input::open(&args.input)?;
    let (name, format) = (input.name().to_string(), output.format_or(input.format()));
    output.check_terminal(format)?;
    let order = with_key!(input.dtype(), K => argsort_keys(&input.keys::<K>()?, options, &chosen, &name)?);
    output.write(format.bytes(&order), |out| write_array(out, format, Dtype::U32, &order))?;
    Ok(Outcome::Fine)
}

/// Writes the first k keys of the order with their indices, or the rows that hold them.
pub(crate) fn top(args: &TopArgs) -> Result<Outcome> {
    let (options, (output, chosen)) = (args.options(), args.run.open(AUTO)?);
    match Input::open(&args.input)? {
        Input::Array(array) => {
            if output.format_or(Format::Csv) != Format::Csv {
                bail!("{}: keys and their indices can only be written as .csv: name one with -o", output.name());
            }
            let name = array.name().to_string();
            with_key!(array.dtype, K => {
                let TopK { indices, keys } = top_keys(&array.keys::<K>()?, args.k, options, &chosen, &name)?;
                output.write(None, |out| {
                    writeln!(out, "index,key")?;
                    indices.iter().zip(&keys).try_for_each(|(index, key)| writeln!(out, "{index},{key:?}"))
                })?;
            });
        }
        Input::Table(table) => {
            output.check_rows()?;
            let order =
                with_key!(table.dtype, K => top_keys(&table.keys::<K>()?, args.k, options, &chosen, table.name())?.indices);
            output.write(None, |out| table.write(out, &order))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Returns the indices that sort the rows of a table.
pub(crate) fn argsort_rows(table: &Table, options: Options, chosen: &Chosen) -> Result<Vec<u32>> {
    with_key!(table.dtype, K => argsort_keys(&table.keys::<K>()?, options, chosen, table.name()))
}

/// Returns the indices that sort the keys of the input `name`.
fn argsort_keys<K: Key>(keys: &[K], options: Options, chosen: &Chosen, name: &str) -> Result<Vec<u32>> {
    spin(format!("sorting {} keys", keys.len()), || chosen.argsort(keys, options)).with_context(|| cannot_sort(name))
}

/// Returns the first `k` keys of the input `name` and their indices.
fn top_keys<K: Key>(keys: &[K], k: usize, options: Options, chosen: &Chosen, name: &str) -> Result<TopK<K>> {
    spin(format!("selecting from {} keys", keys.len()), || chosen.top_k(keys, k, options)).with_context(|| cannot_sort(name))
}

fn cannot_sort(name: &str) -> String {
    format!("cannot sort {name}")
}
