//! [`RayonBackend`]: which threads a call gets, and which sort an operation is.

use crate::columns::{Indices, Keys, Pairs};
use crate::record::Pair;
use crate::threads::Threads;
use crate::tuning::{scan_ns, sort_ns};
use crate::window::Window;
use crate::{scratch, segments, sort, top_k, tuning};
use bytemuck::Pod;
use polysort_core::{Backend, Error, Limits, Segments, Spec, Word, permutation, sort_pairs_by_argsort};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Runs a block with `values` seen as plain bytes of one of the sizes that move with the key; goes on if theirs is another.
macro_rules! native_payload {
    ($value:ty, |$values:ident| $body:block) => {
        match size_of::<$value>() {
            4 => {
                let $values: &mut [[u8; 4]] = bytemuck::cast_slice_mut($values);
                $body
            }
            8 => {
                let $values: &mut [[u8; 8]] = bytemuck::cast_slice_mut($values);
                $body
            }
            12 => {
                let $values: &mut [[u8; 12]] = bytemuck::cast_slice_mut($values);
                $body
            }
            16 => {
                let $values: &mut [[u8; 16]] = bytemuck::cast_slice_mut($values);
                $body
            }
            _ => {}
        }
    };
}

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
        Self { place: Place::Pool(pool) }
    }

    /// A backend with a pool of its own; with one thread, it works on the calling thread and has no pool.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the system gives no threads.
    pub fn with_threads(threads: usize) -> Result<Self, Error> {
        if threads == 1 {
            return Ok(Self { place: Place::Caller });
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let unavailable = |error: rayon::ThreadPoolBuildError| Error::Unavailable {
            backend: "rayon".into(),
            why: format!("no pool of {threads} threads could be started"),
            source: Some(Arc::new(error)),
        };
        Ok(Self::in_pool(Arc::new(pool.map_err(unavailable)?)))
    }

    /// The number of threads that a long sort uses when called from here.
    pub fn threads(&self) -> usize {
        match &self.place {
            Place::Current => rayon::current_num_threads(),
            Place::Pool(pool) => pool.current_num_threads(),
            Place::Caller => 1,
        }
    }

    /// Bytes of scratch that are kept for the next call, by all `RayonBackend`s of the process together.
    pub fn scratch_bytes() -> usize {
        scratch::kept_bytes()
    }

    /// Gives the scratch that no call is using back to the allocator.
    pub fn release_scratch() {
        scratch::release();
    }

    /// Runs `work` on as many threads as it is worth, if it takes one thread so many `nanoseconds`: on the calling thread, or in the pool.
    pub(crate) fn run(&self, nanoseconds: u64, work: impl FnOnce(Threads) + Send) {
        scratch::count_call();
        let threads = Threads::worth(nanoseconds, || self.threads());
        match &self.place {
            _ if threads.is_one() => work(threads),
            Place::Pool(pool) => pool.install(|| work(threads)),
            // In a thread of the pool, so that the steps need not enter it one by one.
            Place::Current => rayon::scope(|_| work(threads)),
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

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        self.run(sort_ns::<W>(keys.len()), |threads| sort::sort_keys(keys, spec, threads));
        Ok(())
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        native_payload!(V, |values| {
            self.run(pairs_ns(keys, values), |threads| {
                sort::sort(Pairs { keys, values, masks: spec.masks }, Window::of(spec), false, threads);
            });
            return Ok(());
        });
        sort_pairs_by_argsort(self, keys, values, spec)
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        let mut indices = permutation::identity(keys.len())?;
        self.run(pairs_ns(keys, &indices), |threads| {
            sort::sort(Indices::new(keys, 0, &mut indices, spec.masks), Window::of(spec), false, threads);
        });
        Ok(indices)
    }

    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        segments.check(keys.len())?;
        self.run(sort_ns::<W>(keys.len()), |threads| {
            let whole = spec.width() == W::BITS;
            segments::sort_segments(Keys { keys, masks: spec.masks }, segments, Window::of(spec), whole, threads);
        });
        Ok(())
    }

    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        segments.check(keys.len())?;
        native_payload!(V, |values| {
            self.run(pairs_ns(keys, values), |threads| {
                let columns = Pairs { keys, values, masks: spec.masks };
                segments::sort_segments(columns, segments, Window::of(spec), false, threads);
            });
            return Ok(());
        });
        let order = self.argsort_segments_bits(keys, segments, spec)?;
        permutation::gather_pairs(keys, values, &order);
        Ok(())
    }

    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        segments.check(keys.len())?;
        let mut indices = permutation::identity(keys.len())?;
        self.run(pairs_ns(keys, &indices), |threads| {
            let columns = Indices::new(keys, 0, &mut indices, spec.masks);
            segments::sort_segments(columns, segments, Window::of(spec), false, threads);
        });
        Ok(indices)
    }

    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        if k == 0 {
            return Ok(vec![]);
        }
        if k >= keys.len() / tuning::SELECT_FRACTION {
            let mut indices = self.argsort_bits(keys, spec)?;
            indices.truncate(k);
            return Ok(indices);
        }
        permutation::check_len(keys.len())?;
        let mut indices = vec![];
        self.run(scan_ns(size_of_val(keys)), |threads| indices = top_k::top_k(keys, k, spec, threads));
        Ok(indices)
    }

    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        segments.check(keys.len())?;
        permutation::check_len(keys.len())?;
        let mut indices = vec![0; segments.ranges().map(|range| range.len().min(k)).sum()];
        self.run(sort_ns::<W>(keys.len()), |threads| top_k::top_k_segments(keys, k, segments, spec, &mut indices, threads));
        Ok(indices)
    }
}

/// About how long one thread takes to sort keys with values.
fn pairs_ns<W: Word, V: Pod>(keys: &[W], _: &[V]) -> u64 {
    sort_ns::<Pair<W, V>>(keys.len())
}
