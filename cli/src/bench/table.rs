//! Results as text for people, and as rows of records.

use super::case::{Algorithm, Case, name};
use super::measure::Measured;
use super::system::OURS;
use polysort_measure::{Row, Verdict};
use std::fmt::Write;

/// The explanation of the numbers of [`text`].
pub(crate) const LEGEND: &str =
    "Medians. The last column is the speed, as a multiple of the speed of the fastest of std and rayon.\n\n";

/// Returns a row of a record for each system that gave answers.
pub(crate) fn rows(run: &str, case: &Case, measured: &[Measured]) -> impl Iterator<Item = Row> {
    measured.iter().filter(|of| !matches!(of.series.verdict, Verdict::Failed(_))).map(|of| of.row(run, case))
}

/// Returns a sentence for each system that returned an error.
pub(crate) fn failures(case: &Case, measured: &[Measured]) -> Vec<String> {
    let sentence = |of: &Measured| match &of.series.verdict {
        Verdict::Failed(why) => Some(format!("{case}: {} {} failed: {why}", of.system, of.backend)),
        Verdict::Verified | Verdict::Wrong => None,
    };
    measured.iter().filter_map(sentence).collect()
}

/// Returns the case, and a line for each system: its time, its speed, and that speed over the speed of the fastest peer.
pub(crate) fn text(case: &Case, measured: &[Measured]) -> String {
    let mut text = format!("{case}\n");
    let peers = measured.iter().filter(|of| of.system != OURS && of.series.is_verified());
    let fastest = peers.map(Measured::median).min();
    for of in measured {
        let algorithm = if of.algorithm == Algorithm::Auto { String::new() } else { format!(" {}", name(&of.algorithm)) };
        let name = format!("{} {}{algorithm}", of.system, of.backend);
        let line = match &of.series.verdict {
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
