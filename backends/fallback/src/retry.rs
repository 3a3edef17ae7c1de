//! A device that may fail to open: which calls try again, and which go on without it.
//!
//! ```text
//! failures in a row             1   2   3   4   …   10    11 and more
//! calls that go on without it   0   1   3   7   …   511   1023           the call after these tries again
//! ```

use crate::sync::{Mutex, MutexGuard, PoisonError};
use polysort_core::Error;

/// The most calls in a row that go on without the device.
const MOST_SKIPPED: u32 = 1023;

/// A device that many calls share. After a failure, a later call opens it again.
///
/// The call after the first failure tries again. After `k` failures in a row, `2^(k-1) - 1` calls, at most 1023, go on without the device before
/// one tries again. A device that does not open and a device that is lost are failures; a call that the device answers resets the count. One call at a
/// time opens the device, and calls that come meanwhile go on without it. No lock is held while the device opens or works.
#[doc(hidden)]
#[derive(Debug)]
pub struct Retry<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// The device, or why there is none; `None` before the first try.
    latest: Option<Result<Opened<T>, Error>>,
    /// How often the device was opened.
    opened: u64,
    /// Failures in a row.
    failures: u32,
    /// Calls that still go on without the device.
    to_skip: u32,
    is_opening: bool,
    /// The device that was lost last, until another one is open.
    lost: Option<T>,
}

/// A device, and the number of its opening: a loss counts only if it is the loss of the latest one.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Opened<T> {
    /// The device.
    pub device: T,
    number: u64,
}

impl<T: Clone> Retry<T> {
    /// A device that the first call opens.
    pub fn untried() -> Self {
        let state = State { latest: None, opened: 0, failures: 0, to_skip: 0, is_opening: false, lost: None };
        Self { state: Mutex::new(state) }
    }

    /// A device that has been opened, or has failed to open.
    pub fn of(result: Result<T, Error>) -> Self {
        let retry = Self::untried();
        drop(retry.state().settle(result));
        retry
    }

    /// Returns the device for a call. If there is none, and it is this call's turn to try (see [`Retry`]), opens it with `open`, which gets the device
    /// that was lost last.
    ///
    /// # Errors
    /// The latest failure, of this call or of an earlier one, if the call has to go on without the device.
    pub fn get(&self, open: impl FnOnce(Option<T>) -> Result<T, Error>) -> Result<Opened<T>, Error> {
        let lost = {
            let mut state = self.state();
            if state.is_opening || matches!(state.latest, Some(Ok(_))) {
                return state.current();
            }
            if state.to_skip > 0 {
                state.to_skip -= 1;
                return state.current();
            }
            state.is_opening = true;
            state.lost.clone()
        };
        Opening { retry: self, result: None }.run(|| open(lost));
        self.state().current()
    }

    /// Returns what the latest try gave, without another try; `None` before the first one.
    pub fn latest(&self) -> Option<Result<T, Error>> {
        self.state().latest.as_ref().map(|latest| latest.as_ref().map(|opened| opened.device.clone()).map_err(Error::clone))
    }

    /// Notes how a call ended on a device. If the device failed and `is_lost`, a later call opens another one.
    pub fn note<R>(&self, opened: &Opened<T>, outcome: &Result<R, Error>, is_lost: impl FnOnce(&T) -> bool) {
        match outcome {
            Ok(_) => self.state().failures = 0,
            Err(why) if !why.is_misuse() && is_lost(&opened.device) => self.lost(opened, why.clone()),
            Err(_) => {}
        }
    }

    fn lost(&self, opened: &Opened<T>, why: Error) {
        let mut state = self.state();
        if !matches!(&state.latest, Some(Ok(latest)) if latest.number == opened.number) {
            return;
        }
        let before = (state.lost.replace(opened.device.clone()), state.settle(Err(why)));
        drop(state);
        drop(before);
    }

    /// The state. Its changes are single assignments, so a panic while the lock is held leaves a whole state.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> State<T> {
    /// Takes the result of a try, or a loss. Returns the result before, which is dropped when the lock is free.
    fn settle(&mut self, result: Result<T, Error>) -> Option<Result<Opened<T>, Error>> {
        self.latest.replace(match result {
            Ok(device) => {
                self.opened += 1;
                Ok(Opened { device, number: self.opened })
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                self.to_skip = 1_u32.checked_shl(self.failures - 1).map_or(MOST_SKIPPED, |power| (power - 1).min(MOST_SKIPPED));
                Err(error)
            }
        })
    }

    fn current(&self) -> Result<Opened<T>, Error> {
        self.latest.clone().unwrap_or_else(|| {
            Err(Error::Unavailable { backend: "the device".into(), why: "another call is opening it".into(), source: None })
        })
    }
}

/// A try under way. It ends when this is dropped, also by a panic of the code that opens the device.
struct Opening<'a, T: Clone> {
    retry: &'a Retry<T>,
    result: Option<Result<T, Error>>,
}

impl<T: Clone> Opening<'_, T> {
    fn run(mut self, open: impl FnOnce() -> Result<T, Error>) {
        self.result = Some(open());
    }
}

impl<T: Clone> Drop for Opening<'_, T> {
    fn drop(&mut self) {
        let panicked =
            || Err(Error::Unavailable { backend: "the device".into(), why: "opening it panicked".into(), source: None });
        let result = self.result.take().unwrap_or_else(panicked);
        let mut state = self.retry.state();
        state.is_opening = false;
        let lost = if result.is_ok() { state.lost.take() } else { None };
        let before = state.settle(result);
        drop(state);
        drop((lost, before));
    }
}
