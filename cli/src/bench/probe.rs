//! `bench --probe`: how fast passes scatter keys that are in a GPU's cache, and those that are not.
//!
//! A sort by its most significant digit first (`msd_hybrid`) reads and writes all keys once to partition them into buckets, and then sorts buckets,
//! or batches of them, by passes that stay in a cache. It can pay only if such passes are a good deal faster there. So passes over growing numbers of
//! `u32` are timed, by their launches in a profile of a sort on the device.
//!
//! Why [`WORTH`] is what it is: OneSweep sorts keys of 32 bits in four passes through memory, the hybrid in one and three inside the cache. With a
//! rate there of 1.5 times that of memory, these three take as long as two, so that one pass in four is saved. That has to pay for what the partition
//! costs on top: counting each bucket, a table of them, and tiles that are not full where buckets end. With less there is nothing left.

use super::resident::{Resident, open_gpus};
use crate::Outcome;
use crate::args::BenchArgs;
use crate::output::note;
use crate::progress::spin;
use anyhow::{Result, bail};
use core::fmt::Write as _;
use polysort::gpu::{PassKind, Times, Tuned, WgpuBackend};
use polysort::{Backend, Error};
use std::io::{Write, stdout};

/// The fewest keys, where no numbers are given: half a megabyte of them in both buffers.
const FEWEST: usize = 62_500;

/// The most, or a few less: half a gigabyte, which no cache holds.
const MOST: usize = 1 << 26;

/// Bytes that a key takes in both buffers, and that a pass moves: it is read from one and written to the other.
const KEY_BYTES: usize = 8;

/// The part of the best rate that a working set inside the cache still reaches.
const INSIDE: f64 = 0.8;

/// How many times the rate of memory passes inside the cache must have for the hybrid to pay: see above.
const WORTH: f64 = 1.5;

/// The name of the launches that are timed.
const PASS: &str = "onesweep";

/// The passes over a number of keys.
struct Point {
    keys: usize,
    passes: Times,
}

/// What the rates tell.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    /// The place of the largest working set inside the cache; the last one if no end of the cache was seen.
    end: usize,
    /// The best rate up to there, and that of the largest working set.
    rates: (f64, f64),
}

impl Verdict {
    /// How many times as fast passes are inside.
    fn gain(&self) -> f64 {
        self.rates.0 / self.rates.1
    }

    /// Whether the hybrid can pay.
    fn is_go(&self) -> bool {
        self.gain() >= WORTH
    }
}

/// Times the passes on every GPU, and tells what to make of it.
pub(crate) fn probe(args: &BenchArgs) -> Result<Outcome> {
    let (reps, sets, mut outcome) = (args.reps.get(), args.seeds.get(), Outcome::Fine);
    let doubled: Vec<usize> = (0..).map(|k| FEWEST << k).take_while(|&keys| keys <= MOST).collect();
    let mut sizes = args.sizes_or(&doubled);
    sizes.sort_unstable();
    sizes.dedup();
    for backend in open_gpus(&args.backends)? {
        let mut points = vec![];
        for &keys in &sizes {
            let gpu = backend.gpu().expect("all of them are on one");
            match spin(format!("{keys} keys"), || passes(gpu, keys, sets, reps)) {
                Ok(Some(passes)) => points.push(Point { keys, passes }),
                Ok(None) => {
                    note(&format!("{keys} keys are left out: WRONG ANSWER"));
                    outcome = Outcome::Failed;
                }
                Err(error) if is_no_room(&error) => {
                    note(&format!("{keys} keys and more are left out: {error:#}"));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let rates: Vec<f64> = points.iter().map(rate).collect();
        let Some(verdict) = verdict(&rates) else { bail!("fewer than two numbers of keys were timed: nothing to compare") };
        stdout().write_all(text(&backend.name(), &points, verdict).as_bytes())?;
    }
    Ok(outcome)
}

/// The times of all passes of all sorts of so many keys; none if one came out wrong.
fn passes(gpu: &WgpuBackend, keys: usize, sets: usize, reps: usize) -> Result<Option<Times>> {
    let resident = Resident::<u32>::new(gpu, PassKind::new(1, 0), keys, sets)?;
    let sort = resident.prepare(Tuned::NONE)?;
    resident.warm_up(&sort)?;
    let mut all = vec![];
    for set in 0..sets {
        let profile = resident.profile(set, &sort, reps)?;
        if !resident.is_answer(set)? {
            return Ok(None);
        }
        all.extend(profile.launches.iter().filter(|(name, _)| *name == PASS).flat_map(|(_, times)| times.iter()));
    }
    Ok(Some(all.into_iter().collect()))
}

/// Whether the device, or a binding, does not hold so many keys.
fn is_no_room(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::OutOfMemory { .. } | Error::TooLong { .. } | Error::InvalidBuffer { .. }))
}

/// Bytes that the median pass reads and writes, in units of 10⁹ a second.
fn rate(point: &Point) -> f64 {
    point.passes.gigabytes_per_second((KEY_BYTES * point.keys) as u64)
}

/// What rates of growing working sets tell; none if there are fewer than two.
fn verdict(rates: &[f64]) -> Option<Verdict> {
    if rates.len() < 2 {
        return None;
    }
    let end = cache_end(rates);
    let best = smoothed(rates)[..=end].iter().copied().fold(0.0, f64::max);
    Some(Verdict { end, rates: (best, rates[rates.len() - 1]) })
}

/// The largest working set that still reaches [`INSIDE`] of the best rate of those up to it. Small ones, which do not fill the device, are slower
/// than the best and do not count against it; nor does one that is out of line with both of its neighbours.
fn cache_end(rates: &[f64]) -> usize {
    let (mut best, mut end) = (0.0_f64, 0);
    for (place, rate) in smoothed(rates).into_iter().enumerate() {
        best = best.max(rate);
        if rate >= INSIDE * best {
            end = place;
        }
    }
    end
}

/// Each rate but the first and the last as the median of itself and its neighbours: rises and falls stay where they are, single outliers go.
fn smoothed(rates: &[f64]) -> Vec<f64> {
    let of_three = |three: &[f64]| three[0].min(three[1]).max(three[0].max(three[1]).min(three[2]));
    let inner = rates.windows(3).map(of_three);
    match rates {
        [first, _, .., last] => [*first].into_iter().chain(inner).chain([*last]).collect(),
        few => few.to_vec(),
    }
}

/// The table of all numbers of keys, and what to make of it.
fn text(device: &str, points: &[Point], verdict: Verdict) -> String {
    let mut text = format!("{device}: passes over u32 on the device\n");
    let mut line = |cells: [String; 6]| {
        let [keys, bytes, rest @ ..] = cells;
        let rest: String = rest.iter().map(|cell| format!("{cell:>11}")).collect();
        writeln!(text, "  {keys:>10}{bytes:>13}{rest}").expect("a String takes all");
    };
    line(["keys", "working MB", "p5 us", "median us", "p95 us", "GB/s"].map(Into::into));
    for point in points {
        let micros = |percent| format!("{:.1}", point.passes.percentile(percent).as_secs_f64() * 1e6);
        let megabytes = format!("{:.1}", megabytes(point.keys));
        line([point.keys.to_string(), megabytes, micros(5), micros(50), micros(95), format!("{:.1}", rate(point))]);
    }
    let (inside, memory) = verdict.rates;
    let end = match points.get(verdict.end) {
        Some(point) if verdict.end + 1 < points.len() => format!("the cache ends after {:.1} MB", megabytes(point.keys)),
        _ => "no end of a cache was seen".into(),
    };
    let go = if verdict.is_go() { "go: buckets in the cache can pay" } else { "no go: buckets in the cache do not pay" };
    let gain = verdict.gain();
    writeln!(
        text,
        "{end}; {inside:.1} GB/s up to there, {memory:.1} for the most keys: {gain:.2} times as fast, of {WORTH} needed\n{go}\n"
    )
    .expect("a String takes all");
    text
}

fn megabytes(keys: usize) -> f64 {
    (KEY_BYTES * keys) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(rates: &[f64]) -> (usize, bool) {
        let verdict = verdict(rates).expect("rates enough");
        (verdict.end, verdict.is_go())
    }

    #[test]
    fn a_cache_ends_where_the_rate_falls() {
        // Small sets do not fill the device, then the cache, then memory.
        assert_eq!(judged(&[100.0, 300.0, 900.0, 1000.0, 950.0, 850.0, 500.0, 400.0, 390.0]), (5, true));
        assert_eq!(judged(&[100.0, 300.0, 900.0, 1000.0, 990.0, 790.0, 750.0, 740.0, 740.0]), (4, false));
        // At once, and with the last set alone outside.
        assert_eq!(judged(&[10.0, 4.0, 4.0, 4.0]), (0, true));
        assert_eq!(judged(&[10.0, 10.0, 10.0, 6.0]), (2, true));
    }

    #[test]
    fn without_a_fall_there_is_no_end() {
        assert_eq!(judged(&[1.0, 2.0, 4.0, 8.0, 16.0]), (4, false));
        assert_eq!(judged(&[5.0; 7]), (6, false));
        assert_eq!(judged(&[10.0, 9.9, 9.6, 9.2, 8.9, 8.5]), (5, false));
        assert_eq!(judged(&[5.0, 5.0]), (1, false));
        assert_eq!((verdict(&[]), verdict(&[5.0])), (None, None));
    }

    #[test]
    fn one_rate_out_of_line_changes_nothing() {
        let rates = [300.0, 900.0, 1000.0, 980.0, 970.0, 960.0, 420.0, 410.0, 400.0, 400.0];
        let expected = (5, true);
        assert_eq!(judged(&rates), expected);
        for place in 1..rates.len() - 1 {
            // A neighbour of the edge may be taken for the edge.
            for wrong in [10.0, 5000.0] {
                let mut noisy = rates;
                noisy[place] = wrong;
                let (end, go) = judged(&noisy);
                assert!(end.abs_diff(expected.0) <= 1 && go, "{wrong} at {place}: {end}");
            }
        }
        // And noise of some percent neither.
        let noisy: Vec<f64> =
            rates.iter().zip([1.05, 0.94, 0.96, 1.06, 0.93, 1.04, 1.06, 0.95, 1.05, 0.96]).map(|(r, n)| r * n).collect();
        assert_eq!(judged(&noisy), expected);
    }

    #[test]
    fn the_threshold_is_where_it_is_said_to_be() {
        assert_eq!(judged(&[3.0, 3.0, 2.0, 2.0]), (1, true));
        assert_eq!(judged(&[2.99, 2.99, 2.0, 2.0]), (1, false));
        assert_eq!(verdict(&[3.0, 3.0, 2.0, 2.0]), Some(Verdict { end: 1, rates: (3.0, 2.0) }));
    }

    #[test]
    fn a_text_tells_rates_and_verdict() {
        let point = |keys, micros| Point { keys, passes: [core::time::Duration::from_micros(micros)].into_iter().collect() };
        let points = [point(1_000_000, 8), point(2_000_000, 16), point(4_000_000, 80)];
        let rates: Vec<f64> = points.iter().map(rate).collect();
        let text = text("A card", &points, verdict(&rates).expect("rates enough"));
        assert!(text.contains("   2000000         16.0       16.0       16.0       16.0     1000.0\n"), "{text}");
        assert!(
            text.contains("the cache ends after 16.0 MB; 1000.0 GB/s up to there, 400.0 for the most keys: 2.50 times"),
            "{text}"
        );
        assert!(text.ends_with("\ngo: buckets in the cache can pay\n\n"), "{text}");
    }
}
