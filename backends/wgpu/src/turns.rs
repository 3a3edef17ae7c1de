//! Threads that wait for one device take turns.
//!
//! One thread at a time waits inside the driver, the one that came first; the others sleep. When its wait ends, the driver has also told the others what is
//! done for them: those that have what they need go on, and the next thread in order waits inside the driver. Two threads that wait inside one driver
//! at the same time may stall each other for milliseconds.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, ThreadId, this_thread};
use std::collections::BTreeSet;

/// The threads that wait for a device, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
    /// Notified when a thread leaves.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The tickets of the threads that have not left.
    waiting: BTreeSet<u64>,
    /// The next ticket.
    next: u64,
    /// The thread that waits inside the driver.
    inside: Option<ThreadId>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    /// Sleeps until `is_done`, or until it is this thread's turn; then returns what `wait` returns, which waits inside the driver. Returns `None`
    /// without a turn. `is_done` must become true, if ever, while another thread has its turn.
    ///
    /// A thread inside the driver may call this again, from a function that the driver calls back: it does not wait for its own turn to end.
    pub(crate) fn take<R>(&self, mut is_done: impl FnMut() -> bool, wait: impl FnOnce() -> R) -> Option<R> {
        let mut state = self.state();
        if state.inside == Some(this_thread()) {
            drop(state);
            return Some(wait());
        }
        let ticket = state.next;
        state.next += 1;
        state.waiting.insert(ticket);
        loop {
            if is_done() {
                state.waiting.remove(&ticket);
                drop(state);
                self.changed.notify_all();
                return None;
            }
            if state.inside.is_none() && state.waiting.first() == Some(&ticket) {
                state.inside = Some(this_thread());
                drop(state);
                let _turn = Turn { turns: self, ticket };
                return Some(wait());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of a thread. It ends when this is dropped, also by a panic.
struct Turn<'a> {
    turns: &'a Turns,
    ticket: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        state.inside = None;
        state.waiting.remove(&self.ticket);
        drop(state);
        self.turns.changed.notify_all();
    }
}
