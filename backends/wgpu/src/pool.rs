//! Items that calls use one after another, instead of making new ones.
//!
//! A call takes an item from the pool and returns it at the end. If the pool is empty, the call makes a new item: no
//! call waits for another.

use crate::sync::{Mutex, MutexGuard, PoisonError};

/// If none of so many calls has needed half of an item's bytes, the pool gives the item up.
const PATIENCE: u64 = 32;

/// Items that no call uses at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    /// The most bytes of idle items together. A single item may have more.
    keep: u64,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// Idle items. The one that came back last is the last.
    idle: Vec<Taken<T>>,
    /// How many calls have ended.
    calls: u64,
}

/// An item of a pool.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) item: T,
    bytes: u64,
    /// How many calls had ended when a call last needed half of the bytes or more.
    needed: u64,
}

impl<T> Taken<T> {
    /// A new item.
    pub(crate) fn new(item: T) -> Self {
        Self { item, bytes: 0, needed: 0 }
    }
}

impl<T> Pool<T> {
    /// An empty pool. It keeps up to `keep` bytes, or one item of any size.
    pub(crate) fn new(keep: u64) -> Self {
        Self { keep, state: Mutex::new(State { idle: vec![], calls: 0 }) }
    }

    /// Takes the idle item with the highest rank. Of equal ones, it takes the one that came back last.
    pub(crate) fn take<R: Ord>(&self, rank: impl Fn(&T) -> R) -> Option<Taken<T>> {
        let mut state = self.state();
        let (best, _) = state.idle.iter().enumerate().max_by_key(|(_, idle)| rank(&idle.item))?;
        Some(state.idle.remove(best))
    }

    /// Returns what `find` finds in the idle items. It starts with the one that came back last.
    pub(crate) fn find<R>(&self, find: impl FnMut(&T) -> Option<R>) -> Option<R> {
        self.state().idle.iter().rev().map(|idle| &idle.item).find_map(find)
    }

    /// Returns an item of `bytes` bytes to the pool; the call has needed `used` of them. The result is the items that
    /// the pool gives up.
    #[must_use = "they are dropped when the pool is not locked"]
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
