//! Times of sorts, measured within a budget, and the costs that follow from them.

use crate::costs::{Costs, KEY_BYTES, LENGTHS, PAYLOAD_BYTES};
use crate::{Backend, Error, Options, Spec};
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

/// The sorts that were measured within a budget.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// Nanoseconds by bytes of key and payload, for the first of [`LENGTHS`].
    nanos: BTreeMap<(usize, usize), Vec<f64>>,
    /// The number of keys of the first sort that was not measured, if the budget ended.
    pub(crate) stopped_at: Option<usize>,
}

impl Times {
    /// Measures the shortest sorts of all sizes of key and payload, then longer ones. Stops before a sort that would exceed the budget.
    ///
    /// `elapsed` returns the time since the beginning. `time` returns the nanoseconds of a sort of so many keys, of a size of key and
    /// payload in bytes, which it runs [`FEWEST_RUNS`] times or more. It returns none if the time that it is given ends.
    pub(crate) fn measure<E>(
        budget: Duration,
        elapsed: impl Fn() -> Duration,
        mut time: impl FnMut(usize, usize, usize, Duration) -> Result<Option<f64>, E>,
    ) -> Result<Self, E> {
        let mut times = Self::default();
        for len in LENGTHS {
            for kind in KEY_BYTES.into_iter().flat_map(|key| PAYLOAD_BYTES.map(|payload| (key, payload))) {
                let sort = Duration::from_nanos(times.estimate(kind, len).unwrap_or(0.0) as u64);
                let expected = sort.saturating_mul(FEWEST_RUNS * WITH_COPIES);
                let left = budget.saturating_sub(elapsed());
                let measured = if expected < left { time(len, kind.0, kind.1, left)? } else { None };
                let Some(nanos) = measured else {
                    times.stopped_at = Some(len);
                    return Ok(times);
                };
                times.nanos.entry(kind).or_default().push(nanos);
            }
        }
        Ok(times)
    }

    /// Returns the time of the longest measured sort that has at most `len` keys, in proportion to `len`; none if there is none.
    fn estimate(&self, kind: (usize, usize), len: usize) -> Option<f64> {
        let known = LENGTHS.into_iter().zip(self.nanos.get(&kind)?);
        let (longest, nanos) = known.take_while(|(known, _)| *known <= len).last()?;
        Some(nanos * (len as f64 / longest as f64))
    }

    /// Returns the costs of all sorts, measured or estimated; none if not all of the shortest sorts were measured.
    pub(crate) fn costs(&self) -> Option<Costs> {
        Costs::by(|len, key, payload| self.estimate((key, payload), len).ok_or(())).ok()
    }
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

    /// Measures sorts that take this many nanoseconds per byte, by a clock that only they move.
    fn measured_within(budget: Duration, nanos_per_byte: f64) -> (Times, Duration) {
        let clock = core::cell::Cell::new(Duration::ZERO);
        let time = |len: usize, key: usize, payload: usize, left: Duration| {
            let nanos = nanos_per_byte * (len * (key + payload)) as f64;
            let runs = Duration::from_nanos(nanos as u64) * FEWEST_RUNS;
            clock.set(clock.get() + runs.min(left));
            Ok::<_, core::convert::Infallible>((runs <= left).then_some(nanos))
        };
        let Ok(times) = Times::measure(budget, || clock.get(), time);
        (times, clock.get())
    }

    #[test]
    fn a_budget_is_kept() {
        let budget = Duration::from_secs(1);
        let all = LENGTHS.len() * KEY_BYTES.len() * PAYLOAD_BYTES.len();
        let mut stopped_at = vec![];
        for nanos_per_byte in [0.1, 1.0, 10.0, 100.0, 3000.0] {
            let (times, elapsed) = measured_within(budget, nanos_per_byte);
            let measured: usize = times.nanos.values().map(Vec::len).sum();
            assert_eq!(times.stopped_at.is_none(), measured == all);
            assert!(elapsed <= budget, "{nanos_per_byte}: {elapsed:?}");
            stopped_at.push(times.stopped_at);
            match times.costs() {
                // The costs are in proportion to the bytes, so that the estimates are exact.
                Some(costs) => {
                    for (len, key, payload) in [(1 << 10, 1, 0), (1 << 18, 4, 8), (1 << 22, 16, 16)] {
                        let expected = nanos_per_byte * (len * (key + payload)) as f64;
                        assert!((costs.of(len, key, payload) / expected - 1.0).abs() < 1e-9, "{nanos_per_byte}: {len}");
                    }
                }
                None => assert_eq!(times.stopped_at, Some(LENGTHS[0])),
            }
        }
        assert_eq!(stopped_at, [None, Some(LENGTHS[3]), Some(LENGTHS[2]), Some(LENGTHS[1]), Some(LENGTHS[0])]);
    }
}
