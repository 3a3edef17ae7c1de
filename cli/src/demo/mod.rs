//! `demo`: real and generated data on every backend that opens, each answer checked against std.

mod flights;
mod generated;

use crate::outcome::Outcome;
use crate::standard::stdout;
use anyhow::{Result, bail};
use clap::Args;
use polysort::{AnyBackend, Backend};
use std::io::Write;

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// Sort 2^18 (262,144) generated keys instead of 2^24 (16,777,216).
    #[arg(long)]
    quick: bool,
}

/// Sorts all data on every backend, checks the answers and prints them. The outcome is a failure if any answer is wrong or missing.
pub(crate) fn demo(args: &DemoArgs) -> Result<Outcome> {
    let out = &mut stdout()?;
    let mut backends = vec![];
    for &name in AnyBackend::NAMES {
        match AnyBackend::by_name(name) {
            Ok(backend) => {
                writeln!(out, "{name}: {}", backend.name())?;
                backends.push(backend);
            }
            Err(error) => writeln!(out, "{name}: not shown: {error}")?,
        }
    }
    if backends.is_empty() {
        bail!("no backend opens on this machine; `polysort devices` prints the reasons");
    }
    let outcomes = [flights::show(out, &backends)?, generated::show(out, &backends, args.quick)?];
    if outcomes.contains(&Outcome::Failed) {
        writeln!(out, "\nSome answers are WRONG or missing, see above.")?;
        return Ok(Outcome::Failed);
    }
    writeln!(out, "\nEvery answer is that of std.")?;
    Ok(Outcome::Fine)
}
