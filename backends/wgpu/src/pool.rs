//! `Pool`: a pool of items that calls use one after another.
//!
//! A call takes an item from the pool, and puts it back when it ends. If the pool is empty, the call creates a new item.
//! So no call waits for another.

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// The pool drops an item if no call among this many has needed half of the item's bytes.
const PATIENCE: u64 = 32;

/// A pool. Its items are idle: no call uses them at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    /// The most bytes of all idle items together. A single item may have more.
    keep: u64,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// Idle items, in the order in which calls put them back.
    idle: Vec<Taken<T>>,
    /// The number of calls that have ended.
    calls: u64,
}

/// An item of a pool.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) item: T,
    bytes: u64,
    /// The value of `State::calls` at the end of the last call that needed at least half of `bytes`.
    needed: u64,
}

impl<T> Taken<T> {
    /// A new item.
    pub(crate) fn new(item: T) -> Self {
        Self { item, bytes: 0, needed: 0 }
    }
}

impl<T> Pool<T> {
    /// Creates an empty pool. It keeps items of up to `keep` bytes in all, or one item of any size.
    pub(crate) fn new(keep: u64) -> Self {
        Self { keep, state: Mutex::new(State { idle: vec![], calls: 0 }) }
    }

    /// Takes the idle item with the highest rank, but none whose rank is `None`. Among equal ranks, it takes the item that
    /// was put back last.
    pub(crate) fn take<R: Ord>(&self, rank: impl Fn(&T) -> Option<R>) -> Option<Taken<T>> {
        let mut state = self.state();
        let ranked = state.idle.iter().enumerate().filter_map(|(at, idle)| Some((rank(&idle.item)?, at)));
        let (_, best) = ranked.max()?;
        Some(state.idle.remove(best))
    }

    /// Puts an item back that no call has used. It does not age the other items, and is not dropped.
    pub(crate) fn put_back(&self, taken: Taken<T>) {
        // An item that was never put back by a call is new, and has no bytes.
        if taken.needed > 0 {
            self.state().idle.push(taken);
        }
    }

    /// Returns the first result of `find` that is not `None`. It starts with the item that was put back last.
    pub(crate) fn find<R>(&self, find: impl FnMut(&T) -> Option<R>) -> Option<R> {
        self.state().idle.iter().rev().map(|idle| &idle.item).find_map(find)
    }

    /// Puts an item of `bytes` bytes back; the call has needed `used` of them. Returns the items that the pool does not
    /// keep.
    #[must_use = "the caller drops the items, so that the pool is not locked meanwhile"]
    pub(crate) fn put(&self, taken: Taken<T>, bytes: u64, used: u64) -> Vec<Taken<T>> {
        let mut state = self.state();
        state.calls += 1;
        let calls = state.calls;
        let needed = if used >= bytes / 2 || taken.needed == 0 { calls } else { taken.needed };
        state.idle.push(Taken { bytes, needed, ..taken });
        let mut given_up: Vec<Taken<T>> = state.idle.extract_if(.., |idle| calls - idle.needed >= PATIENCE).collect();
        while state.idle.len() > 1 && state.idle.iter().map(|idle| idle.bytes).sum::<u64>() > self.keep {
            let (oldest, _) = state.idle.iter().enumerate().min_by_key(|(_, idle)| idle.needed).expect("there are two or more");
            given_up.push(state.idle.remove(oldest));
        }
        given_up
    }

    /// Takes all idle items.
    pub(crate) fn clear(&self) -> Vec<Taken<T>> {
        std::mem::take(&mut self.state().idle)
    }

    /// Bytes of the idle items.
    pub(crate) fn bytes(&self) -> u64 {
        self.state().idle.iter().map(|idle| idle.bytes).sum()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
