//! `bench --probe`: the rate of passes over keys that fit a GPU's cache, and over keys that do not.
//!
//! A sort with the most significant digit first (`msd_hybrid`) partitions all keys into buckets once, through memory. It then sorts the buckets, or
//! batches of them, with passes that stay in the cache. It pays only if passes in the cache are much faster. So `--probe` times passes over growing
//! numbers of `u32` keys, by their launches in the profile of a sort on the device.
//!
//! Why [`WORTH`] is 1.5: OneSweep sorts 32-bit keys in four passes through memory. The hybrid needs one through memory and three in the cache. At 1.5 ×
//! the rate of memory, those three take as long as two through memory, so one pass of four is saved. The hybrid spends that on counting each
//! bucket, on a table of buckets, and on tiles that are not full where a bucket ends. Below 1.5 it saves nothing.

use super::args::BenchArgs;
use super::resident::{Resident, open_gpus};
use crate::message::note;
use crate::outcome::Outcome;
use crate::progress::spin;
use crate::standard::stdout;
use anyhow::{Result, bail};
use core::fmt::Write as _;
use polysort::gpu::{PassKind, Tuned, WgpuBackend};
use polysort::{Backend, Error};
use polysort_measure::Times;
use std::io::Write;

/// The smallest number of keys, unless `--sizes` is given. These keys take half a megabyte in both buffers together.
const FEWEST: usize = 62_500;

/// The upper bound of the numbers of keys. These keys take half a gigabyte, which does not fit any cache.
const MOST: usize = 1 << 26;

/// Bytes of a key in both buffers together. A pass moves as many: it reads a key from one buffer and writes it to the other.
const KEY_BYTES: usize = 8;

/// The least rate of a working set inside the cache, over the best rate.
const INSIDE: f64 = 0.8;

/// The least gain for which the hybrid can pay: the rate of passes in the cache over the rate through memory (see above).
const WORTH: f64 = 1.5;

/// The name of the launches that are timed.
const PASS: &str = "onesweep";

/// The passes over a number of keys.
struct Point {
    keys: usize,
    passes: Times,
}

/// The conclusion from the rates.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Verdict {
    /// The index of the largest working set inside the cache. It is the last index if no end of the cache was seen.
    end: usize,
    /// The best rate up to that index, and the rate of the largest working set.
    rates: (f64, f64),
}

impl Verdict {
    /// Returns the rate of passes in the cache over the rate of passes through memory.
    fn gain(&self) -> f64 {
        self.rates.0 / self.rates.1
    }

    /// Whether the hybrid can pay.
    fn is_go(&self) -> bool {
        self.gain() >= WORTH
    }
}

/// Times the passes on every GPU, and prints the table and the verdict.
pub(crate) fn probe(args: &BenchArgs) -> Result<Outcome> {
    let (reps, sets, mut outcome) = (args.reps.get(), args.seeds.get(), Outcome::Fine);
    let doubled: Vec<usize> = (0..).map(|k| FEWEST << k).take_while(|&keys| keys <= MOST).collect();
    let mut sizes = args.sizes_or(&doubled);
    sizes.sort_unstable();
    sizes.dedup();
    for backend in open_gpus(&args.backends, args.adapter.as_deref())? {
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
        stdout()?.write_all(text(&backend.name(), &points, verdict).as_bytes())?;
    }
    Ok(outcome)
}

/// Returns the times of all passes of all sorts of `keys` keys; none if a result was wrong.
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

/// Whether the device, or a binding, cannot hold the keys.
fn is_no_room(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::OutOfMemory { .. } | Error::TooLong { .. } | Error::InvalidBuffer { .. }))
}

/// Returns the rate of the median pass in 10⁹ bytes per second, read and written.
fn rate(point: &Point) -> f64 {
    point.passes.per_nanosecond((KEY_BYTES * point.keys) as f64)
}

/// Returns the verdict on the rates of growing working sets; none if there are fewer than two.
fn verdict(rates: &[f64]) -> Option<Verdict> {
    if rates.len() < 2 {
        return None;
    }
    let end = cache_end(rates);
    let best = smoothed(rates)[..=end].iter().copied().fold(0.0, f64::max);
    Some(Verdict { end, rates: (best, rates[rates.len() - 1]) })
}

/// Returns the index of the largest working set whose rate is at least [`INSIDE`] × the best rate up to it. So small working sets, which
/// are slow because they do not fill the device, do not count, nor does an outlier between two neighbors.
fn cache_end(rates: &[f64]) -> usize {
    let (mut best, mut end) = (0.0_f64, 0);
    for (index, rate) in smoothed(rates).into_iter().enumerate() {
        best = best.max(rate);
        if rate >= INSIDE * best {
            end = index;
        }
    }
    end
}

/// Returns each rate, except the first and the last, as the median of itself and its two neighbors. That removes single outliers, and leaves
/// rises and falls where they are.
fn smoothed(rates: &[f64]) -> Vec<f64> {
    let of_three = |three: &[f64]| three[0].min(three[1]).max(three[0].max(three[1]).min(three[2]));
    let inner = rates.windows(3).map(of_three);
    match rates {
        [first, _, .., last] => [*first].into_iter().chain(inner).chain([*last]).collect(),
        few => few.to_vec(),
    }
}

/// Returns the table of all numbers of keys, and the verdict.
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
        "{end}; {inside:.1} GB/s up to there, {memory:.1} for the most keys: {gain:.2} x, and {WORTH} x are needed\n{go}\n"
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
        // Small working sets do not fill the device; larger ones fit the cache; the largest do not.
        assert_eq!(judged(&[100.0, 300.0, 900.0, 1000.0, 950.0, 850.0, 500.0, 400.0, 390.0]), (5, true));
        assert_eq!(judged(&[100.0, 300.0, 900.0, 1000.0, 990.0, 790.0, 750.0, 740.0, 740.0]), (4, false));
        // All but the first working set, or only the last one, exceed the cache.
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
    fn one_outlier_changes_nothing() {
        let rates = [300.0, 900.0, 1000.0, 980.0, 970.0, 960.0, 420.0, 410.0, 400.0, 400.0];
        let expected = (5, true);
        assert_eq!(judged(&rates), expected);
        for index in 1..rates.len() - 1 {
            // A neighbor of the edge may count as the edge.
            for wrong in [10.0, 5000.0] {
                let mut noisy = rates;
                noisy[index] = wrong;
                let (end, go) = judged(&noisy);
                assert!(end.abs_diff(expected.0) <= 1 && go, "{wrong} at {index}: {end}");
            }
        }
        // Noise of some percent changes nothing either.
        let noisy: Vec<f64> =
            rates.iter().zip([1.05, 0.94, 0.96, 1.06, 0.93, 1.04, 1.06, 0.95, 1.05, 0.96]).map(|(r, n)| r * n).collect();
        assert_eq!(judged(&noisy), expected);
    }

    #[test]
    fn the_verdict_changes_at_worth() {
        assert_eq!(judged(&[3.0, 3.0, 2.0, 2.0]), (1, true));
        assert_eq!(judged(&[2.99, 2.99, 2.0, 2.0]), (1, false));
        assert_eq!(verdict(&[3.0, 3.0, 2.0, 2.0]), Some(Verdict { end: 1, rates: (3.0, 2.0) }));
    }

    #[test]
    fn the_text_has_rates_and_a_verdict() {
        let point = |keys, micros| Point { keys, passes: [core::time::Duration::from_micros(micros)].into_iter().collect() };
        let points = [point(1_000_000, 8), point(2_000_000, 16), point(4_000_000, 80)];
        let rates: Vec<f64> = points.iter().map(rate).collect();
        let text = text("A card", &points, verdict(&rates).expect("rates enough"));
        assert!(text.contains("   2000000         16.0       16.0       16.0       16.0     1000.0\n"), "{text}");
        assert!(
            text.contains(
                "the cache ends after 16.0 MB; 1000.0 GB/s up to there, 400.0 for the most keys: 2.50 x, and 1.5 x are needed"
            ),
            "{text}"
        );
        assert!(text.ends_with("\ngo: buckets in the cache can pay\n\n"), "{text}");
    }
}
