//! The async operations on keys.

use crate::flow::Call;
use crate::{
    Backend, Error, MaybeSend, Options, Runs, Segments, Sortable, TopK, Values, ValuesMut, WideKey, memory, permutation,
};
use bytemuck::Pod;

/// Every operation of [`Sort`](crate::Sort) as a future, for every key, on every backend. Implemented for all [`Backend`]s. In a browser, use these:
/// a blocking call on a GPU returns [`Error::Unsupported`].
///
/// While a GPU works, the caller's other tasks run. Keys are mapped and data is copied in the polls. A backend on the CPU works in the first poll, and `Auto`
/// and `Fallback` may open a device in a poll. A future that is dropped before it is ready leaves the slices as they were, or
/// sorted as a whole.
pub trait SortAsync: Backend {
    /// Async variant of [`Sort::sort_with`](crate::Sort::sort_with).
    ///
    /// # Errors
    /// As [`Sort::sort_with`](crate::Sort::sort_with).
    fn sort_async<K: Sortable + Send + Sync>(&self, keys: &mut [K], options: Options) -> impl SortFuture<()> {
        Call::future(self, options).sort(keys)
    }

    /// Async variant of [`Sort::sort_into_with`](crate::Sort::sort_into_with).
    ///
    /// # Errors
    /// As [`Sort::sort_into_with`](crate::Sort::sort_into_with).
    fn sort_into_async<K: Sortable + Send + Sync>(&self, keys: &[K], sorted: &mut [K], options: Options) -> impl SortFuture<()> {
        Call::future(self, options).sort_into(keys, sorted)
    }

    /// Async variant of [`Sort::sort_pairs_with`](crate::Sort::sort_pairs_with).
    ///
    /// # Errors
    /// As [`Sort::sort_pairs_with`](crate::Sort::sort_pairs_with).
    fn sort_pairs_async<K: Sortable + Send + Sync, V: Pod + Send + Sync>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        options: Options,
    ) -> impl SortFuture<()> {
        Call::future(self, options).sort_pairs(keys, ValuesMut::of(values))
    }

    /// Async variant of [`Sort::sort_pairs_into_with`](crate::Sort::sort_pairs_into_with).
    ///
    /// # Errors
    /// As [`Sort::sort_pairs_into_with`](crate::Sort::sort_pairs_into_with).
    fn sort_pairs_into_async<K: Sortable + Send + Sync, V: Pod + Send + Sync>(
        &self,
        keys: &[K],
        values: &[V],
        sorted_keys: &mut [K],
        sorted_values: &mut [V],
        options: Options,
    ) -> impl SortFuture<()> {
        Call::future(self, options).sort_pairs_into((keys, Values::of(values)), (sorted_keys, ValuesMut::of(sorted_values)))
    }

    /// Async variant of [`Sort::sort_by_key_with`](crate::Sort::sort_by_key_with). All keys are read before the call returns its future.
    ///
    /// # Errors
    /// As [`Sort::sort_by_key_with`](crate::Sort::sort_by_key_with).
    fn sort_by_key_async<T: MaybeSend, K: Sortable + Send + Sync>(
        &self,
        items: &mut [T],
        key: impl FnMut(&T) -> K,
        options: Options,
    ) -> impl SortFuture<()> {
        let keys: Result<Vec<K>, Error> = memory::collected(items.iter().map(key));
        async move {
            let order = Call::future(self, options).argsort(&keys?).await?;
            permutation::apply(items, &order)
        }
    }

    /// Async variant of [`Sort::argsort_with`](crate::Sort::argsort_with).
    ///
    /// # Errors
    /// As [`Sort::argsort_with`](crate::Sort::argsort_with).
    fn argsort_async<K: Sortable + Send + Sync>(&self, keys: &[K], options: Options) -> impl SortFuture<Vec<u32>> {
        Call::future(self, options).argsort(keys)
    }

    /// Async variant of [`Sort::sort_wide_with`](crate::Sort::sort_wide_with).
    ///
    /// # Errors
    /// As [`Sort::sort_wide_with`](crate::Sort::sort_wide_with).
    fn sort_wide_async<K: WideKey + Send + Sync>(&self, keys: &mut [K], options: Options) -> impl SortFuture<()> {
        Call::future(self, options).sort_wide(keys)
    }

    /// Async variant of [`Sort::argsort_wide_with`](crate::Sort::argsort_wide_with).
    ///
    /// # Errors
    /// As [`Sort::argsort_wide_with`](crate::Sort::argsort_wide_with).
    fn argsort_wide_async<K: WideKey + Send + Sync>(&self, keys: &[K], options: Options) -> impl SortFuture<Vec<u32>> {
        Call::future(self, options).argsort_wide(keys)
    }

    /// Async variant of [`Sort::sort_segments_with`](crate::Sort::sort_segments_with).
    ///
    /// # Errors
    /// As [`Sort::sort_segments_with`](crate::Sort::sort_segments_with).
    fn sort_segments_async<'a, K: Sortable + Send + Sync>(
        &self,
        keys: &mut [K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> impl SortFuture<()> {
        Call::future(self, options).of_segments(segments).sort(keys)
    }

    /// Async variant of [`Sort::sort_pairs_segments_with`](crate::Sort::sort_pairs_segments_with).
    ///
    /// # Errors
    /// As [`Sort::sort_pairs_segments_with`](crate::Sort::sort_pairs_segments_with).
    fn sort_pairs_segments_async<'a, K: Sortable + Send + Sync, V: Pod + Send + Sync>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> impl SortFuture<()> {
        Call::future(self, options).of_segments(segments).sort_pairs(keys, ValuesMut::of(values))
    }

    /// Async variant of [`Sort::argsort_segments_with`](crate::Sort::argsort_segments_with).
    ///
    /// # Errors
    /// As [`Sort::argsort_segments_with`](crate::Sort::argsort_segments_with).
    fn argsort_segments_async<'a, K: Sortable + Send + Sync>(
        &self,
        keys: &[K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> impl SortFuture<Vec<u32>> {
        Call::future(self, options).of_segments(segments).argsort(keys)
    }

    /// Async variant of [`Sort::top_k_with`](crate::Sort::top_k_with).
    ///
    /// # Errors
    /// As [`Sort::top_k_with`](crate::Sort::top_k_with).
    fn top_k_async<K: Sortable + Send + Sync>(&self, keys: &[K], k: usize, options: Options) -> impl SortFuture<TopK<K>> {
        Call::future(self, options).top_k(keys, k)
    }

    /// Async variant of [`Sort::top_k_segments_with`](crate::Sort::top_k_segments_with).
    ///
    /// # Errors
    /// As [`Sort::top_k_segments_with`](crate::Sort::top_k_segments_with).
    fn top_k_segments_async<'a, K: Sortable + Send + Sync>(
        &self,
        keys: &[K],
        k: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> impl SortFuture<TopK<K>> {
        Call::future(self, options).of_segments(segments).top_k(keys, k)
    }

    /// Async variant of [`Sort::partial_sort_with`](crate::Sort::partial_sort_with).
    ///
    /// # Errors
    /// As [`Sort::partial_sort_with`](crate::Sort::partial_sort_with).
    fn partial_sort_async<K: Sortable + Send + Sync>(&self, keys: &mut [K], k: usize, options: Options) -> impl SortFuture<()> {
        Call::future(self, options).partial_sort(keys, k)
    }

    /// Async variant of [`Sort::partial_sort_segments_with`](crate::Sort::partial_sort_segments_with).
    ///
    /// # Errors
    /// As [`Sort::partial_sort_segments_with`](crate::Sort::partial_sort_segments_with).
    fn partial_sort_segments_async<'a, K: Sortable + Send + Sync>(
        &self,
        keys: &mut [K],
        k: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> impl SortFuture<()> {
        Call::future(self, options).of_segments(segments).partial_sort(keys, k)
    }

    /// Async variant of [`Sort::select_nth_with`](crate::Sort::select_nth_with).
    ///
    /// # Errors
    /// As [`Sort::select_nth_with`](crate::Sort::select_nth_with).
    fn select_nth_async<K: Sortable + Send + Sync>(&self, keys: &mut [K], n: usize, options: Options) -> impl SortFuture<()> {
        Call::future(self, options).select_nth(keys, n)
    }

    /// Async variant of [`Sort::select_nth_segments_with`](crate::Sort::select_nth_segments_with).
    ///
    /// # Errors
    /// As [`Sort::select_nth_segments_with`](crate::Sort::select_nth_segments_with).
    fn select_nth_segments_async<'a, K: Sortable + Send + Sync>(
        &self,
        keys: &mut [K],
        n: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> impl SortFuture<()> {
        Call::future(self, options).of_segments(segments).select_nth(keys, n)
    }

    /// Async variant of [`Sort::runs_with`](crate::Sort::runs_with).
    ///
    /// # Errors
    /// As [`Sort::runs_with`](crate::Sort::runs_with).
    fn runs_async<K: Sortable + Send + Sync>(&self, keys: &[K], options: Options) -> impl SortFuture<Runs> {
        Call::future(self, options).runs(keys)
    }
}

impl<B: Backend> SortAsync for B {}

/// The future of an async operation, whose result is a `T` or an [`Error`]. It is `Send` on every system but in a browser.
pub trait SortFuture<T>: Future<Output = Result<T, Error>> + MaybeSend {}
impl<T, F: Future<Output = Result<T, Error>> + MaybeSend> SortFuture<T> for F {}
