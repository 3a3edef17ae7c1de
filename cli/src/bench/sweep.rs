//! `bench --sweep`: searches for the fastest shape of the passes on a GPU, and stores it.
//!
//! ```text
//! for each GPU, for each kind of keys and values:
//!     for the candidates, then for shapes next to the fastest, then for the fastest once more:
//!         for each number of keys, for the built-in shape and each of these shapes:
//!             prepare its sort, which runs a self-test; warm up
//!             for each data set: time the built-in shape, time the other, compare the result with the CPU's
//!         print the table
//!     store the best of the last, if it is faster by more than LEAST_GAIN
//! ```
//!
//! 1. The built-in shape is timed again beside each candidate, and only the ratio of the two times is used. A clock rate that drifts changes both times.
//! 2. The first candidate is the built-in shape itself. Its ratio would be 1 without noise, and so shows how large the noise is.
//! 3. The fastest of many shapes is fast in part by chance. So it is timed again, and only the second ratio counts.
//! 4. The device's clock times the whole sort. The data is on the device before and after.
//! 5. A shape has its name from sorts of many keys. In sorts of 2^21 keys and fewer, every shape gives each thread fewer keys.

use super::args::BenchArgs;
use super::resident::{Resident, open_gpus};
use crate::dtype::Key;
use crate::message::note;
use crate::outcome::Outcome;
use crate::progress::spin;
use crate::standard::stdout;
use anyhow::{Context, Result, bail};
use core::fmt::Write as _;
use core::time::Duration;
use polysort::gpu::{Facts, PassKind, PassShape, Prepared, Tuned, WgpuBackend};
use polysort::{AnyBackend, Backend, Error, MaskKey, store_tuned, stored_tuned};
use polysort_measure::{Times, median};
use std::io::Write;

/// The default of `--sizes`. These keys do not fit any cache, and their passes take nearly all of the time.
const DEFAULT_SIZES: [usize; 1] = [1 << 24];

/// The speed over that of the built-in shape above which a shape is stored. Less may be noise, and does not justify other kernels.
const LEAST_GAIN: f64 = 1.02;

/// The number of fastest shapes that are timed a second time, and whose neighbors are tried.
const AGAIN: usize = 3;

/// Candidates for the threads of a workgroup.
const GROUPS: [u32; 6] = [128, 256, 384, 512, 640, 768];

/// Candidates for the keys per thread, as far as [`REGISTERS`] allow.
const KEYS: [u32; 9] = [8, 12, 16, 20, 24, 28, 32, 40, 48];

/// The most registers for the keys, values and ranks of a thread. On an H200, 128 registers per thread allow two workgroups of 256 threads.
const REGISTERS: u32 = 100;

/// Candidates for the number of slices in which a tile is written through workgroup memory.
const SLICES: [u32; 2] = [2, 4];

/// The number of times that a shape is timed on each data set, and the number of data sets.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    reps: usize,
    sets: usize,
}

/// The result of a shape.
#[derive(Clone, Debug)]
enum Found {
    /// The times of all sorts, and the speed over that of the built-in shape: the median of the data sets.
    Timed(Times, f64),
    /// The reason why the shape was not timed.
    Refused(String),
    Wrong,
}

/// Measures every candidate on every GPU, and stores the best.
pub(crate) fn sweep(args: &BenchArgs) -> Result<Outcome> {
    let rounds = Rounds { reps: args.reps.get(), sets: args.seeds.get() };
    let (kinds, sizes, mut outcome) = (kinds(args)?, args.sizes_or(&DEFAULT_SIZES), Outcome::Fine);
    for backend in open_gpus(&args.backends, args.adapter.as_deref())? {
        for &kind in &kinds {
            let swept = Swept { backend: &backend, kind, sizes: &sizes, rounds };
            let Settled { best, has_built_in, has_wrong } = settle(kind, |shapes| swept.time(shapes))?;
            if has_wrong {
                outcome = Outcome::Failed;
            }
            if has_built_in {
                keep(&backend, kind, best)?;
            } else {
                note(&format!(
                    "{kind}: the built-in shape was not timed, so there is nothing to compare with; the stored shape stays"
                ));
            }
        }
    }
    Ok(outcome)
}

/// Returns the kinds of passes over the keys of the arguments, alone and with each payload.
fn kinds(args: &BenchArgs) -> Result<Vec<PassKind>> {
    let mut kinds = vec![];
    for dtype in &args.keys {
        // Keys of fewer than 32 bits are sorted as words.
        let key_words = (dtype.size() as u32).div_ceil(4);
        for value_words in [0].into_iter().chain(args.payloads.iter().map(|payload| payload.words())) {
            let kind = PassKind::new(key_words, value_words);
            if !PassKind::ALL.contains(&kind) {
                bail!(
                    "--sweep is for keys of up to 64 bits: leave {}, which has {}, out of --keys",
                    dtype.name(),
                    8 * dtype.size()
                );
            }
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    Ok(kinds)
}

/// The result of each shape for each number of keys, the built-in shape first.
type Tried = Vec<(PassShape, Vec<Found>)>;

/// The result of a sweep.
struct Settled {
    best: Option<(PassShape, f64)>,
    /// Whether the built-in shape could be timed.
    has_built_in: bool,
    /// Whether any shape sorted wrongly.
    has_wrong: bool,
}

/// Times all candidates, then shapes next to the fastest, then the fastest of all [again](AGAIN). Returns the best of the last.
fn settle(kind: PassKind, mut time: impl FnMut(Vec<PassShape>) -> Result<Tried>) -> Result<Settled> {
    let mut first = time(candidates(kind).collect())?;
    let closer = next_to_fastest(kind, &first);
    if !closer.is_empty() {
        // The built-in shape is the first of both.
        first.extend(time(closer)?.into_iter().skip(1));
    }
    let finalists: Vec<PassShape> = fastest(&first).into_iter().map(|(shape, _)| shape).take(AGAIN).collect();
    let last = if finalists.is_empty() { first.clone() } else { time(finalists)? };
    let is_timed = |found: &Found| matches!(found, Found::Timed(..));
    let is_wrong = |(_, found): &(PassShape, Vec<Found>)| found.iter().any(|found| matches!(found, Found::Wrong));
    Ok(Settled {
        best: fastest(&last).first().copied(),
        has_built_in: last.first().is_some_and(|(_, found)| found.iter().all(is_timed)),
        has_wrong: first.iter().chain(&last).any(is_wrong),
    })
}

/// Stores the best shape, and prints it.
fn keep(backend: &AnyBackend, kind: PassKind, best: Option<(PassShape, f64)>) -> Result<()> {
    let others = stored_tuned(backend).without(kind);
    let tuned = best.map_or(Ok(others), |(shape, _)| others.with(kind, shape))?;
    let path = store_tuned(backend, tuned).context("cannot store the shape")?;
    let line = match best {
        Some((shape, gain)) => {
            format!("best for {kind}: {shape}, {gain:.3} x the speed of the built-in shape; stored in {}", path.display())
        }
        None => format!(
            "best for {kind}: the built-in shape; no other is more than {:.0} % faster when it is timed again",
            100.0 * (LEAST_GAIN - 1.0)
        ),
    };
    Ok(writeln!(stdout()?, "{line}\n")?)
}

/// Passes of one kind on one GPU, for some numbers of keys.
struct Swept<'a> {
    backend: &'a AnyBackend,
    kind: PassKind,
    sizes: &'a [usize],
    rounds: Rounds,
}

impl Swept<'_> {
    /// Times these shapes, after the built-in one, and prints the results.
    fn time(&self, candidates: Vec<PassShape>) -> Result<Tried> {
        match self.kind.key_words {
            1 => self.time_keys::<u32>(candidates),
            _ => self.time_keys::<u64>(candidates),
        }
    }

    fn time_keys<K: Key + MaskKey>(&self, candidates: Vec<PassShape>) -> Result<Tried> {
        let Self { backend, kind, rounds, .. } = *self;
        let Some((gpu, built_in)) = backend.gpu().and_then(|gpu| Some((gpu, gpu.facts().pass_shape(kind)?))) else {
            bail!("{} has no subgroups that suit passes with look-back, and only those are tuned", backend.name());
        };
        let others = candidates.into_iter().filter(|&shape| shape != built_in && shape.group <= gpu.facts().max_group);
        let shapes = [built_in].into_iter().chain(others);
        let mut all: Tried = shapes.map(|shape| (shape, vec![])).collect();
        for &len in self.sizes {
            let resident = Resident::<K>::new(gpu, kind, len, rounds.sets)?;
            let beside = resident.prepare(Tuned::NONE)?;
            for (index, (shape, found)) in all.iter_mut().enumerate() {
                let what = format!("{kind}, {len} keys: {shape}");
                let tuned = if index == 0 { Tuned::NONE } else { Tuned::NONE.with(kind, *shape)? };
                found.push(spin(what, || self.time_shape(gpu, &resident, (*shape, tuned), &beside))?);
            }
            let title = format!(
                "{}, {kind}, {len} keys on the device, {} sorts of each shape",
                backend.name(),
                rounds.reps * rounds.sets
            );
            stdout()?.write_all(table(&title, &all).as_bytes())?;
        }
        Ok(all)
    }

    /// Times a shape beside the built-in one.
    fn time_shape<K: Key + MaskKey>(
        &self,
        gpu: &WgpuBackend,
        resident: &Resident<K>,
        (shape, tuned): (PassShape, Tuned),
        beside: &Prepared,
    ) -> Result<Found> {
        let made = Facts { tuned, ..*gpu.facts() }.pass_shape(self.kind);
        if made != Some(shape) {
            return Ok(Found::Refused("does not fit this device".into()));
        }
        let sort = match resident.prepare(tuned) {
            Ok(sort) => sort,
            Err(error @ Error::DeviceLost { .. }) => return Err(error.into()),
            Err(error) => return Ok(Found::Refused(error.to_string())),
        };
        resident.warm_up(beside)?;
        let (mut times, mut gains): (Vec<Duration>, Vec<f64>) = (vec![], vec![]);
        for set in 0..self.rounds.sets {
            let profile = |sort| resident.profile(set, sort, self.rounds.reps).map(|profile| profile.device);
            let (built_in, own) = (profile(beside)?, profile(&sort)?);
            if !resident.is_answer(set)? {
                return Ok(Found::Wrong);
            }
            gains.push(built_in.median().as_secs_f64() / own.median().as_secs_f64());
            times.extend(own.iter());
        }
        Ok(Found::Timed(times.into_iter().collect(), median(gains)))
    }
}

/// Returns the shapes that are tried. The more words a key and its value have, the fewer keys per thread.
fn candidates(kind: PassKind) -> impl Iterator<Item = PassShape> {
    // Each key needs one more register, for its rank.
    let most = REGISTERS / (1 + kind.key_words + kind.value_words);
    let shapes = |group, keys| SLICES.map(|slices| PassShape { group, keys, slices });
    let of_group = move |group| KEYS.into_iter().filter(move |&keys| keys <= most).flat_map(move |keys| shapes(group, keys));
    GROUPS.into_iter().flat_map(of_group)
}

/// Returns the neighbors of the built-in shape and of the [fastest](AGAIN) others that were not tried: two keys per thread more or less.
fn next_to_fastest(kind: PassKind, tried: &[(PassShape, Vec<Found>)]) -> Vec<PassShape> {
    let built_in = tried.first().map(|&(shape, _)| shape);
    let mut shapes = vec![];
    for shape in built_in.into_iter().chain(by_speed(tried).into_iter().map(|(shape, _)| shape).take(AGAIN)) {
        for keys in [shape.keys.saturating_sub(2), shape.keys + 2] {
            let shape = PassShape { keys, ..shape };
            let is_new = !shapes.contains(&shape) && tried.iter().all(|&(known, _)| known != shape);
            if is_new && Tuned::NONE.with(kind, shape).is_ok() {
                shapes.push(shape);
            }
        }
    }
    shapes
}

/// Returns the shapes that are [faster](LEAST_GAIN) than the built-in one, the fastest first, and their speed over its speed.
fn fastest(tried: &[(PassShape, Vec<Found>)]) -> Vec<(PassShape, f64)> {
    by_speed(tried).into_iter().take_while(|&(_, gain)| gain > LEAST_GAIN).collect()
}

/// Returns the shapes that were right for all numbers of keys, the fastest first, and their speeds. A speed is over that of the built-in shape: the
/// geometric mean over all numbers of keys.
fn by_speed(tried: &[(PassShape, Vec<Found>)]) -> Vec<(PassShape, f64)> {
    let gain = |found: &Found| if let Found::Timed(_, gain) = found { Some(gain.ln()) } else { None };
    let mean = |found: &[Found]| {
        let gains = found.iter().map(gain).collect::<Option<Vec<f64>>>()?;
        Some((gains.iter().sum::<f64>() / gains.len() as f64).exp())
    };
    // If the built-in shape was not timed, there is nothing to compare with.
    let Some(((_, of_built_in), others)) = tried.split_first() else { return vec![] };
    if mean(of_built_in).is_none() {
        return vec![];
    }
    let gains = others.iter().filter_map(|(shape, found)| Some((*shape, mean(found)?)));
    let mut gains: Vec<(PassShape, f64)> = gains.collect();
    gains.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    gains
}

/// Returns the table of the results for the last number of keys.
fn table(title: &str, tried: &[(PassShape, Vec<Found>)]) -> String {
    let mut text = format!("{title}\n  {:<44}{:>12}{:>12}{:>12}{:>9}\n", "shape", "median us", "p5", "p95", "speed");
    for (index, (shape, found)) in tried.iter().enumerate() {
        let name = if index == 0 { format!("{shape} (built-in)") } else { shape.to_string() };
        let line = match found.last() {
            Some(Found::Timed(times, gain)) => {
                let micros = |percent| times.percentile(percent).as_secs_f64() * 1e6;
                format!("{:>12.1}{:>12.1}{:>12.1}{gain:>8.3}x", micros(50), micros(5), micros(95))
            }
            Some(Found::Refused(why)) => format!("  {why}"),
            Some(Found::Wrong) => "  WRONG ANSWER".into(),
            None => String::new(),
        };
        writeln!(text, "  {name:<44}{line}").expect("a String takes all");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [PassShape; 3] = [shape(256), shape(384), shape(512)];

    const fn shape(group: u32) -> PassShape {
        PassShape { group, keys: 12, slices: 2 }
    }

    fn timed(gain: f64) -> Found {
        Found::Timed([Duration::from_micros(10)].into_iter().collect(), gain)
    }

    fn tried(found: [&[Found]; 3]) -> Tried {
        SHAPES.into_iter().zip(found.map(<[Found]>::to_vec)).collect()
    }

    fn best_of(found: [&[Found]; 3]) -> Option<(PassShape, f64)> {
        fastest(&tried(found)).first().copied()
    }

    #[test]
    fn candidates_have_fewer_keys_for_more_words() {
        let mut most = u32::MAX;
        for kind in PassKind::ALL {
            let all: Vec<PassShape> = candidates(kind).collect();
            assert!(all.iter().all(|&shape| Tuned::NONE.with(kind, shape).is_ok()));
            assert!((1..all.len()).all(|i| !all[..i].contains(&all[i])), "twice");
            let keys = all.iter().map(|shape| shape.keys).max().expect("there are some");
            assert!(keys <= most && all.len() >= 40, "{kind}: {keys}");
            most = keys;
        }
    }

    #[test]
    fn the_fastest_is_the_best_if_it_gains_enough() {
        let one = [timed(1.0)];
        let found = best_of([&one, &[timed(1.1)], &[timed(1.2)]]);
        assert!(found.is_some_and(|(shape, gain)| shape == SHAPES[2] && (gain - 1.2).abs() < 1e-9), "{found:?}");
        assert_eq!(best_of([&one, &[timed(1.02)], &[timed(0.7)]]), None);
        // The built-in shape is never the best, however fast it seems.
        assert_eq!(best_of([&[timed(1.5)], &one, &one]), None);
        assert_eq!(fastest(&[]), []);
    }

    /// Returns the result of a sweep. Its first shapes have the results `first`, their neighbors the speed of the built-in shape, and the shapes that
    /// are timed again the results `again`.
    fn settled(first: [&[Found]; 3], again: impl Fn(PassShape) -> Vec<Found>) -> Result<(Settled, Vec<Vec<PassShape>>)> {
        let mut asked = vec![];
        let settled = settle(PassKind::ALL[0], |shapes| {
            asked.push(shapes.clone());
            let shapes = [SHAPES[0]].into_iter().chain(shapes);
            Ok(match asked.len() {
                1 => tried(first),
                2 => shapes.map(|shape| (shape, vec![timed(1.0)])).collect(),
                _ => shapes.map(|shape| (shape, again(shape))).collect(),
            })
        })?;
        Ok((settled, asked))
    }

    #[test]
    fn only_the_second_ratio_counts() -> Result<()> {
        let one = [timed(1.0)];
        let first = [&one[..], &[timed(1.05)], &[timed(1.1)]];
        let of = |gains: [f64; 3]| {
            move |shape| {
                let index = SHAPES.iter().position(|&known| known == shape).expect("only the fastest are timed again");
                vec![timed(gains[index])]
            }
        };
        let (best, asked) = settled(first, of([1.0, 1.04, 1.01]))?;
        assert_eq!(best.best.map(|(shape, _)| shape), Some(SHAPES[1]));
        assert_eq!(asked[0], candidates(PassKind::ALL[0]).collect::<Vec<_>>());
        assert_eq!(asked[2], [SHAPES[2], SHAPES[1]], "the fastest first");
        assert_eq!(settled(first, of([1.0; 3]))?.0.best, None);
        let (wrong, _) = settled([&one, &[Found::Wrong], &[timed(1.1)]], of([1.0, 1.0, 1.1]))?;
        assert!(wrong.has_wrong && wrong.has_built_in && wrong.best.is_some_and(|(shape, _)| shape == SHAPES[2]));
        let (none, asked) = settled([&one, &one, &[Found::Wrong]], |_| unreachable!("nothing is faster"))?;
        assert!(none.has_wrong && none.has_built_in && none.best.is_none() && asked.len() == 2);
        let nothing_to_compare_with = [&[Found::Refused("no".into())][..], &one, &one];
        let (refused, _) = settled(nothing_to_compare_with, |_| unreachable!("nothing to compare with"))?;
        assert!(!refused.has_built_in && !refused.has_wrong);
        Ok(())
    }

    #[test]
    fn shapes_next_to_the_fastest_are_tried_too() {
        let kind = PassKind::ALL[0];
        let with = |shape: PassShape, keys| PassShape { keys, ..shape };
        let found = tried([&[timed(1.0)], &[timed(0.9)], &[timed(1.3)]]);
        let next_to = |shape| [with(shape, 10), with(shape, 14)];
        assert_eq!(next_to_fastest(kind, &found), [next_to(SHAPES[0]), next_to(SHAPES[2]), next_to(SHAPES[1])].concat());
        // A shape is not tried twice, nor if no kernel supports it.
        let least = with(SHAPES[0], 2);
        let found = [least, with(least, 4)].map(|shape| (shape, vec![timed(1.0)]));
        assert_eq!(next_to_fastest(kind, &found), [with(least, 6)]);
        // A neighbor can win.
        let found = settle(kind, |shapes| {
            let of = |shape: PassShape| if shape.keys == 14 { 1.5 } else { 1.0 };
            Ok([SHAPES[0]].into_iter().chain(shapes).map(|shape| (shape, vec![timed(of(shape))])).collect())
        });
        let best = found.expect("all are timed").best.map(|(shape, _)| shape);
        assert_eq!(best, Some(with(SHAPES[0], 14)));
        // A wrong neighbor is reported.
        let found = settle(kind, |shapes| {
            let of = |shape: PassShape| if shape.keys == 14 { Found::Wrong } else { timed(1.0) };
            Ok([SHAPES[0]].into_iter().chain(shapes).map(|shape| (shape, vec![of(shape)])).collect())
        });
        assert!(found.is_ok_and(|settled| settled.has_wrong && settled.best.is_none()));
    }

    #[test]
    fn a_shape_that_is_wrong_or_refused_anywhere_is_not_chosen() {
        let fast = || timed(1.5);
        for bad in [Found::Wrong, Found::Refused("no".into())] {
            let found = best_of([&[timed(1.0), timed(1.0)], &[timed(1.1), timed(1.1)], &[fast(), bad.clone()]]);
            assert_eq!(found.map(|(shape, _)| shape), Some(SHAPES[1]));
            assert_eq!(best_of([&[bad], &[fast()], &[fast()]]), None);
        }
    }

    #[test]
    fn all_numbers_of_keys_have_equal_weight() {
        let ones = [timed(1.0), timed(1.0)];
        // The mean of 2 x and 0.5 x is 1 x.
        assert_eq!(best_of([&ones, &[timed(2.0), timed(0.5)], &ones]), None);
        let found = best_of([&ones, &[timed(2.0), timed(0.5)], &[timed(1.05), timed(1.05)]]);
        assert_eq!(found.map(|(shape, _)| shape), Some(SHAPES[2]));
    }

    #[test]
    fn a_table_has_a_line_for_each_shape() {
        let found = [vec![timed(1.0)], vec![Found::Wrong], vec![Found::Refused("does not fit".into())]];
        let text = table("A card", &core::array::from_fn::<_, 3, _>(|i| (SHAPES[i], found[i].clone())));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        assert!(lines[2].contains("256 threads of 12 keys in 2 slices (built-in)") && lines[2].ends_with("1.000x"), "{text}");
        assert!(lines[3].ends_with("WRONG ANSWER") && lines[4].ends_with("does not fit"), "{text}");
    }
}
