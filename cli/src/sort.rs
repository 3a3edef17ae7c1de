//! `sort`, `argsort` and `top`: read, sort, write.

use crate::Outcome;
use crate::args::{SortArgs, TopArgs};
use crate::backend::Chosen;
use crate::dtype::{Dtype, Key, with_key};
use crate::files::{Format, Input, Table, check_writable, write_array};
use crate::output::Output;
use crate::progress::spin;
use anyhow::{Result, bail};
use polysort::{Options, TopK};

/// Sorts an array, or the rows of a table.
pub(crate) fn sort(args: &SortArgs) -> Result<Outcome> {
    let (options, chosen, output) =
        (args.order.options(), Chosen::open(&args.run.backend)?, Output::open(args.run.output.as_deref())?);
    match Input::open(&args.input)? {
        Input::Array(array) => {
            let (dtype, format) = (array.dtype, output.format_or(array.format()));
            check_writable(format, dtype)?;
            output.check_terminal(format)?;
            with_key!(dtype, K => {
                let mut keys = array.keys::<K>()?;
                spin(format!("sorting {} keys", keys.len()), || chosen.sort(&mut keys, options))?;
                output.write(format.bytes(&keys), |out| write_array(out, format, dtype, &keys))?;
            });
        }
        Input::Table(table) => {
            check_rows(&output)?;
            let order = argsort_rows(&table, options, &chosen)?;
            output.write(Some(table.bytes()), |out| table.write(out, &order))?;
        }
    }
    Ok(Outcome::Fine)
}

/// Writes the permutation that sorts an array or a table.
pub(crate) fn argsort(args: &SortArgs) -> Result<Outcome> {
    let (options, chosen, output) =
        (args.order.options(), Chosen::open(&args.run.backend)?, Output::open(args.run.output.as_deref())?);
    let input = Input::open(&args.input)?;
    let format = output.format_or(input.format());
    output.check_terminal(format)?;
    let order = with_key!(input.dtype(), K => argsort_keys(&input.keys::<K>()?, options, &chosen)?);
    output.write(format.bytes(&order), |out| write_array(out, format, Dtype::U32, &order))?;
    Ok(Outcome::Fine)
}

/// Writes the first keys of the order with their indices, or the rows that have them.
pub(crate) fn top(args: &TopArgs) -> Result<Outcome> {
    let (options, chosen, output) = (args.options(), Chosen::open(&args.run.backend)?, Output::open(args.run.output.as_deref())?);
    match Input::open(&args.input)? {
        Input::Array(array) => {
            if output.format_or(Format::Csv) != Format::Csv {
                bail!("top writes keys beside their indices, which only a .csv can hold: name one with -o");
            }
            with_key!(array.dtype, K => {
                let TopK { indices, keys } = top_keys(&array.keys::<K>()?, args.k, options, &chosen)?;
                output.write(None, |out| {
                    writeln!(out, "index,key")?;
                    indices.iter().zip(&keys).try_for_each(|(index, key)| writeln!(out, "{index},{key:?}"))
                })?;
            });
        }
        Input::Table(table) => {
            check_rows(&output)?;
            let order = with_key!(table.dtype, K => top_keys(&table.keys::<K>()?, args.k, options, &chosen)?.indices);
            output.write(None, |out| table.write(out, &order))?;
        }
    }
    Ok(Outcome::Fine)
}

/// The permutation that sorts the rows of a table.
pub(crate) fn argsort_rows(table: &Table, options: Options, chosen: &Chosen) -> Result<Vec<u32>> {
    with_key!(table.dtype, K => argsort_keys(&table.keys::<K>()?, options, chosen))
}

fn argsort_keys<K: Key>(keys: &[K], options: Options, chosen: &Chosen) -> Result<Vec<u32>> {
    Ok(spin(format!("sorting {} keys", keys.len()), || chosen.argsort(keys, options))?)
}

fn top_keys<K: Key>(keys: &[K], k: usize, options: Options, chosen: &Chosen) -> Result<TopK<K>> {
    Ok(spin(format!("selecting from {} keys", keys.len()), || chosen.top_k(keys, k, options))?)
}

/// Rows of a table have no other format than theirs.
fn check_rows(output: &Output) -> Result<()> {
    if output.format_or(Format::Csv) != Format::Csv {
        bail!("the rows of a .csv can only be written as .csv: name one with -o");
    }
    Ok(())
}
