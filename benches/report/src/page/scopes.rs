//! End to end against resident: what the copies to a GPU and back cost.

use super::figure::{Panel, caption, figure, key_rank, speed_panels};
use crate::contest::{Case, Contests, END_TO_END, Functions, OURS, RESIDENT, Standing, contests};
use crate::error::ReportError;
use crate::html::{digits, duration, escape, length_html};
use crate::record::Record;
use core::fmt::Write;
use polysort_measure::By;
use std::collections::BTreeSet;

/// Returns the figure of the first of `records` that has both scopes of a sort of ours.
pub(super) fn figure_of_newest<'a>(records: impl Iterator<Item = &'a Record>, by: By) -> Result<Option<String>, ReportError> {
    for record in records {
        let contests = contests(&record.rows, by, Functions::Each);
        let both = both(&contests);
        if !both.is_empty() {
            return draw(record, by, &both).map(Some);
        }
    }
    Ok(None)
}

/// The standings of a case on the device, and from slice to slice.
type Both<'a> = (&'a Case, &'a [Standing], &'a [Standing]);

/// Returns the cases of uniform keys for which ours was measured in both scopes, with one number of keys at least.
fn both(contests: &Contests) -> Vec<Both<'_>> {
    let mut both = vec![];
    for (case, resident) in contests.iter().filter(|(case, _)| case.scope == RESIDENT && case.is_uniform()) {
        let end_to_end = contests.get(&Case { scope: END_TO_END.into(), ..case.clone() });
        if let Some(end_to_end) = end_to_end.filter(|end_to_end| !factors(resident, end_to_end).is_empty()) {
            both.push((case, &resident[..], &end_to_end[..]));
        }
    }
    both.sort_by_key(|(case, ..)| (case.rank, case.operation(), key_rank(&case.key), case.order.clone()));
    both
}

/// Returns the numbers of keys that ours was measured for in both scopes, with the two times.
fn factors(resident: &[Standing], end_to_end: &[Standing]) -> Vec<(usize, f64, f64)> {
    let time = |standing: &Standing| Some(standing.times.get(OURS)?.nanos);
    let pair = |of: &Standing| {
        let other = end_to_end.iter().find(|other| other.n == of.n)?;
        Some((of.n, time(of)?, time(other)?))
    };
    resident.iter().filter_map(pair).collect()
}

fn draw(record: &Record, by: By, both: &[Both<'_>]) -> Result<String, ReportError> {
    let mut drawn = vec![];
    let mut list = String::from("<ul>\n");
    for &(case, resident, end_to_end) in both {
        let title = format!("{}, {}", case.operation(), case.keys());
        let mut panel = Panel { title, lines: vec![] };
        for (standings, scope) in [(resident, "on the device"), (end_to_end, "end to end")] {
            let names: BTreeSet<&String> = standings.iter().flat_map(|standing| standing.times.keys()).collect();
            for name in names {
                let speed = |standing: &Standing| Some((standing.n, standing.n as f64 * 1e3 / standing.times.get(name)?.nanos));
                panel.lines.push((format!("{name} ({scope})"), standings.iter().filter_map(speed).collect()));
            }
        }
        for (n, resident, end_to_end) in factors(resident, end_to_end) {
            writeln!(
                list,
                "<li>{}, {} keys: {} end to end, {} on the device: {} × the time.</li>",
                escape(&panel.title),
                length_html(n),
                duration(end_to_end),
                duration(resident),
                digits(end_to_end / resident)
            )
            .expect("a String takes all");
        }
        drawn.push(panel);
    }
    // Those on the device first, so that ours there has the solid line.
    let mut names: Vec<String> = vec![];
    for (name, _) in drawn.iter().flat_map(|panel| &panel.lines) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names.sort_by_key(|name| !name.starts_with(OURS));
    let title = "End to end against resident";
    let about = "On the device: device times of sorts of keys that are on the GPU. End to end: from the caller's slice to the caller's slice, with the \
                 copies to the GPU and back. Uniform keys. Higher is faster; both axes are logarithmic. No newer record of this machine has both.";
    let content = caption(title, about, &record.origin, by) + &speed_panels(&names, drawn)? + &list + "</ul>\n";
    Ok(figure(title, true, &content))
}
