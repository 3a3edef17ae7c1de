//! Copies between slices of the host, by several threads.

use crate::crew::Crew;
use std::sync::{Mutex, PoisonError};

/// Bytes that one thread copies at least: waking a thread takes about as long as copying a tenth of this.
const PART: usize = 1 << 20;

/// Threads that copy at most if the caller does not choose: a few saturate the memory.
const MOST_THREADS: usize = 8;

/// Who copies for the calls on one device.
pub(crate) struct Copiers {
    /// Threads of one copy, the caller's included.
    threads: usize,
    crew: Crew,
}

impl Copiers {
    /// So many threads, the caller's included; by default one for each core, up to eight.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        let default = || std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Self { threads: threads.unwrap_or_else(default).max(1), crew: Crew::default() }
    }

    /// Copies `from` to `to`, which is as long.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn copy(&self, to: &mut [u8], from: &[u8]) {
        assert_eq!(to.len(), from.len(), "a copy is as long as what is copied");
        let part = self.part(from.len());
        self.each(to.chunks_mut(part).zip(from.chunks(part)).collect(), |(to, from)| to.copy_from_slice(from));
    }

    /// The length of the parts in which so many bytes are worked on.
    pub(crate) fn part(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.threads).max(PART)
    }

    /// Does `work` with each of `parts`, and returns when all of it is done.
    pub(crate) fn each<T: Send>(&self, parts: Vec<T>, work: impl Fn(T) + Sync) {
        let others = if cfg!(target_arch = "wasm32") { 0 } else { parts.len().min(self.threads).saturating_sub(1) };
        let parts = Mutex::new(parts.into_iter());
        let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.crew.run(others, &|| core::iter::from_fn(next).for_each(&work));
    }
}
