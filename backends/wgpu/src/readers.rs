//! The readers of a buffer in place: the first reader maps the buffer, the last one unmaps it.
//!
//! ```text
//! readers   0 ──begin──▶ 1 ──begin──▶ 2 ──drop──▶ 1 ──drop──▶ 0
//! buffer    unmapped     mapping …    mapped      mapped      unmapped
//! ```
//!
//! One lock covers each step of that diagram: no reader can come between the drop of the last reader and the unmapping.
//! No lock is held while a reader waits. A reader only waits for the mapping, which the device ends.

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};
use core::task::{Poll, Waker};
use polysort_core::Error;

/// A buffer that the host can map for reading.
pub(crate) trait Map {
    /// Asks the device to map the buffer. When the device has done so or failed, it calls `done` with the result, from
    /// any thread.
    fn map(&self, done: impl FnOnce(Result<(), String>) + Send + 'static);

    /// Unmaps the buffer. A mapping that is not done yet fails.
    fn unmap(&self);
}

/// The readers of one buffer.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    count: usize,
    /// `Some` while there are readers.
    mapping: Option<Arc<Mapping>>,
}

/// A mapping that was asked for.
#[derive(Debug, Default)]
struct Mapping(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// The result of the mapping, once it is known.
    result: Option<Result<(), String>>,
    /// The tasks that wait for the result.
    wakers: Vec<Waker>,
}

/// A reader. Once [`ready`](Reading::ready) has returned, the buffer stays mapped until the reader is dropped.
#[derive(Debug)]
pub(crate) struct Reading<M: Map> {
    readers: Arc<Readers>,
    mapping: Arc<Mapping>,
    buffer: M,
}

impl Readers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `work` if nobody reads any of these buffers. New readers block until `work` returns, which must not wait for anything.
///
/// # Errors
/// [`Error::InvalidBuffer`] if one of them has a reader.
pub(crate) fn unless_read<T>(readers: &[&Readers], work: impl FnOnce() -> T) -> Result<T, Error> {
    // Every thread locks in one order, and each buffer once, also one that is named twice.
    let mut readers = readers.to_vec();
    readers.sort_unstable_by_key(|readers| core::ptr::from_ref(*readers));
    readers.dedup_by(|a, b| core::ptr::eq(*a, *b));
    let states: Vec<_> = readers.iter().map(|readers| readers.state()).collect();
    if states.iter().any(|state| state.count > 0) {
        return Err(Error::InvalidBuffer { why: "it is being read; drop what `read` returned before".into() });
    }
    Ok(work())
}

impl<M: Map> Reading<M> {
    /// Adds a reader. The first reader asks for `buffer` to be mapped.
    pub(crate) fn begin(readers: &Arc<Readers>, buffer: M) -> Self {
        let mut state = readers.state();
        state.count += 1;
        let mapping = match &state.mapping {
            Some(mapping) => mapping.clone(),
            None => {
                let mapping = Arc::new(Mapping::default());
                let asked = mapping.clone();
                state.mapping = Some(mapping.clone());
                buffer.map(move |result| asked.end(result));
                mapping
            }
        };
        drop(state);
        Self { readers: readers.clone(), mapping, buffer }
    }

    /// Waits until the buffer is mapped.
    ///
    /// # Errors
    /// What the device reported, if it cannot map the buffer.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        core::future::poll_fn(|context| {
            let mut progress = self.mapping.progress();
            if let Some(result) = &progress.result {
                return Poll::Ready(result.clone());
            }
            progress.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl<M: Map> Drop for Reading<M> {
    fn drop(&mut self) {
        let mut state = self.readers.state();
        state.count -= 1;
        if state.count == 0 {
            state.mapping = None;
            let failed = matches!(self.mapping.progress().result, Some(Err(_)));
            if !failed {
                self.buffer.unmap();
            }
        }
    }
}

impl Mapping {
    fn end(&self, result: Result<(), String>) {
        let mut progress = self.progress();
        progress.result = Some(result);
        let wakers = std::mem::take(&mut progress.wakers);
        drop(progress);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
