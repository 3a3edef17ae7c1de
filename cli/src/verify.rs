//! `verify`: whether a file is sorted, and the first pair of keys that is not.

use crate::dtype::{Dtype, Key, with_key};
use crate::files::{Input, InputArgs};
use crate::message::printable;
use crate::order::{OrderArgs, Ranking};
use crate::outcome::Outcome;
use crate::standard::stdout;
use anyhow::{Context, Result};
use clap::Args;
use polysort::{Options, Order};
use std::io::{ErrorKind, Write};

#[derive(Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    order: OrderArgs,
}

/// Checks the input and prints the finding.
pub(crate) fn verify(args: &VerifyArgs) -> Result<Outcome> {
    let (mut out, input, options) = (stdout()?, Input::open(&args.input)?, args.order.options());
    let (name, dtype) = (input.name().to_string(), input.dtype());
    let (text, outcome) = with_key!(dtype, K => {
        let (keys, line) = match input {
            Input::Array(array) => (array.keys::<K>()?, None),
            Input::Table(table) => {
                let keys = table.keys::<K>()?;
                let line: Box<dyn Fn(usize) -> usize> = Box::new(move |row| table.line(row));
                (keys, Some(line))
            }
        };
        report(&keys, dtype, options, line.as_deref()).with_context(|| format!("cannot check {name}"))?
    });
    match out.write_all(format!("{}: {text}\n", printable(&name)).as_bytes()) {
        // The exit code is the result, even if the reader of the line has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(outcome),
        written => Ok(written.map(|()| outcome)?),
    }
}

/// Returns a line for people, and the outcome for scripts. `line` returns the line of a key in a table.
fn report<K: Key>(
    keys: &[K],
    dtype: Dtype,
    options: Options,
    line: Option<&dyn Fn(usize) -> usize>,
) -> Result<(String, Outcome)> {
    let counted = format!("{} {} keys", keys.len(), dtype.name());
    let window = options.window.map_or("", |_| " in these bits");
    let mut opposite = options;
    opposite.order = match options.order {
        Order::Ascending => Order::Descending,
        Order::Descending => Order::Ascending,
    };
    let is_opposite = || Ok::<_, polysort::Error>(violation(keys, opposite)?.is_none());
    let Some(at) = violation(keys, options)? else {
        let both = if keys.len() > 1 && is_opposite()? { ", all of them equal" } else { "" };
        return Ok((format!("sorted {}{window}, {counted}{both}", word(options.order)), Outcome::Fine));
    };
    let place = |key: usize| line.map_or_else(|| key.to_string(), |line| format!("{key} (line {})", line(key)));
    let hint = match (is_opposite()?, opposite.order) {
        (false, _) => "",
        (true, Order::Ascending) => "; it is sorted ascending: leave out --descending",
        (true, Order::Descending) => "; it is sorted descending: add --descending",
    };
    let text = format!(
        "not sorted {}{window}, {counted}: key {} is {:?}, key {} is {:?}{hint}",
        word(options.order),
        place(at),
        keys[at],
        place(at + 1),
        keys[at + 1]
    );
    Ok((text, Outcome::Failed))
}

/// Returns the index of the first key that must come after its successor.
fn violation<K: Key>(keys: &[K], options: Options) -> Result<Option<usize>, polysort::Error> {
    let ranking = Ranking::new::<K>(options)?;
    Ok(keys.windows(2).position(|pair| ranking.compare(&pair[0], &pair[1]).is_gt()))
}

fn word(order: Order) -> &'static str {
    match order {
        Order::Ascending => "ascending",
        Order::Descending => "descending",
    }
}
