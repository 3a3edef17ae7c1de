//! `Turns`: lets one thread at a time wait for a device inside its driver, first come, first served.
//!
//! Two threads that wait inside one driver at the same time may stall each other for milliseconds. So the first thread
//! waits inside the driver, and the others sleep. Before its wait ends, the driver calls the callbacks of all mappings
//! that are done. Then each sleeping thread checks its own mappings: if they are done, the thread continues. Of the
//! others, the first one waits inside the driver next.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, ThreadId, this_thread};
use std::collections::BTreeSet;

/// The queue of threads that wait for a device.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
    /// Notified when a thread leaves the queue.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The tickets of the threads in the queue.
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

    /// Sleeps until `is_done` returns true or until it is this thread's turn. In its turn, it calls `wait`, which waits
    /// inside the driver, and returns the result. It returns `None` if `is_done` came first. `is_done` may become true
    /// only during the turn of another thread.
    ///
    /// A callback of the driver may call this again on the thread that has the turn: then it calls `wait` at once.
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
                self.wake(state);
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

    /// Wakes the threads in the queue. Without any, this saves a call of the operating system.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let has_waiting = !state.waiting.is_empty();
        drop(state);
        if has_waiting {
            self.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of a thread. Dropping it, also in a panic, ends the turn.
struct Turn<'a> {
    turns: &'a Turns,
    ticket: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        state.inside = None;
        state.waiting.remove(&self.ticket);
        self.turns.wake(state);
    }
}
