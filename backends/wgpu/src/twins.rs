//! Async variants of the calls on slices of the host. In a browser, only they can wait for the device.
//!
//! While the device works, the caller's other tasks run. The call itself copies the data to the device and back, with
//! the backend's copy threads. If a future is dropped, the slices are as they were.

use crate::backend::WgpuBackend;
use crate::wait::Waiting;
use bytemuck::Pod;
use polysort_core::{Error, Options, Pairs, Segments, Sortable, Spec, TopK, Words, permutation, shared_words};

impl WgpuBackend {
    /// Async variant of [`Sort::sort_with`](polysort_core::Sort::sort_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::sort_with`](polysort_core::Sort::sort_with).
    pub async fn sort_async<K: Sortable>(&self, keys: &mut [K], options: Options) -> Result<(), Error> {
        if !K::IS_REBUILT {
            permutation::gather_keys(keys, &self.argsort_async(keys, options).await?);
            return Ok(());
        }
        let spec = Spec::of::<K>(options)?;
        let mut words = Words::of(keys)?;
        self.sort_words(Waiting::Elsewhere, words.get(), spec).await?;
        words.finish();
        Ok(())
    }

    /// Async variant of [`Sort::sort_pairs_with`](polysort_core::Sort::sort_pairs_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::sort_pairs_with`](polysort_core::Sort::sort_pairs_with).
    pub async fn sort_pairs_async<K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        options: Options,
    ) -> Result<(), Error> {
        let spec = Spec::of::<K>(options)?;
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        if !K::IS_REBUILT {
            permutation::gather_pairs(keys, values, &self.argsort_async(keys, options).await?);
            return Ok(());
        }
        let mut pairs = Pairs::of(keys, values)?;
        let (keys, values) = pairs.get();
        self.sort_word_pairs(Waiting::Elsewhere, keys, values, spec).await?;
        pairs.finish();
        Ok(())
    }

    /// Async variant of [`Sort::argsort_with`](polysort_core::Sort::argsort_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::argsort_with`](polysort_core::Sort::argsort_with).
    pub async fn argsort_async<K: Sortable>(&self, keys: &[K], options: Options) -> Result<Vec<u32>, Error> {
        let spec = Spec::of::<K>(options)?;
        self.argsort_words(Waiting::Elsewhere, &shared_words(keys)?, spec).await
    }

    /// Async variant of [`Sort::sort_by_key_with`](polysort_core::Sort::sort_by_key_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::sort_by_key_with`](polysort_core::Sort::sort_by_key_with).
    pub async fn sort_by_key_async<T, K: Sortable>(
        &self,
        items: &mut [T],
        key: impl FnMut(&T) -> K,
        options: Options,
    ) -> Result<(), Error> {
        let keys: Vec<K> = items.iter().map(key).collect();
        permutation::apply(items, &self.argsort_async(&keys, options).await?)
    }

    /// Async variant of [`Sort::top_k_with`](polysort_core::Sort::top_k_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::top_k_with`](polysort_core::Sort::top_k_with).
    pub async fn top_k_async<K: Sortable>(&self, keys: &[K], k: usize, options: Options) -> Result<TopK<K>, Error> {
        let spec = Spec::of::<K>(options)?;
        let indices = self.top_k_words(Waiting::Elsewhere, &shared_words(keys)?, k, spec).await?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }

    /// Async variant of [`Sort::top_k_segments_with`](polysort_core::Sort::top_k_segments_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::top_k_segments_with`](polysort_core::Sort::top_k_segments_with).
    pub async fn top_k_segments_async<'a, K: Sortable>(
        &self,
        keys: &[K],
        k: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<TopK<K>, Error> {
        let spec = Spec::of::<K>(options)?;
        let indices = self.top_k_segment_words(Waiting::Elsewhere, &shared_words(keys)?, k, segments.into(), spec).await?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }

    /// Async variant of [`Sort::sort_segments_with`](polysort_core::Sort::sort_segments_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::sort_segments_with`](polysort_core::Sort::sort_segments_with).
    pub async fn sort_segments_async<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        if !K::IS_REBUILT {
            permutation::gather_keys(keys, &self.argsort_segments_async(keys, segments, options).await?);
            return Ok(());
        }
        let spec = Spec::of::<K>(options)?;
        let mut words = Words::of(keys)?;
        self.sort_segment_words(Waiting::Elsewhere, words.get(), segments.into(), spec).await?;
        words.finish();
        Ok(())
    }

    /// Async variant of [`Sort::sort_pairs_segments_with`](polysort_core::Sort::sort_pairs_segments_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::sort_pairs_segments_with`](polysort_core::Sort::sort_pairs_segments_with).
    pub async fn sort_pairs_segments_async<'a, K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        let spec = Spec::of::<K>(options)?;
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        if !K::IS_REBUILT {
            permutation::gather_pairs(keys, values, &self.argsort_segments_async(keys, segments, options).await?);
            return Ok(());
        }
        let mut pairs = Pairs::of(keys, values)?;
        let (keys, values) = pairs.get();
        self.sort_segment_word_pairs(Waiting::Elsewhere, keys, values, segments.into(), spec).await?;
        pairs.finish();
        Ok(())
    }

    /// Async variant of [`Sort::argsort_segments_with`](polysort_core::Sort::argsort_segments_with).
    ///
    /// # Errors
    /// The same as those of [`Sort::argsort_segments_with`](polysort_core::Sort::argsort_segments_with).
    pub async fn argsort_segments_async<'a, K: Sortable>(
        &self,
        keys: &[K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<Vec<u32>, Error> {
        let spec = Spec::of::<K>(options)?;
        self.argsort_segment_words(Waiting::Elsewhere, &shared_words(keys)?, segments.into(), spec).await
    }
}
