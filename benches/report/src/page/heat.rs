//! A table of ratios to the best peer: a row for each operation and key type, a column for each number of keys, and a color for each ratio.
//!
//! The scale is logarithmic with its center at 1, so that half the speed is as far from the center as twice the speed. Its ends are vermilion and blue, which
//! color-blind readers can tell apart, and each cell has its number.

use super::figure::{Cases, Setting, caption, figure, key_rank, setting, short};
use crate::contest::{Contests, Ratio, Standing};
use crate::html::{duration, escape, length, length_html, ratio};
use crate::record::Origin;
use core::fmt::Write;
use polysort_measure::By;
use std::collections::{BTreeMap, BTreeSet};

/// The ratio at the end of the scale. The color of larger ratios is the same.
const MOST: f64 = 4.0;

/// The colors of the scale: the best peer is faster, equal, ours is faster.
const SLOWER: [f64; 3] = [190.0, 77.0, 0.0];
const EQUAL: [f64; 3] = [247.0, 247.0, 247.0];
const FASTER: [f64; 3] = [0.0, 90.0, 160.0];

/// The colors change fastest near 1: a ratio of 0.9 must look different from 1.
const EXPONENT: f64 = 0.65;

/// Returns the tables: one for each setting and system of ours.
pub(super) fn figures(origin: &Origin, contests: &Contests, by: By) -> Vec<String> {
    let mut tables: BTreeMap<(Setting, String), Cases<'_>> = BTreeMap::new();
    for (case, standings) in contests.iter().filter(|(case, _)| case.is_uniform()) {
        let ours: BTreeSet<&String> = standings.iter().flat_map(|standing| standing.ratios.keys()).collect();
        for name in ours {
            tables.entry((setting(case), name.clone())).or_default().push((case, standings));
        }
    }
    let table = |((setting, ours), cases): ((Setting, String), Cases<'_>)| {
        let title = format!("{ours} beside the best peer: {}", short(&setting));
        let about = format!(
            "Each number is the best peer's time divided by the time of {}, for uniform keys: <b>above 1 polysort is faster, below 1 the peer is \
             faster</b>. Under it is the name of that peer. A dash: no peer was measured in the same run.",
            escape(&ours)
        );
        figure(&title, true, &(caption(&title, &about, origin, by) + &scale() + &rows(&ours, cases)))
    };
    tables.into_iter().map(table).collect()
}

/// Returns the table.
fn rows(ours: &str, mut cases: Cases<'_>) -> String {
    let measured = |standing: &&Standing| standing.times.contains_key(ours);
    let lengths: BTreeSet<usize> =
        cases.iter().flat_map(|(_, standings)| *standings).filter(measured).map(|standing| standing.n).collect();
    cases.sort_by_key(|(case, _)| (case.rank, case.operation(), key_rank(&case.key), case.order.clone()));
    let mut html =
        String::from("<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th scope=\"col\" class=\"corner\">keys</th>");
    for n in &lengths {
        write!(html, "<th scope=\"col\">{}</th>", length_html(*n)).expect("a String takes all");
    }
    html += "</tr></thead>\n<tbody>\n";
    let mut group = None;
    for (case, standings) in cases {
        let operation = case.operation();
        if group.as_ref() != Some(&operation) {
            let columns = lengths.len() + 1;
            writeln!(html, "<tr><th class=\"group\" colspan=\"{columns}\">{}</th></tr>", escape(&operation))
                .expect("a String takes all");
            group = Some(operation);
        }
        write!(html, "<tr><th scope=\"row\">{}</th>", escape(&case.keys())).expect("a String takes all");
        for n in &lengths {
            let standing = standings.iter().find(|standing| standing.n == *n).filter(measured);
            html += &match standing.map(|standing| standing.ratios.get(ours)) {
                None => "<td></td>".into(),
                Some(None) => "<td class=\"none\">–</td>".into(),
                Some(Some(of)) => cell(ours, *n, of),
            };
        }
        html += "</tr>\n";
    }
    html + "</tbody></table></div>\n"
}

fn cell(name: &str, n: usize, of: &Ratio) -> String {
    let (back, front) = colors(of.value());
    let ours = if of.ours.function.starts_with(name) { &of.ours.function } else { name };
    let title =
        format!("{} keys: {ours} {}, {} {}", length(n), duration(of.ours.nanos), of.best.function, duration(of.best.nanos));
    format!(
        "<td style=\"background:{back};color:{front}\" title=\"{}\">{}<small>{}</small></td>",
        escape(&title),
        ratio(of.value()),
        escape(&of.peer)
    )
}

/// Returns the scale for readers.
fn scale() -> String {
    let mut html = String::from("<div class=\"scale\">peer faster&nbsp;");
    for value in [0.25, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 4.0] {
        let (back, front) = colors(value);
        let value = match value {
            0.25 => "≤ 0.25".into(),
            4.0 => "≥ 4".into(),
            value => format!("{value}"),
        };
        write!(html, "<span style=\"background:{back};color:{front}\">{value}</span>").expect("a String takes all");
    }
    html + "&nbsp;polysort faster</div>\n"
}

/// Returns the color of a ratio, and that of the number on it.
fn colors(ratio: f64) -> (String, &'static str) {
    let place = (ratio.ln() / MOST.ln()).clamp(-1.0, 1.0);
    let end = if place < 0.0 { SLOWER } else { FASTER };
    let share = place.abs().powf(EXPONENT);
    let [r, g, b] = [0, 1, 2].map(|at| EQUAL[at] + (end[at] - EQUAL[at]) * share);
    (format!("#{:02x}{:02x}{:02x}", r.round() as u8, g.round() as u8, b.round() as u8), text_on([r, g, b]))
}

/// Returns black or white, which has more contrast with a color (by the relative luminance of WCAG 2).
fn text_on(color: [f64; 3]) -> &'static str {
    if luminance(color) > 0.179 { "#000" } else { "#fff" }
}

fn luminance(color: [f64; 3]) -> f64 {
    let linear = |value: f64| {
        let value = value / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rgb(ratio: f64) -> [f64; 3] {
        let (back, _) = colors(ratio);
        [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&back[at..at + 2], 16).expect("a color")))
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        (0..3).map(|at| (a[at] - b[at]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn ratios_below_1_are_as_visible_as_those_above() {
        assert_eq!(rgb(1.0), EQUAL);
        for ratio in [1.05, 1.1, 1.5, 2.0, 4.0, 100.0] {
            let (below, above) = (distance(rgb(1.0 / ratio), EQUAL), distance(rgb(ratio), EQUAL));
            assert!(below > 20.0 && above > 20.0, "{ratio}: {below} and {above}");
            assert!((0.8..1.25).contains(&(below / above)), "{ratio}: {below} and {above}");
        }
        assert_eq!((rgb(4.0), rgb(1e9), rgb(0.25), rgb(1e-9)), (FASTER, FASTER, SLOWER, SLOWER));
    }

    #[test]
    fn numbers_have_contrast_with_their_color() {
        for step in -60..=60 {
            let ratio = 1.03_f64.powi(step);
            let (_, front) = colors(ratio);
            let (back, front) = (luminance(rgb(ratio)), if front == "#000" { 0.0 } else { 1.0 });
            let contrast = (f64::max(back, front) + 0.05) / (f64::min(back, front) + 0.05);
            assert!(contrast >= 4.5, "{ratio}: {contrast}");
        }
    }
}
