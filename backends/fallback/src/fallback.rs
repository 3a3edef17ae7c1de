//! One backend after another.

use crate::retry::{Opened, Retry};
use polysort_core::{AnyOperation, Backend, Error, Limits, Spec, sorts_by_run};
use std::sync::{Arc, Mutex, PoisonError};

/// Sorts on the primary backend `P`, and on the secondary backend `S` if `P` fails.
///
/// `S` takes a call if `P` cannot be opened, or fails for a reason that is not the caller's: the device is lost, has no memory, takes only shorter
/// slices, does not support the operation. A caller's mistake ([`Error::is_misuse`]) is returned at once. A failed call leaves the
/// slices as they were, so nothing is lost on the way. The [`Report`] counts every fallback, and `tracing` gets a warning.
///
/// If `P` could not be opened, or is lost, a later call opens it again, by [`P::global`](Backend::global) or [`P::reopen`](Backend::reopen). After the
/// first such failure, that is the next call. After `k` of them in a row, `2^(k-1) - 1` calls, at most 1023, go to `S` first. A call that succeeds on `P`
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

    /// Calls `f` with the primary backend, which is opened first if there is none and this call is to try. Returns `None` if the secondary backend is to
    /// take the call: the primary backend did not open, or `f` failed for a reason that is not the caller's. The [`Report`] counts the call.
    pub fn on_primary<T>(&self, f: impl FnOnce(&P) -> Result<T, Error>) -> Option<Result<T, Error>> {
        let outcome = self.opened().and_then(|opened| {
            let outcome = f(&opened.device);
            self.primary.note(&opened, &outcome, P::is_lost);
            outcome
        });
        self.taken(outcome)
    }

    /// Opens the primary backend for a call, if there is none and this call is to try.
    fn opened(&self) -> Result<Opened<P>, Error> {
        self.primary.get(|lost| lost.map_or_else(P::global, |lost| lost.reopen()))
    }

    /// Counts a call that ended with `outcome` on the primary backend. Returns the outcome, or `None` if the secondary backend is to take the call: the
    /// primary backend failed for a reason that is not the caller's.
    pub fn taken<T>(&self, outcome: Result<T, Error>) -> Option<Result<T, Error>> {
        match outcome {
            Err(reason) if !reason.is_misuse() => {
                tracing::warn!(%reason, to = self.secondary.name(), "fell back");
                self.with_report(|report| {
                    report.fell_back += 1;
                    report.last_reason = Some(reason);
                });
                None
            }
            outcome => {
                self.with_report(|report| report.taken += 1);
                Some(outcome)
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

    sorts_by_run!();

    fn run(&self, mut operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        let taken = self.on_primary(|primary| primary.run(operation.by_ref(), spec));
        taken.unwrap_or_else(|| self.secondary.run(operation, spec))
    }

    async fn run_async(&self, mut operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        let outcome = match self.opened() {
            Ok(opened) => {
                let outcome = opened.device.run_async(operation.by_ref(), spec).await;
                self.primary.note(&opened, &outcome, P::is_lost);
                outcome
            }
            Err(reason) => Err(reason),
        };
        match self.taken(outcome) {
            Some(outcome) => outcome,
            None => self.secondary.run_async(operation, spec).await,
        }
    }
}
