//! Times other crates' sorts on wgpu, of data that is on the device, as `measure` times ours: `peers SYSTEM PAYLOAD LENGTHS TRIALS [LANES]`.
//!
//! SYSTEM: lampshade, wgpu_sort; PAYLOAD: none, u32; LENGTHS: powers of two, as 16,20,24; LANES: of a subgroup, which wgpu_sort must be told, 32
//! if not given. Sorts u32 keys, the same as `measure` does; prints the same rows; verifies the result of the last trial of each length. A length
//! that a system cannot do has no row, but a line on stderr.

mod lampshade;
mod wgpu_sort;

use std::error::Error;
use std::time::{Duration, Instant};

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
            println!("{system},wgpu,{}", row(&mut *peer, &columns, trials)?);
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
    let mut state = 0x1234_5678_9abc_def0_u64 ^ count as u64;
    let mut keys = vec![0; count];
    for pair in keys.chunks_mut(2) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
        pair.copy_from_slice(&[word as u32, (word >> 32) as u32][..pair.len()]);
    }
    keys
}

/// Of a row, what comes after the backend.
fn row(peer: &mut dyn Peer, columns: &[Vec<u32>], trials: usize) -> Result<String, Box<dyn Error>> {
    // The clock of an idle device is low.
    let warm = Instant::now();
    while warm.elapsed().as_millis() < 500 {
        peer.run(8)?;
    }
    let mut times = (0..trials).map(|_| peer.run(1)).collect::<Result<Vec<_>, _>>()?;
    times.sort_unstable();
    let nanos = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1].as_nanos();
    let (payload, count) = (if columns.len() == 1 { "none" } else { "u32" }, columns[0].len());
    let (algorithm, verified) = (peer.algorithm(), peer.read()? == sorted(columns));
    let (median, low, high) = (nanos(50), nanos(5), nanos(95));
    Ok(format!("{algorithm},u32,{payload},{count},{median},{low},{high},{:.2},{verified}", count as f64 / median as f64))
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
