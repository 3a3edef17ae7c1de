//! Speeds by the number of keys, a figure for each key type and a panel for each operation.

use super::figure::{Cases, Panel, Setting, caption, figure, key_rank, ordered, setting, short, speed_panels};
use crate::contest::{COPY, Contests, OURS, Standing, is_ours, is_peer};
use crate::error::ReportError;
use crate::record::Origin;
use polysort_measure::By;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the figures. A record without peers has one line for each number of threads.
pub(super) fn figures(origin: &Origin, contests: &Contests, by: By) -> Result<Vec<String>, ReportError> {
    let shown: Cases<'_> = contests.iter().filter(|(case, standings)| case.is_uniform() && has_lengths(standings)).collect();
    let has_peers = contests.values().flatten().any(|standing| standing.times.keys().any(|name| is_peer(name)));
    let threads: BTreeSet<Option<usize>> = shown.iter().map(|(case, _)| case.threads).collect();
    let by_threads = !has_peers && threads.len() > 1;
    // The figures by setting and key type, and the panels by operation.
    type Panels<'a> = BTreeMap<(usize, String), Cases<'a>>;
    let mut all: BTreeMap<((bool, usize, String), Setting), Panels<'_>> = BTreeMap::new();
    for (case, standings) in shown {
        let (scope, threads) = setting(case);
        let setting = (scope, if by_threads { None } else { threads });
        let order = if case.order == "desc" { ", descending" } else { "" };
        let panel = (case.rank, format!("{}{order}", case.operation()));
        all.entry((key_rank(&case.key), setting)).or_default().entry(panel).or_default().push((case, standings));
    }
    let mut figures = vec![];
    // The first key type is open, in each setting.
    let first = all.keys().next().map(|(key, _)| key.clone());
    for ((key, setting), cases) in all {
        let title = format!("Speed of sorts of {} keys: {}", key.2, short(&setting));
        let mut drawn = vec![];
        for ((_, title), cases) in cases {
            let mut lines = BTreeMap::<String, Vec<(usize, f64)>>::new();
            for (case, standings) in cases {
                for standing in standings {
                    for (name, time) in standing.times.iter().filter(|(name, _)| *name != "memory") {
                        let threads = case.threads.filter(|_| by_threads && is_ours(name));
                        let name = threads.map_or_else(|| name.clone(), |threads| on_threads(name, threads));
                        lines.entry(name).or_default().push((standing.n, standing.n as f64 * 1e3 / time.nanos));
                    }
                }
            }
            drawn.push(Panel { title, lines: lines.into_iter().collect() });
        }
        let names = ordered(drawn.iter().flat_map(|panel| &panel.lines).map(|line| &line.0));
        let mut about = String::from("Uniform keys. Higher is faster; both axes are logarithmic.");
        if names.iter().any(|name| name == COPY) {
            // Beside copies alone, the figure of bytes moved has the same lines.
            if !has_peers && !by_threads {
                continue;
            }
            about += " <code>memcpy</code> only copies the bytes.";
        }
        if !has_peers {
            about +=
                &format!(" The record has no peers{}.", if by_threads { ": lines differ in the number of threads" } else { "" });
        }
        let content = caption(&title, &about, origin, by) + &speed_panels(&names, drawn)?;
        figures.push(figure(&title, Some(&key) == first.as_ref(), &content));
    }
    Ok(figures)
}

/// Whether one of our systems was measured for several numbers of keys.
fn has_lengths(standings: &[Standing]) -> bool {
    standings.iter().filter(|standing| standing.times.keys().any(|name| is_ours(name))).count() > 1
}

/// Returns the name of our line on a number of threads. The number comes first, so that names sort by it and have different colors.
fn on_threads(name: &str, threads: usize) -> String {
    let unit = if threads == 1 { "thread" } else { "threads" };
    format!("{threads:>3} {unit}{}", name.strip_prefix(OURS).unwrap_or_default())
}
