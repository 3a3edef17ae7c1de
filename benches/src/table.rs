//! Ratios to the best peer, cell by cell.

use crate::system::{FLOOR, WITNESS};
use polysort_measure::{By, Cell, Row};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Our speed in a cell, and that of the best peers that gave the right answer.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The cell.
    pub cell: Cell,
    /// Our time for one slice, in nanoseconds.
    pub own: f64,
    /// The best Rust peer's time, and its name.
    pub rust: Option<(f64, String)>,
    /// The witness's time.
    pub witness: Option<f64>,
    /// The time of a copy of the same bytes.
    pub floor: Option<f64>,
}

impl Standing {
    /// Million keys in a second.
    pub fn speed(&self) -> f64 {
        self.cell.n as f64 * 1e3 / self.own
    }
}

/// The standings of all cells that we took part in.
pub fn standings(rows: &[Row], by: By) -> Vec<Standing> {
    let mut cells: BTreeMap<&Cell, Vec<&Row>> = BTreeMap::new();
    rows.iter().filter(|row| row.verified).for_each(|row| cells.entry(&row.cell).or_default().push(row));
    let time = |row: &Row| row.time(by);
    let standing = |(cell, rows): (&Cell, Vec<&Row>)| {
        let own = rows.iter().filter(|row| row.system == "polysort").map(|row| time(row)).reduce(f64::min)?;
        let peers = rows.iter().filter(|row| !["polysort", WITNESS, FLOOR].contains(&&*row.system));
        let rust = peers.map(|row| (time(row), format!("{} {}", row.system, row.backend))).min_by(|a, b| a.0.total_cmp(&b.0));
        let of = |system: &str| rows.iter().filter(|row| row.system == system).map(|row| time(row)).reduce(f64::min);
        Some(Standing { cell: cell.clone(), own, rust, witness: of(WITNESS), floor: of(FLOOR) })
    };
    cells.into_iter().filter_map(standing).collect()
}

/// A table of speeds (million keys in a second) and ratios, a row for each cell.
pub fn table(standings: &[Standing]) -> String {
    let mut text =
        String::from("op key payload pattern n threads | Mkeys/s | over the best Rust peer | over x86-simd-sort | over a copy\n");
    for standing in standings {
        let Cell { op, key, payload, pattern, n, threads, .. } = &standing.cell;
        let threads = threads.map_or(String::from("-"), |threads| threads.to_string());
        let size = if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() };
        let rust = standing.rust.as_ref().map_or(String::from("-"), |(time, name)| format!("{:.2} {name}", time / standing.own));
        let witness = standing.witness.map_or(String::from("-"), |time| format!("{:.2}", time / standing.own));
        let floor = standing.floor.map_or(String::from("-"), |time| format!("{:.2}", time / standing.own));
        let row = format!(
            "{op:<10} {key:<4} {payload:<4} {pattern:<15} {size:<5} {threads:<2} | {:>7.1} | {rust:<32} | {witness:<4} | {floor}",
            standing.speed()
        );
        writeln!(text, "{row}").expect("a String takes text");
    }
    text
}

/// The cells that miss a target, and the geometric mean over the witness.
pub fn verdict(standings: &[Standing]) -> String {
    let mut text = String::new();
    let mut logarithms = vec![];
    for standing in standings {
        let cell = &standing.cell;
        let least = match (cell.op.as_str(), cell.n) {
            (_, ..256) => 0.9,
            ("sort" | "median" | "tenth", _) => 1.0,
            (_, 65536..) => 1.5,
            _ => 1.0,
        };
        if let Some((time, name)) = standing.rust.as_ref().filter(|(time, _)| time / standing.own < least) {
            writeln!(text, "below {least}: {cell:?}: {:.2} of {name}", time / standing.own).expect("a String takes text");
        }
        if let Some(time) = standing.witness {
            logarithms.push((time / standing.own).ln());
            if time / standing.own < 0.8 {
                writeln!(text, "below 0.8 of the witness: {cell:?}: {:.2}", time / standing.own).expect("a String takes text");
            }
        }
        let is_settled = ["sorted", "reversed", "equal"].contains(&&*cell.pattern);
        if let Some(time) = standing.floor.filter(|time| is_settled && time / standing.own < 0.5) {
            writeln!(text, "below 0.5 of a copy: {cell:?}: {:.2}", time / standing.own).expect("a String takes text");
        }
        let half = standings
            .iter()
            .find(|other| Cell { threads: other.cell.threads.map(|threads| threads * 2), ..other.cell.clone() } == *cell);
        if let Some(half) = half.filter(|half| standing.own > half.own * 1.05) {
            writeln!(text, "slower than on half the threads: {cell:?}: {:.2} of its time", standing.own / half.own)
                .expect("a String takes text");
        }
        let uniform = standings.iter().find(|other| {
            Cell { pattern: cell.pattern.clone(), ..other.cell.clone() } == *cell && other.cell.pattern == "uniform"
        });
        if let Some(uniform) = uniform.filter(|uniform| standing.own > uniform.own * 1.1) {
            writeln!(text, "slower than uniform: {cell:?}: {:.2} of its time", standing.own / uniform.own)
                .expect("a String takes text");
        }
    }
    if !logarithms.is_empty() {
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        writeln!(text, "geometric mean over {WITNESS}: {mean:.3} of {} cells", logarithms.len()).expect("a String takes text");
    }
    text
}
