//! Results as text for people, and as CSV rows for records.

use super::case::{Algorithm, Case, name};
use super::measure::{Measured, Verdict};
use super::system::OURS;
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// The columns of a record.
pub(crate) const CSV_HEADER: &str =
    "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified";

/// The explanation of the numbers of [`text`].
pub(crate) const LEGEND: &str =
    "Medians. The last column is the speed, as a multiple of the speed of the fastest of std and rayon.\n\n";

/// Returns a name for this run: the time when it began, in nanoseconds since 1970.
pub(crate) fn run_id() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format!("{:x}", since.as_nanos())
}

/// Returns a row for each system that gave answers.
pub(crate) fn csv_rows(run: &str, case: &Case, measured: &[Measured]) -> String {
    let Case { op, dtype, payload, pattern, direction, len } = case;
    let what = format!("{},{},{},{},{},{len}", name(op), dtype.name(), name(payload), name(pattern), name(direction));
    let mut rows = String::new();
    for of in measured.iter().filter(|of| !matches!(of.verdict, Verdict::Failed(_))) {
        let [median, p5, p95, min, max] = [50, 5, 95, 0, 100].map(|percent| of.percentile(percent));
        let (system, backend, reps, verified) = (of.system, of.backend, of.nanos.len(), of.verdict == Verdict::Verified);
        let algorithm = name(&of.algorithm);
        let row =
            format!("{run},{system},{backend},{algorithm},{what},end_to_end,{median},{p5},{p95},{min},{max},{reps},{verified}\n");
        rows += &row;
    }
    rows
}

/// Returns a sentence for each system that returned an error.
pub(crate) fn failures(case: &Case, measured: &[Measured]) -> Vec<String> {
    let sentence = |of: &Measured| match &of.verdict {
        Verdict::Failed(why) => Some(format!("{case}: {} {} failed: {why}", of.system, of.backend)),
        Verdict::Verified | Verdict::Wrong => None,
    };
    measured.iter().filter_map(sentence).collect()
}

/// Returns the case, and a line for each system: its time, its speed, and that speed over the speed of the fastest peer.
pub(crate) fn text(case: &Case, measured: &[Measured]) -> String {
    let mut text = format!("{case}\n");
    let peers = measured.iter().filter(|of| of.system != OURS && of.verdict == Verdict::Verified);
    let fastest = peers.map(Measured::median).min();
    for of in measured {
        let algorithm = if of.algorithm == Algorithm::Auto { String::new() } else { format!(" {}", name(&of.algorithm)) };
        let name = format!("{} {}{algorithm}", of.system, of.backend);
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

/// Returns the speed in words: `123.4 Mkeys/s`.
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
