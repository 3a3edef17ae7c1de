//! `calibrate`: measures the costs by which `auto` chooses, and stores them.

use crate::outcome::Outcome;
use crate::standard::stdout;
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use polysort::{Auto, Backend, Calibration};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    /// The longest time in seconds that a device is measured. If this time ends too soon, the costs of longer sorts are estimated, or the GPU is left
    /// out, and a line reports it. The shortest sorts on the CPU are always measured.
    #[arg(long, value_name = "SECONDS", default_value_t = Calibration::BUDGET.as_secs_f64(), value_parser = seconds)]
    budget: f64,
}

/// Measures each device, stores the costs, and prints them.
pub(crate) fn calibrate(args: &CalibrateArgs) -> Result<Outcome> {
    let mut out = stdout()?;
    // Reports a file that cannot be replaced before it measures.
    let checked = Calibration::path().map_err(Into::into).and_then(|path| check_folder(&path));
    checked.context("cannot store the calibration")?;
    let mut written = Ok(());
    let calibration = polysort::calibrate(Duration::from_secs_f64(args.budget), |line| {
        if written.is_ok() {
            written = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    })?;
    written?;
    let path = calibration.store().context("cannot store the calibration")?;
    writeln!(out, "stored in {}", path.display())?;
    // A new `Auto` reads the stored file.
    for line in Auto::open()?.explain() {
        writeln!(out, "        {line}")?;
    }
    Ok(Outcome::Fine)
}

/// Checks that a file can be created in the folder of `path`, or in the nearest folder above that exists. It leaves no file there.
fn check_folder(path: &Path) -> Result<()> {
    // The target of a symbolic link is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.into());
    let folder = target.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    tempfile::tempfile_in(folder).map(drop).map_err(|error| {
        anyhow!("{} cannot be written: no file can be created in {}: {}", path.display(), folder.display(), error.kind())
    })
}

/// Parses a number of seconds that a [`Duration`] can hold.
fn seconds(text: &str) -> Result<f64> {
    let seconds: f64 = text.parse().context("give a number of seconds such as 20 or 0.5")?;
    ensure!(Duration::try_from_secs_f64(seconds).is_ok(), "give a number of seconds from 0 on, such as 20 or 0.5");
    Ok(seconds)
}
