//! The parts that all figures have: the caption with the source, the legend and the panels.

use crate::contest::{COPY, Case, END_TO_END, Standing, is_ours, is_peer};
use crate::error::ReportError;
use crate::html::escape;
use crate::plot::{self, Axes, LETTERS, Line, PANEL};
use crate::record::Origin;
use crate::style::Style;
use core::fmt::Write;
use core::ops::Range;
use polysort_measure::By;
use std::collections::BTreeSet;

/// What a record has in common with all rows of a figure: what is timed, and the number of threads.
pub(super) type Setting = (String, Option<usize>);

/// Cases of a record, each with its standings.
pub(super) type Cases<'a> = Vec<(&'a Case, &'a Vec<Standing>)>;

/// Returns the setting of a case.
pub(super) fn setting(case: &Case) -> Setting {
    (case.scope.clone(), case.threads)
}

/// Returns a setting in few words: `resident`, `4 threads, end to end`.
pub(super) fn short((scope, threads): &Setting) -> String {
    let scope = if scope == END_TO_END { "end to end" } else { scope };
    match threads {
        None => scope.into(),
        Some(1) => format!("1 thread, {scope}"),
        Some(threads) => format!("{threads} threads, {scope}"),
    }
}

/// Returns the caption of a figure: its title, what it shows (as HTML), and the source of its numbers.
pub(super) fn caption(title: &str, about: &str, origin: &Origin, by: By) -> String {
    let date = origin.date.as_deref().map_or_else(|| "date unknown".to_string(), escape);
    format!(
        "<figcaption><b>{}</b>{about} <span class=\"source\">Source: {}, machine {}, {date}, {}.</span></figcaption>\n",
        escape(title),
        record_name(origin),
        escape(&origin.machine),
        statistic(by)
    )
}

/// Returns the name of a record as HTML.
pub(super) fn record_name(origin: &Origin) -> String {
    format!("record <code>{}</code>", escape(&origin.name))
}

/// Returns the statistic for readers.
pub(super) fn statistic(by: By) -> &'static str {
    match by {
        By::Median => "median times",
        By::Least => "minimum times",
    }
}

/// Returns the names of a figure in the order of its legend: ours, earlier versions of ours and peers, copies.
pub(super) fn ordered<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let names: BTreeSet<(bool, bool, &String)> = names.map(|name| (!is_ours(name), !is_peer(name), name)).collect();
    names.into_iter().map(|(_, _, name)| name.clone()).collect()
}

/// The name of a panel, and the lines in it: the name of the system and its values.
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) lines: Vec<(String, Vec<(usize, f64)>)>,
}

/// The unit of speeds, and a longer one for axes that end at large numbers.
const MILLION: &str = "million keys/s";
const BILLION: &str = "billion keys/s";

/// Returns the unit of an axis of speeds, and what divides speeds in million keys/s to be in that unit.
pub(super) fn speed_unit(speeds: impl Iterator<Item = f64>) -> (&'static str, f64) {
    if speeds.fold(0.0, f64::max) >= 2e4 { (BILLION, 1e3) } else { (MILLION, 1.0) }
}

/// Returns the legend and the panels of a figure of speeds, which are in million keys/s.
pub(super) fn speed_panels(names: &[String], mut drawn: Vec<Panel>) -> Result<String, ReportError> {
    let points = drawn.iter().flat_map(|panel| &panel.lines).flat_map(|(_, points)| points);
    let (unit, divisor) = speed_unit(points.map(|point| point.1));
    for (_, points) in drawn.iter_mut().flat_map(|panel| &mut panel.lines) {
        points.iter_mut().for_each(|point| point.1 /= divisor);
    }
    panels(names, &drawn, unit)
}

/// Returns the legend and the panels of a figure. All panels have the same axes; the lines of `names` that come first are drawn above the others.
pub(super) fn panels(names: &[String], panels: &[Panel], unit: &str) -> Result<String, ReportError> {
    let styles = Style::of_all(names);
    let points = || panels.iter().flat_map(|panel| &panel.lines).flat_map(|(_, points)| points);
    let values = plot::around(points().map(|point| point.1));
    let bits = bits(points().map(|point| point.0));
    let axes = Axes { bits, values, unit, below: Some("number of keys"), letters: LETTERS };
    let mut html = legend(names, &styles, Marks::Lines) + "<div class=\"panels\">\n";
    for Panel { title, lines } in panels {
        let mut drawn = vec![];
        for (name, style) in names.iter().zip(&styles).rev() {
            drawn.extend(lines.iter().filter(|line| line.0 == *name).map(|line| Line { style: *style, points: line.1.clone() }));
        }
        let label = format!("{title}: {unit} by the number of keys, a line for each of {}", names.join(", "));
        let svg = plot::svg(PANEL, &label, |area| plot::lines(area, None, &axes, &drawn))?;
        writeln!(html, "<div><h4>{}</h4>\n{svg}</div>", escape(title)).expect("a String takes all");
    }
    Ok(html + "</div>\n")
}

/// Returns the logarithms at the ends of an axis of numbers of keys: one apart at least.
fn bits(lengths: impl Iterator<Item = usize>) -> Range<f64> {
    let (least, most) = lengths.fold((usize::MAX, 1), |(least, most), n| (least.min(n), most.max(n)));
    let (least, most) = ((least.max(1) as f64).log2().floor(), (most as f64).log2().ceil());
    least..most.max(least + 1.0)
}

/// What a legend shows of each system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    Lines,
    /// Points alone; those of a system whose lines have dashes are rings.
    Points,
}

/// Returns the legend: the mark of each system, and its name.
pub(super) fn legend(names: &[String], styles: &[Style], marks: Marks) -> String {
    let mut html = String::from("<ul class=\"legend\">\n");
    for (name, Style { color, width, dash }) in names.iter().zip(styles) {
        let (r, g, b) = (color.0, color.1, color.2);
        let dashes = dash.map_or_else(String::new, |dash| format!(" stroke-dasharray=\"{dash} 3\""));
        let name = if name == COPY { "memcpy (a copy of the same bytes)".into() } else { escape(name) };
        let line =
            format!("<line x1=\"0\" y1=\"6\" x2=\"30\" y2=\"6\" stroke=\"rgb({r},{g},{b})\" stroke-width=\"{width}\"{dashes}/>");
        let width_of_mark = if marks == Marks::Lines { 30 } else { 12 };
        let center = width_of_mark / 2;
        let point = |fill: &str| format!("<circle cx=\"{center}\" cy=\"6\" r=\"{}\" {fill}=\"rgb({r},{g},{b})\"", width + 1);
        let mark = match (marks, dash) {
            (Marks::Lines, _) => line + &point("fill") + "/>",
            (Marks::Points, None) => point("fill") + "/>",
            (Marks::Points, Some(_)) => point("stroke") + " stroke-width=\"2\" fill=\"none\"/>",
        };
        writeln!(
            html,
            "<li><svg width=\"{width_of_mark}\" height=\"12\" viewBox=\"0 0 {width_of_mark} 12\" aria-hidden=\"true\">{mark}</svg>{name}</li>"
        )
        .expect("a String takes all");
    }
    html + "</ul>\n"
}

/// Returns a figure. One that is not `open` is folded under its title.
pub(super) fn figure(title: &str, is_open: bool, content: &str) -> String {
    let figure = format!("<figure>\n{content}</figure>\n");
    if is_open { figure } else { format!("<details>\n<summary>{}</summary>\n{figure}</details>\n", escape(title)) }
}

/// Returns the bytes of a type by its name in records, such as `u32` or `bf16`, and 0 for `none`.
pub(super) fn bytes(name: &str) -> Option<usize> {
    if name == "none" {
        return Some(0);
    }
    name.trim_start_matches(|char: char| !char.is_ascii_digit()).parse::<usize>().ok().map(|bits| bits / 8)
}

/// Sorts the names of key types: `u32`, which most records have, then by their bytes.
pub(super) fn key_rank(key: &str) -> (bool, usize, String) {
    (key != "u32", bytes(key).unwrap_or(usize::MAX), key.into())
}
