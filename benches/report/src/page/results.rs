//! The rows of a record as a table.

use crate::contest::is_peer;
use crate::html::{digits, duration, escape, length_html, ratio};
use core::fmt::Write;
use polysort_measure::{By, Cell, Row};
use std::collections::BTreeMap;

/// Returns a table with a line for each row of a record: its time, its speed, and the time of the fastest peer of the same run divided by its time.
pub(super) fn table(rows: &[Row], by: By) -> String {
    let mut fastest: BTreeMap<(&str, &Cell), f64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.verified && is_peer(&row.system)) {
        let best = fastest.entry((&row.run, &row.cell)).or_insert(f64::MAX);
        *best = best.min(row.time(by));
    }
    let mut html = String::from(
        "<div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>case</th><th class=\"number\">keys</th><th>system</th><th class=\"number\">time</th>\
         <th class=\"number\">5 % to 95 %</th><th class=\"number\">million keys/s</th><th class=\"number\">speed ÷ best peer's</th><th class=\"number\">runs</th>\
         </tr></thead>\n<tbody>\n",
    );
    for row in rows {
        let Cell { op, key, payload, pattern, n, order, .. } = &row.cell;
        let payload = if payload == "none" { String::new() } else { format!("+{payload}") };
        let algorithm = if row.algorithm == "auto" { String::new() } else { format!(" {}", row.algorithm) };
        let time = row.time(by);
        let quotient = match fastest.get(&(&*row.run, &row.cell)) {
            _ if !row.verified => "wrong answer".into(),
            Some(fastest) => ratio(fastest / time),
            None => "–".into(),
        };
        writeln!(
            html,
            "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{} to {}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{quotient}</td><td class=\"number\">{}</td></tr>",
            escape(&format!("{op} {key}{payload} {pattern} {order}")),
            length_html(*n),
            escape(&format!("{} {}{algorithm}", row.system, row.backend)),
            duration(time),
            duration(row.times[1] as f64),
            duration(row.times[2] as f64),
            digits(*n as f64 * 1e3 / time),
            row.reps
        )
        .expect("a String takes all");
    }
    html + "</tbody></table></div>\n"
}
