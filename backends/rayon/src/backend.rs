//! [`RayonBackend`]: which threads a call gets.

use crate::scratch;
use crate::threads::{Threads, Work, within};
use polysort_core::{AnyOperation, Backend, Error, Limits, Spec, sorts_by_run, with_word};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Sorts on the CPU, on all threads of a rayon pool.
///
/// As it comes from [`open`](Backend::open) it uses the pool that it is called in, as rayon itself does: the global one, or the one
/// of [`ThreadPool::install`]. [`in_pool`](RayonBackend::in_pool) and [`with_threads`](RayonBackend::with_threads) bind it to another.
/// Short slices are sorted on the calling thread.
///
/// Memory: up to one record (key, or key and value) of scratch for each key, more only for very uneven keys. It is kept for the
/// next call; [`release_scratch`](RayonBackend::release_scratch) gives it back.
///
/// ```
/// use polysort_core::{Backend, Sort};
/// use polysort_rayon::RayonBackend;
///
/// let mut keys = [3.5_f32, -1.0, f32::NAN, -0.0];
/// RayonBackend::global()?.sort(&mut keys)?;
/// assert_eq!(keys[..3], [-1.0, -0.0, 3.5]);
/// # Ok::<(), polysort_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RayonBackend {
    place: Place,
    in_place: bool,
}

/// Where a backend's work is done.
#[derive(Clone, Debug, Default)]
enum Place {
    /// In the pool that a call comes from, or else in rayon's global one.
    #[default]
    Current,
    /// In this pool.
    Pool(Arc<ThreadPool>),
    /// On the thread that a call comes from.
    Caller,
}

impl RayonBackend {
    /// A backend that works in `pool`, wherever it is called.
    pub fn in_pool(pool: Arc<ThreadPool>) -> Self {
        Self { place: Place::Pool(pool), in_place: false }
    }

    /// A backend with a pool of its own; with one thread, it works on the calling thread and has no pool.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the system gives no threads.
    pub fn with_threads(threads: usize) -> Result<Self, Error> {
        if threads == 1 {
            return Ok(Self { place: Place::Caller, in_place: false });
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let unavailable = |error: rayon::ThreadPoolBuildError| Error::Unavailable {
            backend: "rayon".into(),
            why: format!("no pool of {threads} threads could be started"),
            source: Some(Arc::new(error)),
        };
        Ok(Self::in_pool(Arc::new(pool.map_err(unavailable)?)))
    }

    /// Returns this backend, set to sort keys without values in place: it then takes at most 2 MiB of memory for each thread, whatever the
    /// number of keys.
    ///
    /// This holds for [`sort`](polysort_core::Sort::sort) in either order, by all bits of the key, if the key is a
    /// [`MaskKey`](polysort_core::MaskKey). Other keys, such as tuples, are first copied to words. All other operations, and sorts by some of the
    /// bits, take as much scratch as without this option. The result is the same.
    ///
    /// Keys of 8 and 16 bits are counted; wider keys are sorted by quicksort. One thread splits each part, the first one too. So several threads
    /// sort long slices more slowly than without this option.
    ///
    /// ```
    /// use polysort_core::Sort;
    /// use polysort_rayon::RayonBackend;
    ///
    /// let mut keys: Vec<u64> = (0..100_000).rev().map(|key| key ^ 0x2a).collect();
    /// RayonBackend::default().in_place().sort(&mut keys)?;
    /// assert!(keys.is_sorted());
    /// # Ok::<(), polysort_core::Error>(())
    /// ```
    #[must_use]
    pub fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }

    /// Whether keys alone are sorted [in place](RayonBackend::in_place).
    pub(crate) fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// The number of threads that a long sort uses when called from here.
    pub fn threads(&self) -> usize {
        match &self.place {
            Place::Current => rayon::current_num_threads(),
            Place::Pool(pool) => pool.current_num_threads(),
            Place::Caller => 1,
        }
    }

    /// Whether this backend works in the pool that a call comes from, as it does unless it was bound to a pool or to the calling thread.
    pub fn is_in_current_pool(&self) -> bool {
        matches!(self.place, Place::Current)
    }

    /// Bytes of scratch that are kept for the next call, by all `RayonBackend`s of the process together.
    pub fn scratch_bytes() -> usize {
        scratch::kept_bytes()
    }

    /// Gives the scratch that no call is using back to the allocator.
    pub fn release_scratch() {
        scratch::release();
    }

    /// Does `work` on as many threads as it is worth by its `cost`: on the calling thread, or in the pool.
    pub(crate) fn on_threads(&self, cost: Work, work: impl FnOnce(Threads) + Send) {
        scratch::count_call();
        let threads = Threads::worth(cost, || self.threads());
        match &self.place {
            _ if threads.is_one() => work(threads),
            Place::Pool(pool) => within(Some(pool), || work(threads)),
            // In a thread of the pool, so that the steps need not enter it one by one.
            Place::Current => within(None, || work(threads)),
            Place::Caller => work(Threads::ONE),
        }
    }
}

impl Backend for RayonBackend {
    fn open() -> Result<Self, Error> {
        Ok(Self::default())
    }

    fn name(&self) -> String {
        match self.threads() {
            1 => "rayon, 1 thread".into(),
            threads => format!("rayon, {threads} threads"),
        }
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn global() -> Result<Self, Error> {
        Self::open()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        with_word!(operation, operation => self.run_on_words(operation, spec))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threads of some work, and whether the calling thread does it.
    fn place(backend: &RayonBackend, work: Work) -> (usize, bool) {
        let caller = std::thread::current().id();
        let mut place = None;
        backend.on_threads(work, |threads| place = Some((threads.count(), std::thread::current().id() == caller)));
        place.expect("work that is done")
    }

    #[test]
    fn short_work_stays_on_the_calling_thread_and_long_work_goes_to_the_pool() {
        let (short, long) = (Work::Sort(1000), Work::Sort(u64::MAX));
        let three = RayonBackend::with_threads(3).unwrap();
        assert_eq!((place(&three, short), place(&three, long)), ((1, true), (3, false)));
        let one = RayonBackend::with_threads(1).unwrap();
        assert_eq!((place(&one, short), place(&one, long)), ((1, true), (1, true)));
        assert!(!three.is_in_current_pool() && !one.is_in_current_pool());
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let current = RayonBackend::default();
        assert!(current.is_in_current_pool());
        // Of the pool's own threads, the caller is one.
        assert_eq!(pool.install(|| (place(&current, short), place(&current, long))), ((1, true), (2, true)));
    }
}
