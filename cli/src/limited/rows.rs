//! Sorts of the rows of tables within a memory cap.

use super::limit::{Limit, explain};
use super::sink::Sink;
use crate::dtype::{Dtype, Key, with_key};
use crate::files::{Choice, InputArgs, RowStream, Source};
use crate::output::{Output, Writing};
use anyhow::{Result, bail};
use polysort::AnyBackend;
use polysort_external::{Rows, Sorter};
use std::io;

/// Sorts the rows of a table. Without a type of keys, the table is read twice.
pub(super) fn sort(source: Source, input: &InputArgs, limit: &Limit, output: Output) -> Result<()> {
    output.check_rows()?;
    let (name, args) = (source.name.clone(), input.columns().table());
    let longest = sorter::<u8>(limit, &name).longest_row();
    let (source, dtype) = match args.dtype {
        Some(dtype) => (source, dtype),
        None if source.bytes.is_none() => {
            bail!("{name} can be read only once, so the type of its keys cannot be found before they are read: add --dtype")
        }
        None => {
            let dtype = RowStream::open(source, &args, longest)?.choose(&mut Choice::new(&args))?;
            (input.source()?, dtype)
        }
    };
    let rows = RowStream::open(source, &args, longest)?;
    let mut writing = output.begin();
    let head = rows.head().to_vec();
    let sorted = with_key!(dtype, K => {
        sorter::<K>(limit, &name).sort_rows(next_row(rows, dtype), sink(&mut writing, head))
    });
    sorted.map_err(|error| explain(error, &name, &writing))?;
    writing.finish()
}

/// Returns a sorter of rows within the cap.
pub(super) fn sorter<K>(limit: &Limit, what: &str) -> Sorter<'static, Rows<K>, AnyBackend> {
    limit.sorter(Rows::new(), what, None)
}

/// Returns a function that reads the next row.
pub(super) fn next_row<K: Key>(mut rows: RowStream, dtype: Dtype) -> impl FnMut(&mut Vec<u8>) -> io::Result<Option<K>> + Send {
    move |text| rows.next(dtype, text).map_err(io::Error::other)
}

/// Returns a sink of rows. `head` comes before the first one.
pub(super) fn sink(writing: &mut Writing, head: Vec<u8>) -> Sink<'_> {
    Sink::new(writing, Box::new(move |out| out.write_all(&head)), None)
}
