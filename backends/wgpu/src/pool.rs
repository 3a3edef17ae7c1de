//! `Pool`: a pool of items that calls use one after another.
//!
//! A call takes an item from the pool, and puts it back when it ends. If the pool is empty, the call creates a new item.
//! So no call waits for another.
//!
//! The parts of a long call use a pool of their own, within the device's: it keeps all of their items until the long call ends.

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The pool drops an item if no call among this many has needed half of the item's bytes.
const PATIENCE: u64 = 32;

/// A pool. Its items are idle: no call uses them at the moment.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    /// The most bytes of all idle items together. A single item may have more.
    keep: u64,
    state: Mutex<State<T>>,
    /// The pool that this one is within, if any: it provides the items that this one lacks, and gets all items in the end.
    outer: Option<Arc<Pool<T>>>,
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
        Self::empty(keep, None)
    }

    /// Creates an empty pool within another one, for the parts of a long call. It keeps items of any size.
    pub(crate) fn within(outer: Arc<Self>) -> Self {
        Self::empty(u64::MAX, Some(outer))
    }

    fn empty(keep: u64, outer: Option<Arc<Self>>) -> Self {
        Self { keep, state: Mutex::new(State { idle: vec![], calls: 0 }), outer }
    }

    /// Takes the idle item with the highest rank, but none whose rank is `None`. Among equal ranks, it takes the item that
    /// was put back last. Items of the outer pool come last.
    pub(crate) fn take<R: Ord>(&self, rank: impl Fn(&T) -> Option<R>) -> Option<Taken<T>> {
        self.take_own(&rank).or_else(|| self.outer.as_ref()?.take_own(&rank))
    }

    fn take_own<R: Ord>(&self, rank: impl Fn(&T) -> Option<R>) -> Option<Taken<T>> {
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

    /// Returns the first result of `find` that is not `None`. It starts with the item that was put back last. Items of the outer pool
    /// come last.
    pub(crate) fn find<R>(&self, mut find: impl FnMut(&T) -> Option<R>) -> Option<R> {
        let mut find_in = |pool: &Self| pool.state().idle.iter().rev().map(|idle| &idle.item).find_map(&mut find);
        find_in(self).or_else(|| find_in(self.outer.as_ref()?))
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
        let mut given_up: Vec<Taken<T>> =
            state.idle.extract_if(.., |idle| calls.saturating_sub(idle.needed) >= PATIENCE).collect();
        while state.idle.len() > 1 && state.idle.iter().map(|idle| idle.bytes).sum::<u64>() > self.keep {
            let (oldest, _) = state.idle.iter().enumerate().min_by_key(|(_, idle)| idle.needed).expect("there are two or more");
            given_up.push(state.idle.remove(oldest));
        }
        given_up
    }

    /// Takes all idle items, those of the outer pool too.
    pub(crate) fn clear(&self) -> Vec<Taken<T>> {
        let mut all = std::mem::take(&mut self.state().idle);
        all.extend(self.outer.iter().flat_map(|outer| outer.clear()));
        all
    }

    /// Bytes of the idle items, those of the outer pool too.
    pub(crate) fn bytes(&self) -> u64 {
        let own: u64 = self.state().idle.iter().map(|idle| idle.bytes).sum();
        own + self.outer.as_ref().map_or(0, |outer| outer.bytes())
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts all items into the outer pool.
impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        let Some(outer) = self.outer.take() else { return };
        let idle = std::mem::take(&mut self.state().idle);
        for taken in idle {
            let bytes = taken.bytes;
            drop(outer.put(taken, bytes, bytes));
        }
    }
}
