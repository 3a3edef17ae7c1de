//! `demo`: real and generated data on every backend that opens, each answer checked against std.

mod flights;
mod generated;

use crate::Outcome;
use crate::args::DemoArgs;
use anyhow::{Result, bail};
use polysort::{AnyBackend, Backend};
use std::io::{Write, stdout};

/// Sorts, checks and shows all of it, and fails in the end if any answer was wrong.
pub(crate) fn demo(args: &DemoArgs) -> Result<Outcome> {
    let out = &mut stdout();
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
        bail!("no backend opens on this machine; `polysort devices` tells why");
    }
    let outcomes = [flights::show(out, &backends)?, generated::show(out, &backends, args.quick)?];
    if outcomes.contains(&Outcome::Failed) {
        writeln!(out, "\nSome answers are WRONG or missing, see above.")?;
        return Ok(Outcome::Failed);
    }
    writeln!(out, "\nEvery answer is that of std.")?;
    Ok(Outcome::Fine)
}
