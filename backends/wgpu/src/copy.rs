//! Copies between slices of the host, with several threads.

use crate::crew::Crew;
use std::sync::{Mutex, PoisonError};

/// The fewest bytes that a thread copies. Waking a thread takes about as long as copying a tenth of them.
const PART: usize = 1 << 20;

/// The most threads of a copy, if the caller does not choose: a few threads saturate the memory.
const MOST_THREADS: usize = 8;

/// The threads that copy for the calls on one device.
pub(crate) struct Copiers {
    /// Threads of a copy, with the calling thread.
    threads: usize,
    crew: Crew,
}

impl Copiers {
    /// Makes copiers with `threads` threads, the calling thread included. `None` means one for each core, up to eight.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        let default = || std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Self { threads: threads.unwrap_or_else(default).max(1), crew: Crew::default() }
    }

    /// Copies `from` to `to`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn copy(&self, to: &mut [u8], from: &[u8]) {
        assert_eq!(to.len(), from.len(), "a copy is as long as what is copied");
        let part = self.part(from.len());
        self.each(to.chunks_mut(part).zip(from.chunks(part)).collect(), |(to, from)| to.copy_from_slice(from));
    }

    /// Returns the length of the parts in which `bytes` bytes are copied.
    pub(crate) fn part(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.threads).max(PART)
    }

    /// Calls `work` for each of `parts`, in several threads, and returns when all calls have returned.
    pub(crate) fn each<T: Send>(&self, parts: Vec<T>, work: impl Fn(T) + Sync) {
        let others = if cfg!(target_arch = "wasm32") { 0 } else { parts.len().min(self.threads).saturating_sub(1) };
        let parts = Mutex::new(parts.into_iter());
        let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.crew.run(others, &|| core::iter::from_fn(next).for_each(&work));
    }
}
