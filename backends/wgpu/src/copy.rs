//! Copies between slices of the host, by several threads.
//!
//! The threads are of this module and run nothing else. Threads of the caller's pool would do: but one that waits for a part of a copy may
//! run another task of its pool meanwhile, one that calls this backend.

use std::sync::{Mutex, PoisonError};

/// Bytes that one thread copies at least: starting a thread takes about as long as copying a few hundred KiB.
const PART: usize = 1 << 20;

/// Threads that copy at most, however many there are: a few saturate the memory.
const MOST_THREADS: usize = 8;

/// The number of threads that copy if the caller does not choose it: one for each core, up to eight.
pub(crate) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

/// Copies `from` to `to`, which is as long, by up to `threads` threads, this one included.
///
/// # Panics
/// If the slices differ in length.
pub(crate) fn copy(to: &mut [u8], from: &[u8], threads: usize) {
    let parts = split(from.len(), threads);
    in_parallel(to.chunks_mut(parts).zip(from.chunks(parts)).collect(), |(to, from)| to.copy_from_slice(from));
}

/// The length of the parts in which so many bytes are copied by up to `threads` threads.
pub(crate) fn split(bytes: usize, threads: usize) -> usize {
    bytes.div_ceil(threads.max(1)).max(PART)
}

/// Does `work` with each of `parts`, each on a thread of its own as far as threads can be started, and returns when all is done.
pub(crate) fn in_parallel<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync) {
    let others = if cfg!(target_arch = "wasm32") { 0 } else { parts.len().saturating_sub(1) };
    let parts = Mutex::new(parts.into_iter());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_all = || core::iter::from_fn(next).for_each(&work);
    if others == 0 {
        return take_all();
    }
    std::thread::scope(|scope| {
        for _ in 0..others {
            // This thread does what a thread that cannot be started would have done.
            drop(std::thread::Builder::new().spawn_scoped(scope, take_all));
        }
        take_all();
    });
}
