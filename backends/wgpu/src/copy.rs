//! Copies between slices of the host, with several threads.

use crate::crew::Crew;
use std::sync::{Mutex, PoisonError};

/// The bytes that a thread copies at a time. Waking a thread takes about as long as a copy of a tenth of these bytes.
pub(crate) const PART: usize = 1 << 20;

/// The most threads of a copy, if the caller does not choose. A few threads saturate memory that is in use; pages of the target that
/// are touched for the first time keep more threads busy.
const MOST_THREADS: usize = 16;

/// The threads that copy for the calls on one device.
pub(crate) struct Copiers {
    /// The largest number of threads of a copy, the calling thread included.
    threads: usize,
    crew: Crew,
}

impl Copiers {
    /// Creates copiers with `threads` threads, the calling thread included. `None` means one for each core, up to 16.
    pub(crate) fn new(threads: Option<usize>) -> Self {
        let default = || std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Self { threads: threads.unwrap_or_else(default).max(1), crew: Crew::default() }
    }

    /// Copies `from` to `to`.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub(crate) fn copy(&self, to: &mut [u8], from: &[u8]) {
        self.copy_all([(to, from)]);
    }

    /// Copies the second slice of each pair to the first.
    ///
    /// # Panics
    /// If the slices of a pair differ in length.
    pub(crate) fn copy_all<'a>(&self, pairs: impl IntoIterator<Item = (&'a mut [u8], &'a [u8])>) {
        let parts = pairs.into_iter().flat_map(|(to, from)| {
            assert_eq!(to.len(), from.len(), "both slices of a copy have one length");
            to.chunks_mut(PART).zip(from.chunks(PART))
        });
        self.each(parts.collect(), |(to, from)| to.copy_from_slice(from));
    }

    /// Calls `work` for each of `parts`, in several threads, and returns when all calls have returned.
    pub(crate) fn each<T: Send>(&self, parts: Vec<T>, work: impl Fn(T) + Sync) {
        self.each_beside(parts, || (), work);
    }

    /// Calls `work` as [`each`](Copiers::each) does. While other threads begin, this thread calls `beside`.
    pub(crate) fn each_beside<T: Send>(&self, parts: Vec<T>, beside: impl FnOnce(), work: impl Fn(T) + Sync) {
        let others = if cfg!(target_arch = "wasm32") { 0 } else { parts.len().min(self.threads).saturating_sub(1) };
        let parts = Mutex::new(parts.into_iter());
        let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.crew.run(others, beside, &|| core::iter::from_fn(next).for_each(&work));
    }
}
