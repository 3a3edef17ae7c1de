//! Bytes moved by a sort, against the rate of a copy.
//!
//! A sort that moves its records reads and writes each of them at least once. The figure divides these bytes by the time of the sort. The copy moves as many bytes
//! with nothing else to do, so its rate is the roof. A radix sort that moves every record once for each digit of 8 bits stays below the roof divided by the
//! number of digits.

use super::figure::{Cases, Panel, Setting, bytes, caption, figure, key_rank, ordered, panels, setting, short};
use crate::contest::{COPY, Case, Contests, OURS, Standing};
use crate::error::ReportError;
use crate::html::{digits, escape, length_html};
use crate::record::Origin;
use core::fmt::Write;
use polysort_measure::By;
use std::collections::BTreeMap;

/// The bytes of an index that an argsort writes.
const INDEX: usize = 4;

/// Returns the figures: one for each setting in which a copy was measured.
pub(super) fn figures(origin: &Origin, contests: &Contests, by: By) -> Result<Vec<String>, ReportError> {
    let mut all: BTreeMap<Setting, Cases<'_>> = BTreeMap::new();
    for (case, standings) in contests.iter().filter(|(case, _)| case.is_uniform() && moved(case).is_some()) {
        let has_both = |standing: &Standing| standing.times.contains_key(COPY) && standing.times.contains_key(OURS);
        if standings.iter().any(has_both) {
            all.entry(setting(case)).or_default().push((case, standings));
        }
    }
    all.into_iter().map(|(setting, cases)| draw(origin, by, &setting, cases)).collect()
}

/// Returns the bytes that a sort and its copy move for each key, read and written once.
fn moved(case: &Case) -> Option<(f64, f64)> {
    let (key, payload) = (bytes(&case.key)?, bytes(&case.payload)?);
    let (sort, copy) = match case.op() {
        "sort" | "in-place" => (2 * key, 2 * key),
        "sort_pairs" => (2 * (key + payload), 2 * (key + payload)),
        // It reads keys and writes indices; the copy is one of indices.
        "argsort" => (key + INDEX, 2 * INDEX),
        _ => return None,
    };
    Some((sort as f64, copy as f64))
}

fn draw(origin: &Origin, by: By, setting: &Setting, mut cases: Cases<'_>) -> Result<String, ReportError> {
    cases.sort_by_key(|(case, _)| (case.rank, case.operation(), key_rank(&case.key), case.order.clone()));
    let (mut drawn, mut list) = (vec![], String::from("<ul>\n"));
    for (case, standings) in cases {
        let Some((sort, copy)) = moved(case) else { continue };
        let title = format!("{}, {}", case.operation(), case.keys());
        let mut lines = BTreeMap::<String, Vec<(usize, f64)>>::new();
        for standing in standings {
            for (name, time) in standing.times.iter().filter(|(name, _)| *name != "memory") {
                let moved = if name == COPY { copy } else { sort };
                let rate = standing.n as f64 * moved / time.nanos;
                lines.entry(name.clone()).or_default().push((standing.n, rate));
                // An 8-bit digit for each byte of the key.
                let passes = bytes(&case.key).unwrap_or(0);
                if name == COPY && case.op() != "argsort" && passes > 1 {
                    lines.entry(format!("memcpy ÷ {passes}")).or_default().push((standing.n, rate / passes as f64));
                }
            }
        }
        let longest = standings.iter().rev().find_map(|standing| {
            let rate = |name: &str, bytes: f64| Some(standing.n as f64 * bytes / standing.times.get(name)?.nanos);
            Some((standing.n, rate(OURS, sort)?, rate(COPY, copy)?))
        });
        if let Some((n, ours, roof)) = longest {
            writeln!(
                list,
                "<li>{}, {} keys: polysort moves {} GB/s, {} × the copy's {} GB/s.</li>",
                escape(&title),
                length_html(n),
                digits(ours),
                digits(ours / roof),
                digits(roof)
            )
            .expect("a String takes all");
        }
        drawn.push(Panel { title, lines: lines.into_iter().collect() });
    }
    let names = ordered(drawn.iter().flat_map(|panel| &panel.lines).map(|line| &line.0));
    let title = format!("Bytes moved against the machine's copy rate: {}", short(setting));
    let about = "Bytes of a sort: each key and value read once and written once; an argsort reads keys and writes indices of 4 bytes. More bytes than these may be \
                 moved; the record does not count them. The roof is the rate of <code>memcpy</code>, a copy of as many bytes on as many threads. \
                 <code>memcpy ÷ 4</code> is the roof of a radix sort that moves 32-bit keys once for each 8-bit digit. Uniform keys; both axes are logarithmic.";
    let content = caption(&title, about, origin, by) + &panels(&names, &drawn, "GB/s, read and written")? + &list + "</ul>\n";
    Ok(figure(&title, true, &content))
}
