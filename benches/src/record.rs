//! The row of a measurement, and the text about the machine that lies beside a record.

use crate::timing::Timed;
use anyhow::Result;
use polysort_report::{Cell, Row};
use std::io::Write;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the row of what was measured over `slices` slices.
pub fn row(run: &str, cell: &Cell, timed: &Timed, slices: usize) -> Row {
    let at = |share: f64| nanoseconds(timed.times[((timed.times.len() - 1) as f64 * share).round() as usize], slices);
    Row {
        run: run.into(),
        system: timed.system.into(),
        backend: timed.backend.into(),
        algorithm: "auto".into(),
        cell: cell.clone(),
        times: [at(0.5), at(0.05), at(0.95), at(0.0), at(1.0)],
        reps: timed.times.len(),
        verified: timed.verified,
    }
}

fn nanoseconds(time: Duration, slices: usize) -> u64 {
    (time.as_nanos() as f64 / slices as f64).round() as u64
}

/// A name for this process: no other has it.
pub fn run_name() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    format!("{:x}", now.as_nanos())
}

/// Writes what a reader must know of the machine and the build. `commit` is that of the sources.
///
/// # Errors
/// If the writer fails.
pub fn describe_machine(out: &mut impl Write, commit: &str) -> Result<()> {
    let lscpu =
        Command::new("lscpu").output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let wanted = [
        "Architecture",
        "Vendor ID",
        "Model name",
        "CPU family",
        "Model:",
        "CPU(s):",
        "Thread(s) per core",
        "Hypervisor",
        "L1d",
        "L2",
        "L3",
    ];
    for line in lscpu.lines().filter(|line| wanted.iter().any(|name| line.starts_with(name))) {
        writeln!(out, "{line}")?;
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_string();
    // Only the version number: the rest names the machine that built the kernel.
    writeln!(out, "Kernel: Linux {}", read("/proc/sys/kernel/osrelease").split('-').next().unwrap_or_default())?;
    writeln!(out, "Huge pages: {}", read("/sys/kernel/mm/transparent_hugepage/enabled"))?;
    writeln!(out, "Load before: {}", read("/proc/loadavg"))?;
    writeln!(out, "Commit: {commit}")?;
    Ok(())
}
