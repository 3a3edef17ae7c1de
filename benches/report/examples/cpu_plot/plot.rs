//! The plot of the CPU backend beside its peers: a row of panels for each machine and number of threads, a panel for each operation.

use anyhow::Result;
use plotters::prelude::*;
use polysort_measure::{By, Row};
use polysort_report::plot::{self, Area, Axes, CPU, Line};
use polysort_report::{Style, read_rows};
use std::collections::BTreeMap;
use std::path::Path;

/// One row of panels: what one record has of one number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    /// The machine, for readers.
    pub(crate) machine: &'static str,
    /// The record, in `benches/record`.
    pub(crate) record: &'static str,
    /// Threads of the runs.
    pub(crate) threads: usize,
    /// Which of a run's times counts.
    pub(crate) by: By,
}

/// The rows of the plot.
pub(crate) const SERIES: [Series; 3] = [
    Series {
        machine: "Xeon (Emerald Rapids)",
        record: "xeon-emerald-rapids-16-threads/2026-11-29-grid.csv",
        threads: 16,
        by: By::Median,
    },
    Series {
        machine: "Xeon (Emerald Rapids)",
        record: "xeon-emerald-rapids-16-threads/2026-11-29-grid.csv",
        threads: 1,
        by: By::Median,
    },
    Series { machine: "EPYC (Zen 4)", record: "epyc-genoa-2-threads/2026-11-23-2-grid.csv", threads: 1, by: By::Least },
];

/// The columns of the plot: the operation and the payload in a record, and their name for readers.
const OPERATIONS: [(&str, &str, &str); 3] =
    [("sort", "none", "u32 keys"), ("sort_pairs", "u32", "u32 keys with u32 values"), ("argsort", "none", "argsort of u32 keys")];

/// Pixels of a panel, and of the legend's height.
const PANEL: (u32, u32) = (400, 270);
const LEGEND: u32 = 30;

/// Million keys in a second, at the ends of each panel.
const SPEEDS: std::ops::Range<f64> = 5.0..5000.0;

/// Draws the plot of the records in `folder`, as SVG.
///
/// # Errors
/// If a record cannot be read.
pub(crate) fn draw(folder: &Path) -> Result<String> {
    let mut svg = String::new();
    {
        let size = (PANEL.0 * OPERATIONS.len() as u32, PANEL.1 * SERIES.len() as u32 + LEGEND);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (panels, legend) = root.split_vertically(PANEL.1 * SERIES.len() as u32);
        let areas = panels.split_evenly((SERIES.len(), OPERATIONS.len()));
        for (series, areas) in SERIES.iter().zip(areas.chunks(OPERATIONS.len())) {
            let rows = read_rows(&folder.join(series.record))?;
            for (operation, area) in OPERATIONS.iter().zip(areas) {
                panel(area, series, *operation, &rows)?;
            }
        }
        draw_legend(&legend)?;
        root.present()?;
    }
    // The file ends as a text does.
    Ok(svg.trim_end().to_string() + "\n")
}

/// Draws the lines of one operation.
fn panel(area: &Area<'_>, series: &Series, (op, payload, name): (&str, &str, &str), rows: &[Row]) -> Result<()> {
    let threads = if series.threads == 1 { "1 thread".to_string() } else { format!("{} threads", series.threads) };
    let mut speeds: BTreeMap<&str, BTreeMap<usize, f64>> = BTreeMap::new();
    let in_panel = |row: &&Row| {
        let cell = &row.cell;
        row.verified && cell.op == op && cell.payload == payload && cell.key == "u32" && cell.threads == Some(series.threads)
    };
    for row in rows.iter().filter(in_panel) {
        let speed = row.cell.n as f64 * 1e3 / row.time(series.by);
        // Of several functions of one system, the fastest.
        let best = speeds.entry(&row.system).or_default().entry(row.cell.n).or_insert(0.0);
        *best = best.max(speed);
    }
    let lengths: Vec<u32> = speeds.values().flat_map(BTreeMap::keys).map(|n| n.ilog2()).collect();
    let (least, most) = (lengths.iter().min().copied().unwrap_or(0), lengths.iter().max().copied().unwrap_or(1));
    // Ours is drawn last, above the others.
    let lines = CPU.iter().rev().filter_map(|(system, style)| {
        let points = speeds.get(system)?.iter().map(|(&n, &speed)| (n, speed));
        Some(Line { style: *style, points: points.collect() })
    });
    let axes = Axes { bits: f64::from(least)..f64::from(most), values: SPEEDS, unit: "million keys/s", below: None, letters: 12 };
    plot::lines(area, Some(&format!("{name}: {}, {threads}", series.machine)), &axes, &lines.collect::<Vec<_>>())?;
    Ok(())
}

/// Draws each system's line and name.
fn draw_legend(area: &Area<'_>) -> Result<()> {
    for (at, (system, Style { color, width, .. })) in CPU.iter().enumerate() {
        let left = 40 + 140 * at as i32;
        area.draw(&PathElement::new(vec![(left, 14), (left + 24, 14)], color.stroke_width(*width)))?;
        area.draw(&Text::new(*system, (left + 30, 8), ("sans-serif", 13)))?;
    }
    Ok(())
}
