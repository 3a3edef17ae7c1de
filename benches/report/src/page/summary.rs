//! How often polysort is faster than the best peer, and where it is furthest below.

use super::figure::{setting, short, statistic};
use crate::contest::{Case, Contests, OURS, Ratio};
use crate::html::{escape, length_html, ratio};
use crate::record::Origin;
use core::fmt::Write;
use polysort_measure::By;
use std::collections::BTreeMap;

/// Returns the table over all records. Each record has a number, which the link to its section ends with.
pub(super) fn table<'a>(records: impl Iterator<Item = (usize, &'a Origin, &'a Contests)>, by: By) -> String {
    let (mut rows, mut machine) = (String::new(), None);
    for (number, origin, contests) in records {
        type Ratios<'a> = Vec<(&'a Case, usize, &'a Ratio)>;
        let mut all: BTreeMap<_, Ratios<'_>> = BTreeMap::new();
        for (case, standings) in contests {
            for standing in standings {
                for (name, ratio) in &standing.ratios {
                    all.entry((setting(case), name)).or_default().push((case, standing.n, ratio));
                }
            }
        }
        for ((setting, name), mut ratios) in all {
            ratios.sort_by(|a, b| a.2.value().total_cmp(&b.2.value()));
            let faster = ratios.iter().filter(|(_, _, ratio)| ratio.value() > 1.0).count();
            let slower = ratios.iter().filter(|(_, _, ratio)| ratio.value() < 1.0).count();
            let middle = ratios[(ratios.len() - 1) / 2].2.value();
            let (case, n, lowest) = ratios[0];
            let pattern = if case.is_uniform() { String::new() } else { format!(", {}", case.pattern) };
            let variant = name.strip_prefix(OURS).unwrap_or(name).trim_start();
            let measured = if variant.is_empty() { short(&setting) } else { format!("{variant}, {}", short(&setting)) };
            let place = escape(&format!("{}, {}{pattern}", case.operation(), case.keys()));
            if machine != Some(&origin.machine) {
                machine = Some(&origin.machine);
                writeln!(rows, "<tr><th class=\"group\" colspan=\"6\">{}</th></tr>", escape(&origin.machine))
                    .expect("a String takes all");
            }
            writeln!(
                rows,
                "<tr><td class=\"code\"><a href=\"#record-{number}\"><code>{}</code></a><br>{}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{faster}</td><td class=\"number\">{slower}</td><td class=\"number\">{}</td>\
                 <td><b>{}</b>: {place}, {} keys, {}</td></tr>",
                escape(origin.name.rsplit('/').next().unwrap_or_default()),
                escape(&measured),
                ratios.len(),
                ratio(middle),
                ratio(lowest.value()),
                length_html(n),
                escape(&lowest.best.function)
            )
            .expect("a String takes all");
        }
    }
    if rows.is_empty() {
        return "<p>No record has a system of ours and a peer in the same run, so there are no ratios.</p>\n".into();
    }
    format!(
        "<p>A case is one operation, key type, pattern and number of keys. The ratio is the best peer's time divided by the time of polysort ({}).</p>\n\
         <div class=\"scroll\"><table class=\"plain\">\n<thead><tr><th>record</th><th class=\"number\">cases</th>\
         <th class=\"number\">polysort faster</th><th class=\"number\">peer faster</th><th class=\"number\">median ratio</th><th>lowest ratio</th></tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n",
        statistic(by)
    )
}
