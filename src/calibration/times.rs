//! Times of sorts, measured within a budget, and the costs that follow from them.

use crate::costs::{Costs, KEY_BYTES, LENGTHS, PAYLOAD_BYTES};
use crate::{Backend, Error, Options, Spec};
use core::convert::Infallible;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long one sort is repeated after it has warmed up.
const PATIENCE: Duration = Duration::from_millis(20);

/// The most times that one sort is repeated.
const MOST_RUNS: usize = 15;

/// The fewest times that one sort runs: once to warm up, and twice to be timed.
const FEWEST_RUNS: u32 = 3;

/// The expected time of a measurement over the time of its sorts. The rest makes the input and copies it for each run.
const WITH_COPIES: u32 = 2;

/// The times of sorts of each size of key and payload: of the shortest sorts, and of as many longer ones as a budget allows.
#[derive(Debug)]
pub(crate) struct Times {
    /// Nanoseconds by bytes of key and payload, for the first of [`LENGTHS`]; one or more.
    nanos: BTreeMap<(usize, usize), Vec<f64>>,
}

impl Times {
    /// Measures the shortest sorts.
    ///
    /// `time` returns the nanoseconds of a sort of so many keys, of a size of key and payload in bytes. It returns none if it stops before
    /// it knows them; then this function returns none too.
    pub(crate) fn of_shortest<E>(mut time: impl FnMut(usize, usize, usize) -> Result<Option<f64>, E>) -> Result<Option<Self>, E> {
        let mut nanos = BTreeMap::new();
        for (key, payload) in KEY_BYTES.into_iter().flat_map(|key| PAYLOAD_BYTES.map(|payload| (key, payload))) {
            let Some(shortest) = time(LENGTHS[0], key, payload)? else { return Ok(None) };
            nanos.insert((key, payload), vec![shortest]);
        }
        Ok(Some(Self { nanos }))
    }

    /// Measures longer sorts, and stops before one that would probably exceed the budget. Returns the number of keys of that one.
    ///
    /// `elapsed` returns the part of the budget that is used up. `time` is that of [`of_shortest`](Times::of_shortest), and runs each sort
    /// [`FEWEST_RUNS`] times or more.
    pub(crate) fn add_longer<E>(
        &mut self,
        budget: Duration,
        elapsed: impl Fn() -> Duration,
        mut time: impl FnMut(usize, usize, usize) -> Result<Option<f64>, E>,
    ) -> Result<Option<usize>, E> {
        for len in &LENGTHS[1..] {
            for (&(key, payload), known) in &mut self.nanos {
                let sort = Duration::from_nanos(estimate(known, *len) as u64);
                if elapsed().saturating_add(sort.saturating_mul(FEWEST_RUNS * WITH_COPIES)) > budget {
                    return Ok(Some(*len));
                }
                let Some(nanos) = time(*len, key, payload)? else { return Ok(Some(*len)) };
                known.push(nanos);
            }
        }
        Ok(None)
    }

    /// Returns the costs of all sorts, measured or estimated.
    pub(crate) fn costs(&self) -> Costs {
        let cost = |len, key, payload| Ok::<_, Infallible>(estimate(&self.nanos[&(key, payload)], len));
        let Ok(costs) = Costs::by(cost);
        costs
    }
}

/// Returns the time of a sort of `len` keys: the known one, or else the time of the longest known sort, in proportion to `len`. `known` are the
/// times of sorts of the first of [`LENGTHS`].
fn estimate(known: &[f64], len: usize) -> f64 {
    let place = LENGTHS[..known.len()].iter().rposition(|&length| length <= len).unwrap_or(0);
    known[place] * (len as f64 / LENGTHS[place] as f64)
}

/// Returns the nanoseconds of a sort of `len` keys of `key` bytes, with payloads of `payload` bytes.
pub(crate) fn time_words(backend: &impl Backend, len: usize, key: usize, payload: usize) -> Result<f64, Error> {
    match key {
        1 => time::<u8>(backend, payload, len),
        2 => time::<u16>(backend, payload, len),
        4 => time::<u32>(backend, payload, len),
        8 => time::<u64>(backend, payload, len),
        _ => time::<u128>(backend, payload, len),
    }
}

/// Returns the nanoseconds of a sort of `len` uniform random keys: the median of some runs.
fn time<K: crate::MaskKey<Bits = K> + crate::Word>(backend: &impl Backend, payload: usize, len: usize) -> Result<f64, Error> {
    // A Weyl sequence with a mixing step has no order that a backend could use.
    let key = |i: usize| {
        let mixed = (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        K::truncate(mixed ^ mixed >> 61)
    };
    let keys: Vec<K> = (0..len).map(key).collect();
    let spec = Spec::of::<K>(Options::ascending())?;
    let once = || {
        let mut sorted = keys.clone();
        let begun = Instant::now();
        match payload {
            0 => backend.sort_bits(&mut sorted, spec)?,
            4 => backend.sort_pairs_bits(&mut sorted, &mut vec![0_u32; len], spec)?,
            8 => backend.sort_pairs_bits(&mut sorted, &mut vec![0_u64; len], spec)?,
            _ => backend.sort_pairs_bits(&mut sorted, &mut vec![0_u128; len], spec)?,
        }
        Ok::<_, Error>(begun.elapsed().as_nanos() as f64)
    };
    // The first run warms up.
    once()?;
    let started = Instant::now();
    let mut times = vec![once()?, once()?];
    while times.len() < MOST_RUNS && started.elapsed() < PATIENCE {
        times.push(once()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_kept() {
        let budget = Duration::from_secs(1);
        // Sorts that take this many nanoseconds per byte, by a clock that only they move; and where the budget ends.
        let cases = [(0.1, None), (1.0, Some(LENGTHS[3])), (10.0, Some(LENGTHS[2])), (100.0, Some(LENGTHS[1]))];
        for (nanos_per_byte, end) in cases {
            let clock = core::cell::Cell::new(Duration::ZERO);
            let nanos = |len: usize, key: usize, payload: usize| nanos_per_byte * (len * (key + payload)) as f64;
            let time = |len, key, payload| {
                clock.set(clock.get() + Duration::from_nanos(nanos(len, key, payload) as u64) * FEWEST_RUNS);
                Ok::<_, Infallible>(Some(nanos(len, key, payload)))
            };
            let Ok(Some(mut times)) = Times::of_shortest(time) else { panic!("it stops nowhere") };
            assert_eq!(times.add_longer(budget, || clock.get(), time), Ok(end), "{nanos_per_byte}");
            assert!(clock.get() <= budget, "{nanos_per_byte}: {:?}", clock.get());
            assert!(clock.get() > budget / 20, "{nanos_per_byte}: {:?}", clock.get());
            // These times are in proportion to the bytes, so the estimates are exact.
            for (len, key, payload) in [(1 << 10, 1, 0), (1 << 18, 4, 8), (1 << 22, 16, 16)] {
                assert!(
                    (times.costs().of(len, key, payload) / nanos(len, key, payload) - 1.0).abs() < 1e-9,
                    "{nanos_per_byte}: {len}"
                );
            }
        }
    }

    #[test]
    fn a_sort_that_stops_ends_the_measurement() {
        let kinds = KEY_BYTES.len() * PAYLOAD_BYTES.len();
        let measured = |sorts: usize| {
            let count = core::cell::Cell::new(0);
            let time = |len: usize, _, _| {
                count.set(count.get() + 1);
                Ok::<_, Infallible>((count.get() <= sorts).then_some(len as f64))
            };
            let Ok(shortest) = Times::of_shortest(time);
            let end = shortest.map(|mut times| times.add_longer(Duration::MAX, || Duration::ZERO, time));
            assert_eq!(count.get(), (sorts + 1).min(kinds * LENGTHS.len()));
            end.map(|Ok(end)| end)
        };
        assert_eq!([0, kinds - 1].map(measured), [None, None]);
        assert_eq!([kinds, 2 * kinds - 1].map(measured), [Some(Some(LENGTHS[1])); 2]);
        assert_eq!(measured(3 * kinds + 5), Some(Some(LENGTHS[3])));
        assert_eq!(measured(4 * kinds), Some(None));
    }

    #[test]
    fn estimates_are_in_proportion_to_the_longest_known_sort() {
        let known = [3.0, 40.0];
        assert_eq!(LENGTHS.map(|len| estimate(&known, len)), [3.0, 40.0, 640.0, 10_240.0]);
    }
}
