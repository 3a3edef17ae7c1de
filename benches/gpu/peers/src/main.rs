//! Times other crates' sorts on wgpu, of data that is on the device, as `measure` times ours: `peers SYSTEM PAYLOAD LENGTHS TRIALS [LANES]`.
//!
//! SYSTEM: lampshade, wgpu_sort; PAYLOAD: none, u32; LENGTHS: powers of two, as 16,20,24; LANES: of a subgroup, which wgpu_sort must be told, 32
//! if not given. Sorts u32 keys, the same as `measure` does; prints the same rows; verifies the result of the last trial of each length. A length
//! that a system cannot do has no row, but a line on stderr.

mod lampshade;
mod wgpu_sort;

use polysort_measure::{Effort, Line, Series, Trial, take_turns, warm_up, words};
use std::error::Error;
use std::time::Duration;

/// Keys, and values if they are pairs, on a device that can sort them.
trait Peer {
    /// The peer's name for what sorts on this device.
    fn algorithm(&self) -> &'static str;

    /// Sorts so many times, each time the columns as they were at first. Returns how long the last sort took on the device.
    fn run(&mut self, sorts: usize) -> Result<Duration, Box<dyn Error>>;

    /// The columns as the last sort left them.
    fn read(&self) -> Result<Vec<Vec<u32>>, Box<dyn Error>>;
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [system, payload, lengths, trials, ..] = arguments.as_slice() else {
        return Err("usage: peers SYSTEM PAYLOAD LENGTHS TRIALS [LANES]".into());
    };
    let trials = trials.parse()?;
    let lanes = arguments.get(4).map_or(Ok(32), |lanes| lanes.parse())?;
    for exponent in lengths.split(',') {
        let keys = keys(1 << exponent.parse::<u32>()?);
        let count = keys.len();
        let mut columns = vec![keys];
        match payload.as_str() {
            "none" => {}
            "u32" => columns.push((0..count as u32).collect()),
            other => return Err(format!("no values {other}").into()),
        }
        let opened = match system.as_str() {
            "lampshade" => lampshade::open(&columns),
            "wgpu_sort" => wgpu_sort::open(&columns, lanes),
            other => return Err(format!("no system {other}").into()),
        };
        let measured = opened.and_then(|mut peer| {
            print!("{}", row(system, &mut *peer, &columns, trials)?);
            Ok(())
        });
        if let Err(error) = measured {
            eprintln!("{system} has no row for {count} u32 with {payload}: {error}");
        }
    }
    Ok(())
}

/// The words of which `measure` makes its keys.
fn keys(count: usize) -> Vec<u32> {
    let halves = |word: u64| [word as u32, (word >> 32) as u32];
    words(0x1234_5678_9abc_def0 ^ count as u64).flat_map(halves).take(count).collect()
}

/// The row of a peer.
fn row(system: &str, peer: &mut dyn Peer, columns: &[Vec<u32>], trials: usize) -> Result<String, Box<dyn Error>> {
    warm_up(|| peer.run(8).map(drop))?;
    // The result of the last run is verified.
    let mut series = [Series::default()];
    take_turns(&mut series, Effort::rounds(0, trials), |_| peer.run(1).map(|time| Trial::new(time, true)));
    let (payload, verified) = (if columns.len() == 1 { "none" } else { "u32" }, peer.read()? == sorted(columns));
    let line = Line { system, backend: "wgpu", algorithm: peer.algorithm(), key: "u32", payload, n: columns[0].len() };
    Ok(line.text(&series[0].completed()?.ranked(), verified))
}

/// The columns in the order of std's stable sort.
fn sorted(columns: &[Vec<u32>]) -> Vec<Vec<u32>> {
    // The order of equal keys is that of their indices, so that both can be sorted as one word.
    let mut rows: Vec<u64> = columns[0].iter().zip(0..).map(|(&key, index): (_, u64)| u64::from(key) << 32 | index).collect();
    rows.sort_unstable();
    columns.iter().map(|column| rows.iter().map(|&row| column[row as u32 as usize]).collect()).collect()
}

/// From the first tick to the second, where one takes `period` nanoseconds.
fn between(ticks: &[u64], period: f32) -> Result<Duration, Box<dyn Error>> {
    // A device that was lost leaves zeros.
    let passed = ticks[1].checked_sub(ticks[0]).filter(|&passed| passed > 0).ok_or("the device told no time")?;
    Ok(Duration::from_nanos((passed as f64 * f64::from(period)) as u64))
}

/// Whether a device that is the CPU may be measured, as in tests.
fn software() -> bool {
    std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some()
}
