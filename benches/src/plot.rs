//! The plot of the CPU backend beside its peers: a row of panels for each machine and number of threads, a panel for each operation.

use crate::record::{By, Row};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// One row of panels: what one record has of one number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    /// The machine, for readers.
    pub machine: &'static str,
    /// The record, in `benches/record`.
    pub record: &'static str,
    /// Threads of the runs.
    pub threads: usize,
    /// Which of a run's times counts.
    pub by: By,
}

/// The rows of the plot.
pub const SERIES: [Series; 3] = [
    Series {
        machine: "Xeon (Emerald Rapids)",
        record: "xeon-emerald-rapids-16-threads/2026-11-23-2-grid.csv",
        threads: 16,
        by: By::Median,
    },
    Series {
        machine: "Xeon (Emerald Rapids)",
        record: "xeon-emerald-rapids-16-threads/2026-11-23-2-grid.csv",
        threads: 1,
        by: By::Median,
    },
    Series { machine: "EPYC (Zen 4)", record: "epyc-genoa-2-threads/2026-11-23-2-grid.csv", threads: 1, by: By::Least },
];

/// The columns of the plot: the operation and the payload in a record, and their name for readers.
const OPERATIONS: [(&str, &str, &str); 3] =
    [("sort", "none", "u32 keys"), ("sort_pairs", "u32", "u32 keys with u32 values"), ("argsort", "none", "argsort of u32 keys")];

/// The systems, each with its color (Okabe and Ito's palette, which color-blind readers can tell apart).
const SYSTEMS: [(&str, RGBColor); 8] = [
    ("polysort", RGBColor(0, 0, 0)),
    ("std", RGBColor(153, 153, 153)),
    ("rayon", RGBColor(230, 159, 0)),
    ("rdst", RGBColor(86, 180, 233)),
    ("radsort", RGBColor(0, 158, 115)),
    ("voracious", RGBColor(204, 121, 167)),
    ("turbosort", RGBColor(0, 114, 178)),
    ("x86-simd-sort", RGBColor(213, 94, 0)),
];

/// Pixels of a panel, and of the legend's height.
const PANEL: (u32, u32) = (400, 270);
const LEGEND: u32 = 30;

/// Million keys in a second, at the ends of each panel.
const SPEEDS: std::ops::Range<f64> = 5.0..5000.0;

/// Draws the plot of the records in `folder`, as SVG.
///
/// # Errors
/// If a record cannot be read.
pub fn draw(folder: &Path) -> Result<String> {
    let mut svg = String::new();
    {
        let size = (PANEL.0 * OPERATIONS.len() as u32, PANEL.1 * SERIES.len() as u32 + LEGEND);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let (panels, legend) = root.split_vertically(PANEL.1 * SERIES.len() as u32);
        let areas = panels.split_evenly((SERIES.len(), OPERATIONS.len()));
        for (series, areas) in SERIES.iter().zip(areas.chunks(OPERATIONS.len())) {
            let rows = Row::read_all(&folder.join(series.record))?;
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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the lines of one operation.
fn panel(area: &Area<'_>, series: &Series, (op, payload, name): (&str, &str, &str), rows: &[Row]) -> Result<()> {
    let threads = if series.threads == 1 { "1 thread".to_string() } else { format!("{} threads", series.threads) };
    let mut lines: BTreeMap<&str, BTreeMap<usize, f64>> = BTreeMap::new();
    let in_panel = |row: &&Row| {
        let cell = &row.cell;
        row.verified && cell.op == op && cell.payload == payload && cell.key == "u32" && cell.threads == series.threads
    };
    for row in rows.iter().filter(in_panel) {
        let speed = row.cell.n as f64 * 1e3 / row.time(series.by);
        // Of several functions of one system, the fastest.
        let best = lines.entry(&row.system).or_default().entry(row.cell.n).or_insert(0.0);
        *best = best.max(speed);
    }
    let lengths: Vec<u32> = lines.values().flat_map(BTreeMap::keys).map(|n| n.ilog2()).collect();
    let (least, most) = (lengths.iter().min().copied().unwrap_or(0), lengths.iter().max().copied().unwrap_or(1));
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{name}: {}, {threads}", series.machine), ("sans-serif", 14))
        .margin(6)
        .margin_right(18)
        .x_label_area_size(34)
        .y_label_area_size(48)
        .build_cartesian_2d(f64::from(least)..f64::from(most), SPEEDS.log_scale())?;
    chart
        .configure_mesh()
        .x_labels((most - least) as usize / 2 + 1)
        .x_label_formatter(&|bits| format!("2^{bits:.0}"))
        .y_label_formatter(&|speed| format!("{speed:.0}"))
        .y_desc("million keys/s")
        .max_light_lines(0)
        .bold_line_style(RGBColor(225, 225, 225))
        .draw()?;
    for (system, color) in SYSTEMS.iter().rev() {
        let Some(points) = lines.get(system) else { continue };
        let points: Vec<(f64, f64)> = points.iter().map(|(n, &speed)| (f64::from(n.ilog2()), speed)).collect();
        let width = line_width(system);
        chart.draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(width)))?;
        chart.draw_series(points.iter().map(|&point| Circle::new(point, width + 1, color.filled())))?;
    }
    Ok(())
}

/// The width of a system's line in pixels: ours stands out.
fn line_width(system: &str) -> u32 {
    if system == "polysort" { 3 } else { 1 }
}

/// Draws each system's line and name.
fn draw_legend(area: &Area<'_>) -> Result<()> {
    for (at, (system, color)) in SYSTEMS.iter().enumerate() {
        let left = 40 + 140 * at as i32;
        area.draw(&PathElement::new(vec![(left, 14), (left + 24, 14)], color.stroke_width(line_width(system))))?;
        area.draw(&Text::new(*system, (left + 30, 8), ("sans-serif", 13)))?;
    }
    Ok(())
}
