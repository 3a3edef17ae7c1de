//! One backend after another.

use crate::retry::Retry;
use crate::{Backend, Error, Limits, Segments, Spec, Word};
use bytemuck::Pod;
use std::sync::{Arc, Mutex, PoisonError};

/// Sorts on the primary backend `P`, and on the secondary backend `S` if `P` fails.
///
/// `S` takes a call if `P` cannot be opened, or fails for a reason that is not the caller's: the device is lost, has no memory, takes only shorter
/// slices, does not support the operation. A caller's mistake ([`Error::is_misuse`]) is returned at once. A failed call leaves the
/// slices as they were, so nothing is lost on the way. The [`Report`] counts every fallback, and `tracing` gets a warning.
///
/// A failure is never kept for ever. If `P` could not be opened, or is lost, the next call opens it again, by [`P::global`](Backend::global).
/// After `k` such failures in a row, `2^(k-1) - 1` calls, at most 1023, go to `S` before one tries `P` again. A call that `P` answers
/// resets the count. One call at a time opens `P`; calls that come meanwhile go to `S`.
///
/// A clone is a handle to the same primary backend and the same report. Fallbacks nest: `Fallback<A, Fallback<B, C>>`.
#[derive(Clone, Debug)]
pub struct Fallback<P, S> {
    primary: Arc<Retry<P>>,
    secondary: S,
    report: Arc<Mutex<Report>>,
}

/// The calls that a [`Fallback`] has answered since it was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Calls that the primary backend answered.
    pub taken: u64,
    /// Calls that went to the secondary backend.
    pub fell_back: u64,
    /// Why the latest of these went to the secondary backend.
    pub last_reason: Option<Error>,
}

impl<P: Backend, S: Backend> Fallback<P, S> {
    /// Falls back from `primary`, or from the error of opening it, to `secondary`.
    pub fn new(primary: Result<P, Error>, secondary: S) -> Self {
        Self { primary: Arc::new(Retry::of(primary)), secondary, report: Arc::default() }
    }

    /// Returns the counts of calls. All clones of this handle share them.
    pub fn report(&self) -> Report {
        self.with_report(|report| report.clone())
    }

    /// Returns the primary backend, or the latest reason why there is none. Does not try to open it.
    ///
    /// # Errors
    /// The error of opening it, or of its loss.
    pub fn primary(&self) -> Result<P, Error> {
        self.primary.latest().expect("a fallback is made with the result of opening its primary backend")
    }

    /// Returns the secondary backend.
    pub fn secondary(&self) -> &S {
        &self.secondary
    }

    /// Runs an operation on the primary backend, and on the secondary one if that fails for a reason of its own.
    fn run<D, R>(
        &self,
        mut data: D,
        first: impl FnOnce(&P, &mut D) -> Result<R, Error>,
        second: impl FnOnce(&S, &mut D) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let outcome = self.primary.get(P::global).and_then(|opened| {
            let outcome = first(&opened.device, &mut data);
            match &outcome {
                Err(reason) if !reason.is_misuse() && opened.device.is_lost() => self.primary.lost(&opened, reason.clone()),
                Err(_) => {}
                Ok(_) => self.primary.succeeded(),
            }
            outcome
        });
        match outcome {
            Err(reason) if !reason.is_misuse() => {
                tracing::warn!(%reason, to = self.secondary.name(), "fell back");
                self.with_report(|report| {
                    report.fell_back += 1;
                    report.last_reason = Some(reason);
                });
                second(&self.secondary, &mut data)
            }
            outcome => {
                self.with_report(|report| report.taken += 1);
                outcome
            }
        }
    }

    fn with_report<R>(&self, f: impl FnOnce(&mut Report) -> R) -> R {
        f(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<P: Backend, S: Backend> Backend for Fallback<P, S> {
    fn open() -> Result<Self, Error> {
        Ok(Self::new(P::global(), S::global()?))
    }

    fn name(&self) -> String {
        match self.primary() {
            Ok(primary) => format!("{}, else {}", primary.name(), self.secondary.name()),
            Err(_) => self.secondary.name(),
        }
    }

    /// The limits of the secondary backend, which takes what the primary one refuses.
    fn limits(&self) -> Limits {
        self.secondary.limits()
    }

    /// Whether the secondary backend is lost. A lost primary backend is opened again by a later call.
    fn is_lost(&self) -> bool {
        self.secondary.is_lost()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        self.run(keys, |p, keys| p.sort_bits(keys, spec), |s, keys| s.sort_bits(keys, spec))
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        self.run(
            (keys, values),
            |p, (keys, values)| p.sort_pairs_bits(keys, values, spec),
            |s, (keys, values)| s.sort_pairs_bits(keys, values, spec),
        )
    }

    fn sort_bits_into<W: Word>(&self, keys: &[W], sorted: &mut [W], spec: Spec) -> Result<(), Error> {
        self.run(sorted, |p, sorted| p.sort_bits_into(keys, sorted, spec), |s, sorted| s.sort_bits_into(keys, sorted, spec))
    }

    fn sort_pairs_bits_into<W: Word, V: Pod>(
        &self,
        keys: &[W],
        values: &[V],
        sorted_keys: &mut [W],
        sorted_values: &mut [V],
        spec: Spec,
    ) -> Result<(), Error> {
        self.run(
            (sorted_keys, sorted_values),
            |p, (sorted_keys, sorted_values)| p.sort_pairs_bits_into(keys, values, sorted_keys, sorted_values, spec),
            |s, (sorted_keys, sorted_values)| s.sort_pairs_bits_into(keys, values, sorted_keys, sorted_values, spec),
        )
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        self.run((), |p, ()| p.argsort_bits(keys, spec), |s, ()| s.argsort_bits(keys, spec))
    }

    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        self.run(keys, |p, keys| p.sort_segments_bits(keys, segments, spec), |s, keys| s.sort_segments_bits(keys, segments, spec))
    }

    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        self.run(
            (keys, values),
            |p, (keys, values)| p.sort_pairs_segments_bits(keys, values, segments, spec),
            |s, (keys, values)| s.sort_pairs_segments_bits(keys, values, segments, spec),
        )
    }

    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        self.run((), |p, ()| p.argsort_segments_bits(keys, segments, spec), |s, ()| s.argsort_segments_bits(keys, segments, spec))
    }

    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        self.run((), |p, ()| p.top_k_bits(keys, k, spec), |s, ()| s.top_k_bits(keys, k, spec))
    }

    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        self.run(
            (),
            |p, ()| p.top_k_segments_bits(keys, k, segments, spec),
            |s, ()| s.top_k_segments_bits(keys, k, segments, spec),
        )
    }
}
