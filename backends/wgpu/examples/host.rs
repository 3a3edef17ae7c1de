//! Sorts of `u32` slices of the host, each checked, with a phase diagram of one call.
//!
//!   host [OP [POWER [CALLS [PORTION]]]]     OP: sort, into, argsort, resident or cpu; 2^POWER keys; PORTION: the most keys of a portion, as a power
//!                                           of two
//!
//! `resident` sorts keys that are on the device already: its times do not include copies. `cpu` sorts by the CPU backend.
//! The first line has the times of the calls. In the diagram, each column is a part of the time of the last call, and each row a phase:
//! `.` the phase ran for up to a quarter of the column's time, `:` a half, `+` three quarters, `#` nearly all of it. Phases are the `tracing` spans of
//! the backend: the host copies to staging memory (copy up) and from it (copy down), submits commands, waits for the device.

mod spans;

use polysort_core::{Backend, Options, Sort};
use polysort_measure::{Times, is_stable_order, split_mix};
use polysort_rayon::RayonBackend;
use polysort_wgpu::testing::{self, Knobs};
use polysort_wgpu::wgpu::PollType;
use polysort_wgpu::{Config, SortBuffer, WgpuBackend};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::error::Error;
use std::time::{Duration, Instant};

/// The number of columns of a diagram.
const COLUMNS: u32 = 100;

/// A sum that does not depend on the order.
fn sum(keys: &[u32]) -> (u64, u64) {
    let mixed = |&key: &u32| (u64::from(key), u64::from(key).wrapping_mul(u64::from(key) | 1));
    keys.par_iter().map(mixed).reduce(|| (0, 0), |a, b| (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1)))
}

fn is_sorted(keys: &[u32]) -> bool {
    let pieces = keys.par_chunks(1 << 20).enumerate();
    pieces
        .all(|(index, piece)| piece.is_sorted() && keys.get((index + 1) << 20).is_none_or(|next| piece[piece.len() - 1] <= *next))
}

/// Runs one call, checks its result, and returns its time.
fn call(backend: &WgpuBackend, op: &str, keys: &mut [u32], sorted: &mut [u32]) -> Result<(Instant, Duration), Box<dyn Error>> {
    keys.par_iter_mut().enumerate().for_each(|(index, slot)| *slot = split_mix(index as u64) as u32);
    let before = sum(keys);
    spans::clear();
    let started = Instant::now();
    let (elapsed, right) = match op {
        "sort" => {
            backend.sort(keys)?;
            (started.elapsed(), is_sorted(keys) && sum(keys) == before)
        }
        "into" => {
            backend.sort_into(keys, sorted)?;
            (started.elapsed(), is_sorted(sorted) && sum(sorted) == before)
        }
        "cpu" => {
            RayonBackend::default().sort(keys)?;
            (started.elapsed(), is_sorted(keys) && sum(keys) == before)
        }
        "resident" => {
            let mut buffer = SortBuffer::from_slice(backend, keys)?;
            backend.device().poll(PollType::wait_indefinitely())?;
            let started = Instant::now();
            backend.sort_buffer(&mut buffer, Options::ascending())?;
            backend.device().poll(PollType::wait_indefinitely())?;
            let elapsed = started.elapsed();
            buffer.copy_to_slice(keys)?;
            (elapsed, is_sorted(keys) && sum(keys) == before)
        }
        "argsort" => {
            let order = backend.argsort(keys)?;
            let elapsed = started.elapsed();
            sorted.par_iter_mut().zip(&order).for_each(|(slot, &index)| *slot = keys[index as usize]);
            let stable = is_stable_order(keys, sorted, |&key| key, |i| order[i] as usize);
            (elapsed, stable && is_sorted(sorted) && sum(sorted) == before)
        }
        other => return Err(format!("unknown operation: {other}").into()),
    };
    if right { Ok((started, elapsed)) } else { Err(format!("{op} of {} keys is wrong", keys.len()).into()) }
}

/// Prints what ran when, and the time of each phase: of all threads, and in which at least one thread was in the phase.
fn diagram(started: Instant, elapsed: Duration) {
    let mut phases: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (name, from, to) in spans::intervals() {
        let place = |time: Instant| time.saturating_duration_since(started).as_secs_f64().min(elapsed.as_secs_f64());
        phases.entry(name).or_default().push((place(from), place(to)));
    }
    let column = elapsed.as_secs_f64() / f64::from(COLUMNS);
    for (name, mut intervals) in phases {
        intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = intervals.iter().map(|(from, to)| to - from).sum();
        let mut joined: Vec<(f64, f64)> = vec![];
        for (from, to) in intervals {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        let once: f64 = joined.iter().map(|(from, to)| to - from).sum();
        let text: String = (0..COLUMNS)
            .map(|index| {
                let (begin, end) = (column * f64::from(index), column * f64::from(index + 1));
                let busy: f64 = joined.iter().map(|&(from, to)| (to.min(end) - from.max(begin)).max(0.0)).sum();
                [' ', '.', ':', '+', '#'][(busy / column * 4.0).ceil().min(4.0) as usize]
            })
            .collect();
        println!("  {name:<18}|{text}| {:>9.2} ms, {:>9.2} of all threads", once * 1e3, all * 1e3);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u32| arguments.get(index).map_or(Ok(default), |text| text.parse());
    let op = arguments.first().map_or("sort", |op| op);
    let (power, calls) = (number(1, 26)?, number(2, 7)?.max(1));
    let portion = arguments.get(3).map(|power| power.parse::<u32>()).transpose()?.map(|power| 1_u64 << power);
    spans::collect();
    let mut config = Config::from_env();
    if op == "resident" {
        // The copies before and after a sort shall not take the place of its scratch.
        config.memory.kept = u64::MAX;
    }
    let backend = testing::open(config, Knobs { portion, ..Knobs::default() })?;
    let len = 1_usize << power;
    let (mut keys, mut sorted) = (vec![0; len], vec![1; if ["sort", "resident", "cpu"].contains(&op) { 0 } else { len }]);
    // The first call compiles, and allocates.
    let (_, first) = call(&backend, op, &mut keys, &mut sorted)?;
    let timed = (0..calls).map(|_| call(&backend, op, &mut keys, &mut sorted)).collect::<Result<Vec<_>, _>>()?;
    let (started, last) = timed[timed.len() - 1];
    let times: Times = timed.iter().map(|(_, elapsed)| *elapsed).collect();
    let [median, shortest, longest] = [50, 0, 100].map(|percent| times.percentile(percent).as_secs_f64() * 1e3);
    println!("{}", backend.name());
    println!(
        "{op} of 2^{power} u32, portions of {}: median {median:.2} ms ({:.3} Gkeys/s), {:.2} to {:.2} ms, first call {:.2} ms; the diagram is of {:.2} ms",
        portion.map_or("the usual length".into(), |portion| format!("{portion} keys")),
        len as f64 / median / 1e6,
        shortest,
        longest,
        first.as_secs_f64() * 1e3,
        last.as_secs_f64() * 1e3,
    );
    diagram(started, last);
    Ok(())
}
