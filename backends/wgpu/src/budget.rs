//! `Budget`: a limit on the memory that all calls in flight take together.
//!
//! A call takes a permit for its bytes before it allocates, and returns the permit when it ends. A call for which there
//! is no room waits in a queue: first come, first served. If no permit is returned during the call's patience (a
//! duration), the call is refused. So a caller that suspends one call and makes another one gets an error instead of a
//! deadlock.

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The interval at which the first call of the queue polls the device and checks that its future still exists.
const STEP: Duration = Duration::from_millis(5);

/// The bytes that calls in flight may take together.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The most bytes. A call that is alone may take more.
    cap: u64,
    state: Mutex<State>,
    /// Notified when the queue or the bytes in flight change.
    changed: Condvar,
    /// The permit of another budget that this one divides. It is returned with the last permit of this budget.
    _divided: Option<Permit>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of all permits.
    in_flight: u64,
    /// The number of permits that have been returned so far.
    returned: u64,
    /// The tickets of the waiting calls, in order.
    queue: VecDeque<u64>,
    /// The next ticket.
    next: u64,
}

/// The bytes that one call has reserved. Dropping the permit returns them.
#[derive(Debug)]
pub(crate) struct Permit {
    budget: Arc<Budget>,
    bytes: u64,
}

/// The bytes that other calls had in flight when a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) in_flight: u64,
}

impl Budget {
    pub(crate) fn new(cap: u64) -> Self {
        Self { cap, state: Mutex::default(), changed: Condvar::new(), _divided: None }
    }

    /// Creates a budget of the bytes of a permit: for a call that takes a permit for all of its parts.
    pub(crate) fn within(permit: Permit) -> Self {
        let cap = permit.bytes();
        Self { _divided: Some(permit), ..Self::new(cap) }
    }

    /// The most bytes that calls in flight may take together.
    pub(crate) fn cap(&self) -> u64 {
        self.cap
    }

    /// Takes `bytes` if there is room and the queue is empty.
    pub(crate) fn try_take(self: &Arc<Self>, bytes: u64) -> Option<Permit> {
        let mut state = self.state();
        if !state.queue.is_empty() || !self.has_room(&state, bytes) {
            return None;
        }
        Some(self.taken(&mut state, bytes))
    }

    /// Takes `bytes`, and waits if there is no room. While this call is the first of the queue, it calls `is_wanted`
    /// every few milliseconds.
    ///
    /// # Errors
    /// [`Refused`] if no permit was returned during `patience`, or if `is_wanted` returned false.
    pub(crate) fn take(
        self: &Arc<Self>,
        bytes: u64,
        patience: Duration,
        mut is_wanted: impl FnMut() -> bool,
    ) -> Result<Permit, Refused> {
        if patience.is_zero() {
            // In a browser, threads must not wait, and there is no clock.
            return self.try_take(bytes).ok_or_else(|| Refused { in_flight: self.state().in_flight });
        }
        let mut state = self.state();
        let (mut returned, mut since) = (state.returned, Instant::now());
        let ticket = state.next;
        state.next += 1;
        state.queue.push_back(ticket);
        loop {
            if state.queue.front() == Some(&ticket) && self.has_room(&state, bytes) {
                state.queue.pop_front();
                let permit = self.taken(&mut state, bytes);
                // There may also be room for the next call in the queue.
                self.changed.notify_all();
                return Ok(permit);
            }
            if state.returned != returned {
                (returned, since) = (state.returned, Instant::now());
            }
            // `is_wanted` may return permits, so the lock is released before.
            let is_next = state.queue.front() == Some(&ticket);
            drop(state);
            let is_unwanted = is_next && !is_wanted();
            state = self.state();
            let waited = since.elapsed();
            if is_unwanted || (waited >= patience && state.returned == returned) {
                state.queue.retain(|&waiting| waiting != ticket);
                self.changed.notify_all();
                return Err(Refused { in_flight: state.in_flight });
            }
            if state.returned == returned && is_next == (state.queue.front() == Some(&ticket)) {
                let left = patience.saturating_sub(waited);
                let step = if is_next { STEP.min(left) } else { left };
                state = self.changed.wait_timeout(state, step).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    fn has_room(&self, state: &State, bytes: u64) -> bool {
        state.in_flight == 0 || state.in_flight.saturating_add(bytes) <= self.cap
    }

    fn taken(self: &Arc<Self>, state: &mut State, bytes: u64) -> Permit {
        state.in_flight += bytes;
        Permit { budget: self.clone(), bytes }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether no other call holds a permit at the moment.
    pub(crate) fn is_alone(&self) -> bool {
        self.budget.state().in_flight == self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.in_flight -= self.bytes;
        state.returned += 1;
        let has_waiting = !state.queue.is_empty();
        drop(state);
        // Without a call that waits, this saves a call of the operating system.
        if has_waiting {
            self.budget.changed.notify_all();
        }
    }
}
