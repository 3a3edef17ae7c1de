//! Who reads a buffer in place: the first reader maps the buffer, the last one unmaps it.
//!
//! ```text
//! readers   0 ──begin──▶ 1 ──begin──▶ 2 ──drop──▶ 1 ──drop──▶ 0
//! buffer    unmapped     mapping …    mapped      mapped      unmapped
//! ```
//!
//! One lock covers each step of that diagram, so that no reader can come between the last one's drop and the unmapping. No lock is held while
//! anything waits: a reader waits for the mapping alone, which the device ends.

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};
use core::task::{Poll, Waker};
use polysort_core::Error;

/// A buffer that can be mapped for reading.
pub(crate) trait Map {
    /// Asks for the buffer to be mapped. `done` is called when that has happened, or with what the device said of its failure; from any thread.
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
    /// There while there are readers.
    mapping: Option<Arc<Mapping>>,
}

/// A mapping that was asked for.
#[derive(Debug, Default)]
struct Mapping(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// What came of it, once that is known.
    result: Option<Result<(), String>>,
    /// The tasks that wait for that.
    wakers: Vec<Waker>,
}

/// One reader. The buffer stays mapped while it is there, once [`ready`](Reading::ready) has said so.
#[derive(Debug)]
pub(crate) struct Reading<M: Map> {
    readers: Arc<Readers>,
    mapping: Arc<Mapping>,
    buffer: M,
}

impl Readers {
    /// Calls `work` unless there are readers, which keep out until it is done.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if there are readers.
    pub(crate) fn unless_read<T>(&self, work: impl FnOnce() -> T) -> Result<T, Error> {
        let state = self.state();
        if state.count > 0 {
            return Err(Error::InvalidBuffer { why: "it is being read; drop what `read` returned before".into() });
        }
        Ok(work())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Map> Reading<M> {
    /// A reader more; the first asks for `buffer` to be mapped.
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
    /// What the device said, if it cannot map the buffer.
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
