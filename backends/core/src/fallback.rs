//! One backend after another.

use crate::{Backend, Error, Limits, Segments, Spec, Word};
use bytemuck::Pod;
use std::sync::{Arc, Mutex, PoisonError};

/// Sorts on `P`; what `P` cannot do, `S` does.
///
/// `S` takes over when `P` cannot be opened, and for each call that `P` fails for a reason of its own: lost device, no
/// memory, too long, unsupported. A caller's mistake ([`Error::is_misuse`]) is reported at once. Failed calls leave the
/// slices as they were, so nothing is lost on the way. Every fallback is counted and kept in the [`Report`], and goes to
/// `tracing` as a warning.
///
/// Fallbacks nest: `Fallback<A, Fallback<B, C>>`.
#[derive(Clone, Debug)]
pub struct Fallback<P, S> {
    primary: Result<P, Error>,
    secondary: S,
    report: Arc<Mutex<Report>>,
}

/// What a [`Fallback`] has done since it was opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Calls that the primary backend answered.
    pub taken: u64,
    /// Calls that went to the secondary backend.
    pub fell_back: u64,
    /// Why the latest of these did.
    pub last_reason: Option<Error>,
}

impl<P: Backend, S: Backend> Fallback<P, S> {
    /// Falls back from `primary`, or from the error of opening it, to `secondary`.
    pub fn new(primary: Result<P, Error>, secondary: S) -> Self {
        Self { primary, secondary, report: Arc::default() }
    }

    /// What was taken, what fell back, and why. Shared by all clones of this handle.
    pub fn report(&self) -> Report {
        self.with_report(|report| report.clone())
    }

    /// The primary backend, or why there is none.
    pub fn primary(&self) -> Result<&P, &Error> {
        self.primary.as_ref()
    }

    /// The secondary backend.
    pub fn secondary(&self) -> &S {
        &self.secondary
    }

    /// Runs an operation on the primary backend, and on the secondary if that fails for a reason of its own.
    fn run<D, R>(
        &self,
        mut data: D,
        first: impl FnOnce(&P, &mut D) -> Result<R, Error>,
        second: impl FnOnce(&S, &mut D) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let outcome = match &self.primary {
            Ok(primary) => first(primary, &mut data),
            Err(unavailable) => Err(unavailable.clone()),
        };
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
        match &self.primary {
            Ok(primary) => format!("{}, else {}", primary.name(), self.secondary.name()),
            Err(_) => self.secondary.name(),
        }
    }

    /// Those of the secondary backend, which has the last word.
    fn limits(&self) -> Limits {
        self.secondary.limits()
    }

    /// Lost with its primary, so that [`global`](Backend::global) opens that again.
    fn is_lost(&self) -> bool {
        self.primary.as_ref().is_ok_and(Backend::is_lost) || self.secondary.is_lost()
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
