//! The text about the machine that lies beside a record.

use anyhow::Result;
use std::io::Write;
use std::process::Command;

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
