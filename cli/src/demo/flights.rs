//! All flights that left New York in 2013, by how late they arrived, and the airports of the country. See `data/README.md`.

use crate::backend::Chosen;
use crate::dtype::{Key, with_key};
use crate::files::{Array, Format, Source, Table, TableArgs};
use crate::order::Ranking;
use crate::outcome::Outcome;
use crate::sort::argsort_rows;
use anyhow::Result;
use polysort::{AnyBackend, Options, Sort, TopK};
use std::io::Write;
use std::time::{Duration, Instant};

/// Minutes by which each flight arrived late; NaN for a flight that did not arrive as planned.
const DELAYS: &[u8] = include_bytes!("../../data/flights-arr-delay.npy");
const AIRPORTS: &[u8] = include_bytes!("../../data/airports.csv");

/// The number of latest flights, and of airports, that are printed.
const LATEST: usize = 10;
const SHOWN_ROWS: usize = 3;

/// Sorts the real data on each backend. Prints the results of the first backend, and for each backend whether std's sort gives the same.
pub(crate) fn show(out: &mut dyn Write, backends: &[AnyBackend]) -> Result<Outcome> {
    let delays: Vec<f32> = Array::open(Source::embedded("flights-arr-delay.npy", Format::Npy, DELAYS), None)?.keys()?;
    let (by_altitude, by_latitude) = (airports("alt")?, airports("lat")?);
    let (mut outcome, mut is_printed) = (Outcome::Fine, false);
    for backend in backends {
        let found = Found::on(backend, &delays, &by_altitude, &by_latitude);
        match found {
            Err(error) => {
                writeln!(out, "\n{}: failed: {error:#}", backend.kind())?;
                outcome = Outcome::Failed;
            }
            Ok(found) => {
                if !is_printed {
                    found.print(out, &by_altitude, &by_latitude)?;
                    is_printed = true;
                }
                let right = found.is_right(&delays, &by_altitude, &by_latitude)?;
                let verdict = if right { "all as std has it" } else { "WRONG ANSWERS" };
                writeln!(out, "{}: {verdict}; the delays were sorted in {:.1?}", backend.kind(), found.time)?;
                if !right {
                    outcome = Outcome::Failed;
                }
            }
        }
    }
    Ok(outcome)
}

/// Returns the table of airports with one column as keys, as `polysort sort --column` reads it.
fn airports(column: &str) -> Result<Table> {
    let args = TableArgs { column: Some(column), header: true, dtype: None, empty: None };
    Table::read(Source::embedded("airports.csv", Format::Csv, AIRPORTS), &args)
}

/// The results of a backend.
struct Found {
    sorted: Vec<f32>,
    time: Duration,
    order: Vec<u32>,
    latest: TopK<f32>,
    highest: Vec<u32>,
    northernmost: Vec<u32>,
}

impl Found {
    fn on(backend: &AnyBackend, delays: &[f32], by_altitude: &Table, by_latitude: &Table) -> Result<Self> {
        let (chosen, descending) = (Chosen::Named(backend.clone()), Options::descending());
        let mut sorted = delays.to_vec();
        let start = Instant::now();
        backend.sort(&mut sorted)?;
        let time = start.elapsed();
        Ok(Self {
            sorted,
            time,
            order: backend.argsort(delays)?,
            latest: backend.top_k(&arrived(delays), LATEST)?,
            highest: argsort_rows(by_altitude, descending, &chosen)?,
            northernmost: argsort_rows(by_latitude, descending, &chosen)?,
        })
    }

    fn print(&self, out: &mut dyn Write, by_altitude: &Table, by_latitude: &Table) -> Result<()> {
        let nans = self.sorted.iter().filter(|delay| delay.is_nan()).count();
        let landed = &self.sorted[..self.sorted.len() - nans];
        let (flights, earliest, median) = (self.sorted.len(), landed[0], landed[landed.len() / 2]);
        writeln!(out, "\n{flights} flights that left New York in 2013, by the minutes that they arrived late")?;
        writeln!(out, "  earliest {earliest}, median {median}, latest {}", landed[landed.len() - 1])?;
        writeln!(out, "  {nans} did not arrive as planned: NaN, which sorts last")?;
        writeln!(out, "  first and last of the argsort: rows {} and {}", self.order[0], self.order[flights - nans - 1])?;
        let latest: Vec<String> = self.latest.keys.iter().map(f32::to_string).collect();
        writeln!(out, "  the {LATEST} latest: {}", latest.join(", "))?;
        writeln!(out, "\n{} airports, the highest first", by_altitude.len())?;
        by_altitude.write(out, &self.highest[..SHOWN_ROWS])?;
        writeln!(
            out,
            "\nand the northernmost first (the very first is in New Hampshire: its coordinates are swapped in the source)"
        )?;
        by_latitude.write(out, &self.northernmost[..SHOWN_ROWS])?;
        writeln!(out)?;
        Ok(())
    }

    /// Whether std's sort gives the same.
    fn is_right(&self, delays: &[f32], by_altitude: &Table, by_latitude: &Table) -> Result<bool> {
        let order = std_order(delays, Options::ascending())?;
        let sorted: Vec<f32> = order.iter().map(|&index| delays[index as usize]).collect();
        let arrived = arrived(delays);
        let latest = std_order(&arrived, Options::descending())?;
        let std_rows = |table: &Table| with_key!(table.dtype, K => std_order(&table.keys::<K>()?, Options::descending()));
        Ok(bytemuck::cast_slice::<f32, u32>(&self.sorted) == bytemuck::cast_slice::<f32, u32>(&sorted)
            && self.order == order
            && self.latest.indices == latest[..LATEST]
            && self.latest.keys.iter().zip(&latest).all(|(key, &index)| *key == arrived[index as usize])
            && self.highest == std_rows(by_altitude)?
            && self.northernmost == std_rows(by_latitude)?)
    }
}

/// Returns the delays of the flights that arrived. In the order of `total_cmp`, NaN would be the latest of all.
fn arrived(delays: &[f32]) -> Vec<f32> {
    delays.iter().copied().filter(|delay| !delay.is_nan()).collect()
}

/// Returns the indices that sort the keys, by std's stable sort.
fn std_order<K: Key>(keys: &[K], options: Options) -> Result<Vec<u32>> {
    let ranking = Ranking::new::<K>(options)?;
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by(|&a, &b| ranking.compare(&keys[a as usize], &keys[b as usize]));
    Ok(order)
}
