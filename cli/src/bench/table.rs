//! Results as text for people and as CSV rows for records.

use super::case::name;
use super::{Case, Measured, OURS, Verdict, Way};
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// The columns of a record; the same in all of this project's.
pub(crate) const CSV_HEADER: &str =
    "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified";

/// What the numbers of [`text`] are.
pub(crate) const LEGEND: &str = "Medians; the last column is how many times as fast as the fastest of std and rayon.\n\n";

/// A name for this run: when it began, in nanoseconds since 1970.
pub(crate) fn run_id() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format!("{:x}", since.as_nanos())
}

/// One row for each system that answered.
pub(crate) fn csv_rows(run: &str, case: &Case, measured: &[Measured]) -> String {
    let Case { op, dtype, payload, pattern, direction, len } = case;
    let what = format!("{},{},{},{},{},{len}", name(op), dtype.name(), name(payload), name(pattern), name(direction));
    let mut rows = String::new();
    for of in measured.iter().filter(|of| !matches!(of.verdict, Verdict::Failed(_))) {
        let [median, p5, p95, min, max] = [50, 5, 95, 0, 100].map(|percent| of.percentile(percent));
        let (system, backend, reps, verified) = (of.system, of.backend, of.nanos.len(), of.verdict == Verdict::Verified);
        let way = name(&of.way);
        let row = format!("{run},{system},{backend},{way},{what},end_to_end,{median},{p5},{p95},{min},{max},{reps},{verified}\n");
        rows += &row;
    }
    rows
}

/// The case, and a line for each system: its speed, and how often it is as fast as the fastest of the others.
pub(crate) fn text(case: &Case, measured: &[Measured]) -> String {
    let mut text = format!("{case}\n");
    let peers = measured.iter().filter(|of| of.system != OURS && of.verdict == Verdict::Verified);
    let fastest = peers.map(Measured::median).min();
    for of in measured {
        let way = if of.way == Way::Auto { String::new() } else { format!(" {}", name(&of.way)) };
        let name = format!("{} {}{way}", of.system, of.backend);
        let line = match &of.verdict {
            Verdict::Failed(why) => format!("failed: {why}"),
            verdict => {
                let median = of.median();
                let ratio = fastest.map_or_else(String::new, |fastest| format!("{:>8.2}x", fastest as f64 / median as f64));
                let wrong = if *verdict == Verdict::Wrong { "  WRONG ANSWER" } else { "" };
                format!("{:>10}  {}{ratio}{wrong}", duration(median), speed(case.len, median))
            }
        };
        writeln!(text, "  {name:<32}{line}").expect("a String takes all");
    }
    text + "\n"
}

/// `123.4 Mkeys/s`
pub(crate) fn speed(keys: usize, nanos: u64) -> String {
    format!("{:>8.1} Mkeys/s", keys as f64 * 1e3 / nanos.max(1) as f64)
}

fn duration(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{nanos} ns"),
        10_000..10_000_000 => format!("{:.1} us", nanos as f64 / 1e3),
        _ => format!("{:.1} ms", nanos as f64 / 1e6),
    }
}
