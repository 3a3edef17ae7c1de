//! The report: one HTML page that loads nothing.
//!
//! ```text
//! title, how to read the figures, summary of ratios
//! for each machine:
//!     for each record: its source, why it is drawn if it is not the newest of its kind, and the figures that its rows have data for
//!     end to end against resident, of the newest record that has both
//! what is not drawn, and why
//! ```

mod figure;
mod heat;
mod patterns;
mod results;
mod roofline;
mod scopes;
mod speed;
mod summary;

use crate::contest::{Contests, Functions, RESIDENT, contests, peers, unknown};
use crate::error::ReportError;
use crate::html::{STYLE, escape};
use crate::record::Record;
use core::fmt::Write;
use polysort_measure::By;

/// The element that marks a page as a report. [`Page::is_report`] looks for it.
const MARK: &str = "<meta name=\"generator\" content=\"polysort bench --report\">";

/// A report.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The title.
    pub title: &'a str,
    /// The records, those of one machine one after another.
    pub records: &'a [Record],
    /// Records that newer ones replace, the newest first. The figure of end to end against resident may come from one of them.
    pub older: &'a [Record],
    /// The statistic that counts as a row's time.
    pub by: By,
    /// What the page reports as not drawn, a sentence each.
    pub notes: &'a [String],
    /// Whether the page has all rows as a table.
    pub has_results: bool,
}

impl Page<'_> {
    /// Returns the page as HTML.
    ///
    /// # Errors
    /// If no row of the records can be drawn or listed, or if the charting library fails.
    pub fn html(&self) -> Result<String, ReportError> {
        let contests: Vec<Contests> =
            self.records.iter().map(|record| contests(&record.rows, self.by, Functions::Fastest)).collect();
        let mut notes = self.notes.to_vec();
        let (mut sections, mut links, mut machine) = (String::new(), String::new(), None);
        for (number, (record, contests)) in self.records.iter().zip(&contests).enumerate() {
            let name = &record.origin.machine;
            if machine != Some(name) {
                machine = Some(name);
                writeln!(sections, "<h2 id=\"machine-{number}\">{}</h2>", escape(name)).expect("a String takes all");
                writeln!(links, "<li><a href=\"#machine-{number}\">{}</a></li>", escape(name)).expect("a String takes all");
                // It comes first, because it is of the machine and not of one record.
                sections += &self.scopes(name, &mut notes)?;
            }
            sections += &self.section(number, record, contests, &mut notes)?;
        }
        if !sections.contains("<figure>") && !self.has_results {
            return Err(ReportError::NoFigure(notes.join(" ")));
        }
        let summary = summary::table(
            self.records.iter().zip(&contests).enumerate().map(|(at, (record, of))| (at, &record.origin, of)),
            self.by,
        );
        Ok(self.frame(&links, &summary, &sections, &notes))
    }

    /// Whether a text is a report, which a new one may replace.
    pub fn is_report(text: &str) -> bool {
        text.contains(MARK)
    }

    /// Returns the figure of a machine that compares scopes.
    fn scopes(&self, machine: &str, notes: &mut Vec<String>) -> Result<String, ReportError> {
        let mut records: Vec<&Record> =
            self.records.iter().chain(self.older).filter(|record| record.origin.machine == machine).collect();
        records.sort_by(|a, b| b.origin.recency().cmp(&a.origin.recency()));
        if !records.iter().flat_map(|record| &record.rows).any(|row| row.cell.scope == RESIDENT) {
            return Ok(String::new());
        }
        let figure = scopes::figure_of_newest(records.into_iter(), self.by)?;
        if figure.is_none() {
            notes.push(format!("{machine}: end to end against resident, because no record has both for the same sort."));
        }
        Ok(figure.unwrap_or_default())
    }

    /// Returns the source and the figures of a record.
    fn section(
        &self,
        number: usize,
        record: &Record,
        contests: &Contests,
        notes: &mut Vec<String>,
    ) -> Result<String, ReportError> {
        let (origin, by) = (&record.origin, self.by);
        let mut figures = speed::figures(origin, contests, by)?;
        let tables = heat::figures(origin, contests, by);
        if !tables.is_empty() {
            figures.push(format!("<div class=\"heats\">\n{}</div>\n", tables.concat()));
        }
        figures.extend(patterns::figures(origin, &record.rows, contests, by)?);
        figures.extend(roofline::figures(origin, contests, by)?);
        let unknown: Vec<String> = unknown(&record.rows).into_iter().collect();
        if !unknown.is_empty() {
            notes.push(format!("{}: rows of {}, which no figure shows.", origin.name, unknown.join(", ")));
        }
        let wrong = record.rows.iter().filter(|row| !row.verified).count();
        if wrong > 0 {
            notes.push(format!("{}: {wrong} rows with a wrong answer.", origin.name));
        }
        if figures.is_empty() && !self.has_results {
            notes.push(format!(
                "{}: no figure. A figure needs uniform keys in several numbers, a peer in the same run, or three patterns.",
                origin.name
            ));
            return Ok(String::new());
        }
        let date = origin.date.as_deref().map_or_else(String::new, |date| format!(", {}", escape(date)));
        let mut html = format!(
            "<h3 id=\"record-{number}\">{}{date}</h3>\n<p>{} rows in {}; {}.</p>\n",
            escape(&origin.kind),
            record.rows.len(),
            figure::record_name(origin),
            if wrong == 0 { "all of them are verified".into() } else { format!("{wrong} with a wrong answer are not drawn") }
        );
        html += &self.why_older(record);
        if !origin.text.is_empty() {
            writeln!(
                html,
                "<details>\n<summary>Machine, build and commands</summary>\n<pre>{}</pre>\n</details>",
                escape(origin.text.trim_end())
            )
            .expect("a String takes all");
        }
        html.extend(figures);
        if self.has_results {
            let about = "The last but one column is the speed of the system divided by that of the fastest peer.";
            let title = "All results";
            html +=
                &figure::figure(title, true, &(figure::caption(title, about, origin, by) + &results::table(&record.rows, by)));
        }
        Ok(html)
    }

    /// Returns why a record is drawn beside newer ones of its kind and machine: it has peers that they lack.
    fn why_older(&self, record: &Record) -> String {
        let origin = &record.origin;
        let is_newer = |other: &&Record| {
            (&other.origin.machine, &other.origin.kind) == (&origin.machine, &origin.kind)
                && other.origin.recency() > origin.recency()
        };
        let mut only = peers(&record.rows);
        let mut newer = self.records.iter().filter(is_newer).peekable();
        if newer.peek().is_none() {
            return String::new();
        }
        newer.for_each(|other| only.retain(|peer| !peers(&other.rows).contains(peer)));
        if only.is_empty() {
            return String::new();
        }
        let names: Vec<String> = only.into_iter().map(escape).collect();
        format!(
            "<p>This record is not the newest of its kind. It is drawn for peers that the newer ones lack: {}. \
             Its times of polysort are those of its date.</p>\n",
            names.join(", ")
        )
    }

    /// Returns the page around its sections.
    fn frame(&self, links: &str, summary: &str, sections: &str, notes: &[String]) -> String {
        let title = escape(self.title);
        let nav = if links.matches("<li>").count() > 1 {
            format!("<nav aria-label=\"machines\"><ul>\n{links}</ul></nav>\n")
        } else {
            String::new()
        };
        let mut notes = notes.to_vec();
        notes.extend(
            self.older
                .iter()
                .map(|record| format!("{}: a newer record of the same kind and machine is drawn.", record.origin.name)),
        );
        let mut missing = String::new();
        if !notes.is_empty() {
            let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
            missing = format!("<h2>Not drawn</h2>\n<ul>\n{items}</ul>\n");
        }
        let (statistic, intro) = (figure::statistic(self.by), INTRODUCTION);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n{MARK}\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<p>{intro} All figures of this page show {statistic}.</p>\n{nav}\
             <h2>Ratios to the best peer</h2>\n{summary}{sections}{missing}</body>\n</html>\n"
        )
    }
}

/// The first paragraph of each page.
const INTRODUCTION: &str = "polysort is a stable sort on GPUs and on the CPU. This page compares its speed with that of other sorts. Systems are compared only if they \
                            took turns in the same run. Functions with <code>unstable</code> in their name need not keep the order of equal keys; polysort always does. Of several functions of a system, the fastest \
                            counts. End to end is from the caller's slice to the caller's slice; resident is the device time of a sort of keys that are on the GPU.";
