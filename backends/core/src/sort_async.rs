//! The async operations on keys.

use crate::flow::{self, By};
use crate::{
    Backend, Error, MaybeSend, Options, Runs, Segments, Sortable, TopK, Values, ValuesMut, WideKey, memory, permutation, wide,
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
    fn sort_async<K: Sortable + Send + Sync>(
        &self,
        keys: &mut [K],
        options: Options,
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::sort(By::future(self), keys, None, options)
    }

    /// Async variant of [`Sort::sort_into_with`](crate::Sort::sort_into_with).
    ///
    /// # Errors
    /// As [`Sort::sort_into_with`](crate::Sort::sort_into_with).
    fn sort_into_async<K: Sortable + Send + Sync>(
        &self,
        keys: &[K],
        sorted: &mut [K],
        options: Options,
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::sort_into(By::future(self), keys, sorted, options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::sort_pairs(By::future(self), keys, ValuesMut::of(values), None, options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::sort_pairs_into(By::future(self), (keys, Values::of(values)), (sorted_keys, ValuesMut::of(sorted_values)), options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        let keys: Result<Vec<K>, Error> = memory::collected(items.iter().map(key));
        async move {
            let order = flow::argsort(By::future(self), &keys?, None, options).await?;
            permutation::apply(items, &order)
        }
    }

    /// Async variant of [`Sort::argsort_with`](crate::Sort::argsort_with).
    ///
    /// # Errors
    /// As [`Sort::argsort_with`](crate::Sort::argsort_with).
    fn argsort_async<K: Sortable + Send + Sync>(
        &self,
        keys: &[K],
        options: Options,
    ) -> impl Future<Output = Result<Vec<u32>, Error>> + MaybeSend {
        flow::argsort(By::future(self), keys, None, options)
    }

    /// Async variant of [`Sort::sort_wide_with`](crate::Sort::sort_wide_with).
    ///
    /// # Errors
    /// As [`Sort::sort_wide_with`](crate::Sort::sort_wide_with).
    fn sort_wide_async<K: WideKey + Send + Sync>(
        &self,
        keys: &mut [K],
        options: Options,
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        async move {
            let order = wide::argsort(By::future(self), keys, options).await?;
            permutation::gather_keys(keys, &order);
            Ok(())
        }
    }

    /// Async variant of [`Sort::argsort_wide_with`](crate::Sort::argsort_wide_with).
    ///
    /// # Errors
    /// As [`Sort::argsort_wide_with`](crate::Sort::argsort_wide_with).
    fn argsort_wide_async<K: WideKey + Send + Sync>(
        &self,
        keys: &[K],
        options: Options,
    ) -> impl Future<Output = Result<Vec<u32>, Error>> + MaybeSend {
        wide::argsort(By::future(self), keys, options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::sort(By::future(self), keys, Some(segments.into()), options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::sort_pairs(By::future(self), keys, ValuesMut::of(values), Some(segments.into()), options)
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
    ) -> impl Future<Output = Result<Vec<u32>, Error>> + MaybeSend {
        flow::argsort(By::future(self), keys, Some(segments.into()), options)
    }

    /// Async variant of [`Sort::top_k_with`](crate::Sort::top_k_with).
    ///
    /// # Errors
    /// As [`Sort::top_k_with`](crate::Sort::top_k_with).
    fn top_k_async<K: Sortable + Send + Sync>(
        &self,
        keys: &[K],
        k: usize,
        options: Options,
    ) -> impl Future<Output = Result<TopK<K>, Error>> + MaybeSend {
        flow::top_k(By::future(self), keys, k, None, options)
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
    ) -> impl Future<Output = Result<TopK<K>, Error>> + MaybeSend {
        flow::top_k(By::future(self), keys, k, Some(segments.into()), options)
    }

    /// Async variant of [`Sort::partial_sort_with`](crate::Sort::partial_sort_with).
    ///
    /// # Errors
    /// As [`Sort::partial_sort_with`](crate::Sort::partial_sort_with).
    fn partial_sort_async<K: Sortable + Send + Sync>(
        &self,
        keys: &mut [K],
        k: usize,
        options: Options,
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::partial_sort(By::future(self), keys, k, None, options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::partial_sort(By::future(self), keys, k, Some(segments.into()), options)
    }

    /// Async variant of [`Sort::select_nth_with`](crate::Sort::select_nth_with).
    ///
    /// # Errors
    /// As [`Sort::select_nth_with`](crate::Sort::select_nth_with).
    fn select_nth_async<K: Sortable + Send + Sync>(
        &self,
        keys: &mut [K],
        n: usize,
        options: Options,
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::select_nth(By::future(self), keys, n, None, options)
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
    ) -> impl Future<Output = Result<(), Error>> + MaybeSend {
        flow::select_nth(By::future(self), keys, n, Some(segments.into()), options)
    }

    /// Async variant of [`Sort::runs_with`](crate::Sort::runs_with).
    ///
    /// # Errors
    /// As [`Sort::runs_with`](crate::Sort::runs_with).
    fn runs_async<K: Sortable + Send + Sync>(
        &self,
        keys: &[K],
        options: Options,
    ) -> impl Future<Output = Result<Runs, Error>> + MaybeSend {
        flow::runs(By::future(self), keys, options)
    }
}

impl<B: Backend> SortAsync for B {}
