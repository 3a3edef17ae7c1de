//! A row of a record, and the text about the machine that lies beside it.

use crate::timing::Timed;
use anyhow::Result;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The columns of a record.
pub const HEADER: [&str; 19] = [
    "run",
    "system",
    "backend",
    "algorithm",
    "op",
    "key",
    "payload",
    "pattern",
    "order",
    "n",
    "scope",
    "threads",
    "median_ns",
    "p5_ns",
    "p95_ns",
    "min_ns",
    "max_ns",
    "reps",
    "verified",
];

/// What was sorted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// `sort`, `sort_pairs` or `argsort`.
    pub op: String,
    /// The key's type.
    pub key: String,
    /// The payload's type, or `none`.
    pub payload: String,
    /// The name of the pattern.
    pub pattern: String,
    /// Keys of a slice.
    pub n: usize,
    /// Threads of the run.
    pub threads: usize,
}

/// Which of a row's times counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The median.
    Median,
    /// The least: where other jobs disturb the machine.
    Least,
}

/// One system in one cell. Times are nanoseconds of one slice.
#[derive(Clone, Debug)]
pub struct Row {
    /// The process.
    pub run: String,
    /// Who wrote it.
    pub system: String,
    /// Its function.
    pub backend: String,
    /// What was sorted.
    pub cell: Cell,
    /// Median, 5th and 95th percentile, least and greatest time.
    pub times: [u64; 5],
    /// Timed runs.
    pub reps: usize,
    /// Whether each run gave the right answer.
    pub verified: bool,
}

impl Row {
    /// The row of what was measured over `slices` slices.
    pub fn new(run: &str, cell: &Cell, timed: &Timed, slices: usize) -> Self {
        let at = |share: f64| nanoseconds(timed.times[((timed.times.len() - 1) as f64 * share).round() as usize], slices);
        Self {
            run: run.into(),
            system: timed.system.into(),
            backend: timed.backend.into(),
            cell: cell.clone(),
            times: [at(0.5), at(0.05), at(0.95), at(0.0), at(1.0)],
            reps: timed.times.len(),
            verified: timed.verified,
        }
    }

    /// The time of one slice that counts, in nanoseconds.
    pub fn time(&self, by: By) -> f64 {
        self.times[if by == By::Median { 0 } else { 3 }].max(1) as f64
    }

    /// The fields in the order of [`HEADER`].
    pub fn fields(&self) -> Vec<String> {
        let Cell { op, key, payload, pattern, n, threads } = &self.cell;
        let texts = [&self.run, &self.system, &self.backend, "auto", op, key, payload, pattern, "asc"];
        let mut fields: Vec<String> = texts.into_iter().map(String::from).collect();
        fields.extend([n.to_string(), "end_to_end".into(), threads.to_string()]);
        fields.extend(self.times.map(|time| time.to_string()));
        fields.extend([self.reps.to_string(), self.verified.to_string()]);
        fields
    }

    /// The rows of a CSV file that has the columns of [`HEADER`].
    ///
    /// # Errors
    /// If the file cannot be read, or is no such record.
    pub fn read_all(path: &std::path::Path) -> Result<Vec<Self>> {
        let mut reader = csv::Reader::from_path(path)?;
        anyhow::ensure!(reader.headers()? == HEADER.as_slice(), "{} is no record with threads", path.display());
        reader.records().map(|record| Self::parse(&record?)).collect()
    }

    fn parse(record: &csv::StringRecord) -> Result<Self> {
        let text = |at: usize| record.get(at).unwrap_or_default().to_string();
        let number = |at: usize| -> Result<u64> { Ok(text(at).parse()?) };
        let cell = Cell {
            op: text(4),
            key: text(5),
            payload: text(6),
            pattern: text(7),
            n: number(9)? as usize,
            threads: number(11)? as usize,
        };
        let times = [number(12)?, number(13)?, number(14)?, number(15)?, number(16)?];
        let (reps, verified) = (number(17)? as usize, text(18) == "true");
        Ok(Self { run: text(0), system: text(1), backend: text(2), cell, times, reps, verified })
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
