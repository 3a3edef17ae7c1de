//! `calibrate`: measures what `auto` chooses by, and stores it.

use crate::Outcome;
use anyhow::{Context, Result};
use polysort::{Auto, Backend};
use std::io::{Write, stdout};

/// Measures every device, stores what came of it, and tells what `auto` makes of that.
pub(crate) fn calibrate() -> Result<Outcome> {
    let mut out = stdout();
    let mut told = Ok(());
    let calibration = polysort::calibrate(|device| {
        if told.is_ok() {
            told = writeln!(out, "measuring {device}").and_then(|()| out.flush());
        }
    })?;
    told?;
    let path = calibration.store().context("cannot store the calibration")?;
    writeln!(out, "stored in {}", path.display())?;
    // Opened anew, it reads what was stored.
    for line in Auto::open()?.explain() {
        writeln!(out, "        {line}")?;
    }
    Ok(Outcome::Fine)
}
