//! Speeds by pattern: a row for each pattern, a point for each system.

use super::figure::{Marks, Setting, caption, figure, key_rank, legend, ordered, setting, short, speed_unit};
use crate::contest::{COPY, Case, Contests, Standing, is_ours};
use crate::error::ReportError;
use crate::html::{escape, length};
use crate::plot::{self, PANEL, Points};
use crate::record::Origin;
use crate::style::Style;
use core::cmp::Reverse;
use core::fmt::Write;
use polysort_measure::{By, Row};
use std::collections::BTreeMap;

/// Pixels of a row, and of the axis below all rows.
const ROW: u32 = 22;
const AXIS: u32 = 64;

/// A panel needs this many patterns: two do not show how a system depends on them.
const LEAST: usize = 3;

/// Returns the figures: one for each setting and number of keys, the longest first and open.
pub(super) fn figures(origin: &Origin, rows: &[Row], contests: &Contests, by: By) -> Result<Vec<String>, ReportError> {
    let known = patterns(rows);
    let place = |pattern: &str| known.iter().position(|known| known == pattern);
    // The figures by setting and number of keys, the panels by operation and keys, and the rows.
    type Panels<'a> = BTreeMap<(usize, String, (bool, usize, String), String), Vec<(Option<usize>, &'a Case, &'a Standing)>>;
    let mut all: BTreeMap<(Reverse<usize>, Setting), Panels<'_>> = BTreeMap::new();
    for (case, standings) in contests {
        for standing in standings.iter().filter(|standing| standing.times.keys().any(|name| is_ours(name))) {
            let panel = (case.rank, case.operation(), key_rank(&case.key), case.keys());
            let panels = all.entry((Reverse(standing.n), setting(case))).or_default();
            panels.entry(panel).or_default().push((place(&case.pattern), case, standing));
        }
    }
    for panels in all.values_mut() {
        panels.retain(|_, rows| rows.len() >= LEAST);
        panels.values_mut().for_each(|rows| rows.sort_by_key(|row| row.0));
    }
    all.retain(|_, panels| !panels.is_empty());
    let longest = all.keys().map(|(n, _)| *n).next();
    let mut figures = vec![];
    for ((n, setting), panels) in all {
        let title = format!("Speed by pattern, {} keys: {}", length(n.0), short(&setting));
        let shown = |standing: &Standing| standing.times.keys().filter(|name| *name != "memory").cloned().collect::<Vec<_>>();
        let names: Vec<String> = panels.values().flatten().flat_map(|(_, _, standing)| shown(standing)).collect();
        let names = ordered(names.iter());
        let styles = Style::of_all(&names);
        let speed = |standing: &Standing, name: &String| Some(standing.n as f64 * 1e3 / standing.times.get(name)?.nanos);
        let all_rows = || panels.values().flatten();
        let speeds = || all_rows().flat_map(|(_, _, standing)| names.iter().filter_map(|name| speed(standing, name)));
        let (unit, divisor) = speed_unit(speeds());
        let values = plot::around(speeds().map(|speed| speed / divisor));
        let mut about = String::from("To the right is faster; the axis is logarithmic.");
        if names.iter().any(|name| name == COPY) {
            about += " <code>memcpy</code> only copies the bytes: no sort that moves its keys is faster.";
        }
        if names.len() == 1 {
            about += " The record has no peers.";
        }
        let mut content =
            caption(&title, &about, origin, by) + &legend(&names, &styles, Marks::Points) + "<div class=\"panels\">\n";
        for ((_, operation, _, keys), rows) in &panels {
            let title = format!("{operation}, {keys}");
            let patterns: Vec<String> = rows.iter().map(|(_, case, _)| case.pattern.clone()).collect();
            let series = names.iter().zip(&styles).rev().map(|(name, style)| {
                let points = rows.iter().enumerate();
                Points {
                    style: *style,
                    points: points.filter_map(|(row, (_, _, standing))| Some((row, speed(standing, name)? / divisor))).collect(),
                }
            });
            let series: Vec<Points> = series.collect();
            let size = (PANEL.0, ROW * patterns.len() as u32 + AXIS);
            let label = format!("{title}: {unit}, a row for each pattern, a point for each of {}", names.join(", "));
            let svg = plot::svg(size, &label, |area| plot::rows(area, &patterns, &values, unit, &series))?;
            writeln!(content, "<div><h4>{}</h4>\n{svg}</div>", escape(&title)).expect("a String takes all");
        }
        content += "</div>\n";
        figures.push(figure(&title, Some(n) == longest, &content));
    }
    Ok(figures)
}

/// Returns the patterns as the record lists them, the uniform ones first.
fn patterns(rows: &[Row]) -> Vec<String> {
    let mut patterns: Vec<String> = vec!["uniform".into()];
    for case in rows.iter().filter_map(Case::of) {
        if !patterns.contains(&case.pattern) {
            patterns.push(case.pattern);
        }
    }
    patterns
}
