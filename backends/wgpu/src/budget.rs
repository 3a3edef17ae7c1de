//! The memory that calls in flight may take together.
//!
//! A call takes a permit for its bytes before it allocates, and gives the permit back when it ends. A call that finds no room waits in a queue,
//! first come, first served. It never waits for ever: if no permit comes back for as long as its patience lasts, the call is refused. So a caller that
//! leaves a call half done, and then makes another one, gets an error and not a hang.

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes that calls in flight may take together.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The most bytes. A call that is alone may take more.
    cap: u64,
    state: Mutex<State>,
    /// Notified when the queue or the bytes in flight change.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of all permits.
    in_flight: u64,
    /// How many permits came back, ever.
    returned: u64,
    /// The tickets of the calls that wait, in order.
    queue: VecDeque<u64>,
    /// The next ticket.
    next: u64,
}

/// Bytes that one call has taken. They come back when this is dropped.
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
        Self { cap, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The most bytes that calls in flight may take together.
    pub(crate) fn cap(&self) -> u64 {
        self.cap
    }

    /// Takes `bytes` if there is room and no call waits.
    pub(crate) fn try_take(self: &Arc<Self>, bytes: u64) -> Option<Permit> {
        let mut state = self.state();
        if !state.queue.is_empty() || !self.has_room(&state, bytes) {
            return None;
        }
        Some(self.taken(&mut state, bytes))
    }

    /// Takes `bytes`, and waits for them if there is no room.
    ///
    /// # Errors
    /// [`Refused`] if no permit came back for as long as `patience`.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64, patience: Duration) -> Result<Permit, Refused> {
        let mut state = self.state();
        let ticket = state.next;
        state.next += 1;
        state.queue.push_back(ticket);
        loop {
            if state.queue.front() == Some(&ticket) && self.has_room(&state, bytes) {
                state.queue.pop_front();
                let permit = self.taken(&mut state, bytes);
                // The next in the queue may fit as well.
                self.changed.notify_all();
                return Ok(permit);
            }
            let returned = state.returned;
            let waited = self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() && state.returned == returned {
                state.queue.retain(|&waiting| waiting != ticket);
                self.changed.notify_all();
                return Err(Refused { in_flight: state.in_flight });
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

    /// Whether no other call has anything in flight, at the moment.
    pub(crate) fn is_alone(&self) -> bool {
        self.budget.state().in_flight == self.bytes
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.in_flight -= self.bytes;
        state.returned += 1;
        drop(state);
        self.budget.changed.notify_all();
    }
}
