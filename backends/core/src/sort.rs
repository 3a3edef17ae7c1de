//! Sorting keys: what a user calls, on any backend.

use crate::words::{Pairs, Words, shared_words};
use crate::{Backend, Error, Options, Segments, Sortable, Spec, permutation};
use bytemuck::Pod;

/// Every operation, for every key, on every backend. Implemented for all [`Backend`]s.
///
/// All sorts are stable in both directions. On an error, or a panic in a key's own code, the slices are as they were.
/// Floats are in the order of [`f32::total_cmp`], NaN payloads kept.
///
/// Each operation has a twin that takes [`Options`]; the plain one is ascending over all bits of the key.
pub trait Sort: Backend {
    /// Sorts `keys`, ascending.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if the key breaks its contract, [`Error::TooLong`], or a failure of the device.
    fn sort<K: Sortable>(&self, keys: &mut [K]) -> Result<(), Error> {
        self.sort_with(keys, Options::ascending())
    }

    /// Sorts `keys` as `options` say.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`sort`](Sort::sort).
    fn sort_with<K: Sortable>(&self, keys: &mut [K], options: Options) -> Result<(), Error> {
        let spec = Spec::of::<K>(options)?;
        let mut words = Words::of(keys)?;
        self.sort_bits(words.get(), spec)?;
        words.finish()
    }

    /// Sorts `keys`, ascending, and moves `values` along.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], else as [`sort`](Sort::sort).
    fn sort_pairs<K: Sortable, V: Pod>(&self, keys: &mut [K], values: &mut [V]) -> Result<(), Error> {
        self.sort_pairs_with(keys, values, Options::ascending())
    }

    /// Sorts `keys` as `options` say and moves `values` along.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`sort_pairs`](Sort::sort_pairs).
    fn sort_pairs_with<K: Sortable, V: Pod>(&self, keys: &mut [K], values: &mut [V], options: Options) -> Result<(), Error> {
        let spec = Spec::of::<K>(options)?;
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        let mut words = Pairs::of(keys, values)?;
        let (keys, values) = words.get();
        self.sort_pairs_bits(keys, values, spec)?;
        words.finish()
    }

    /// Sorts any elements, ascending by a key that is taken once of each. The elements are moved by swaps and need not be `Copy`.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² elements, else as [`sort`](Sort::sort).
    fn sort_by_key<T, K: Sortable>(&self, items: &mut [T], key: impl FnMut(&T) -> K) -> Result<(), Error> {
        self.sort_by_key_with(items, key, Options::ascending())
    }

    /// Sorts any elements by a key as `options` say.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`sort_by_key`](Sort::sort_by_key).
    fn sort_by_key_with<T, K: Sortable>(&self, items: &mut [T], key: impl FnMut(&T) -> K, options: Options) -> Result<(), Error> {
        let keys: Vec<K> = items.iter().map(key).collect();
        permutation::apply(items, &self.argsort_with(&keys, options)?)
    }

    /// The stable permutation that sorts `keys` ascending: `keys[result[0]]` is the smallest. `keys` is not changed.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort`](Sort::sort).
    fn argsort<K: Sortable>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        self.argsort_with(keys, Options::ascending())
    }

    /// The stable permutation that sorts `keys` as `options` say.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`argsort`](Sort::argsort).
    fn argsort_with<K: Sortable>(&self, keys: &[K], options: Options) -> Result<Vec<u32>, Error> {
        let spec = Spec::of::<K>(options)?;
        self.argsort_bits(&shared_words(keys)?, spec)
    }

    /// Sorts each segment of `keys` by itself, ascending.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let mut keys = [3, 1, 2, /**/ 9, 8, /**/ 5];
    /// backend.sort_segments(&mut keys, &[0, 3, 5, 6])?;
    /// assert_eq!(keys, [1, 2, 3, 8, 9, 5]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidOffsets`] with the index of the first segment that is out of order or range, else as [`sort`](Sort::sort).
    fn sort_segments<'a, K: Sortable>(&self, keys: &mut [K], segments: impl Into<Segments<'a>>) -> Result<(), Error> {
        self.sort_segments_with(keys, segments, Options::ascending())
    }

    /// Sorts each segment of `keys` by itself as `options` say.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`sort_segments`](Sort::sort_segments).
    fn sort_segments_with<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        let (spec, segments) = (Spec::of::<K>(options)?, segments.into());
        segments.check(keys.len())?;
        let mut words = Words::of(keys)?;
        self.sort_segments_bits(words.get(), segments, spec)?;
        words.finish()
    }

    /// Sorts each segment of `keys` by itself, ascending, and moves `values` along.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], else as [`sort_segments`](Sort::sort_segments).
    fn sort_pairs_segments<'a, K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        segments: impl Into<Segments<'a>>,
    ) -> Result<(), Error> {
        self.sort_pairs_segments_with(keys, values, segments, Options::ascending())
    }

    /// Sorts each segment of `keys` by itself as `options` say and moves `values` along.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`sort_pairs_segments`](Sort::sort_pairs_segments).
    fn sort_pairs_segments_with<'a, K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        let (spec, segments) = (Spec::of::<K>(options)?, segments.into());
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        segments.check(keys.len())?;
        let mut words = Pairs::of(keys, values)?;
        let (keys, values) = words.get();
        self.sort_pairs_segments_bits(keys, values, segments, spec)?;
        words.finish()
    }

    /// The permutation that sorts each segment of `keys` by itself, ascending. Indices count from the start of `keys`; positions
    /// outside every segment hold their own index.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_segments`](Sort::sort_segments).
    fn argsort_segments<'a, K: Sortable>(&self, keys: &[K], segments: impl Into<Segments<'a>>) -> Result<Vec<u32>, Error> {
        self.argsort_segments_with(keys, segments, Options::ascending())
    }

    /// The permutation that sorts each segment of `keys` by itself as `options` say.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`argsort_segments`](Sort::argsort_segments).
    fn argsort_segments_with<'a, K: Sortable>(
        &self,
        keys: &[K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<Vec<u32>, Error> {
        let (spec, segments) = (Spec::of::<K>(options)?, segments.into());
        segments.check(keys.len())?;
        self.argsort_segments_bits(&shared_words(keys)?, segments, spec)
    }

    /// The `k` largest keys, largest first, equal keys by lowest index; all of them if there are fewer.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort`](Sort::sort).
    fn top_k<K: Sortable>(&self, keys: &[K], k: usize) -> Result<TopK<K>, Error> {
        self.top_k_with(keys, k, Options::descending())
    }

    /// The `k` smallest keys, smallest first, equal keys by lowest index; all of them if there are fewer.
    ///
    /// # Errors
    /// As [`top_k`](Sort::top_k).
    fn bottom_k<K: Sortable>(&self, keys: &[K], k: usize) -> Result<TopK<K>, Error> {
        self.top_k_with(keys, k, Options::ascending())
    }

    /// The first `k` keys of the stable sort that `options` describe: the largest if they say descending.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`top_k`](Sort::top_k).
    fn top_k_with<K: Sortable>(&self, keys: &[K], k: usize, options: Options) -> Result<TopK<K>, Error> {
        let spec = Spec::of::<K>(options)?;
        let indices = self.top_k_bits(&shared_words(keys)?, k, spec)?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }

    /// The `k` largest keys of each segment, largest first, equal keys by lowest index. A segment of `len` keys gives `min(k, len)`
    /// of them; those of one segment follow those of the one before. Indices count from the start of `keys`.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let best = backend.top_k_segments(&[3, 1, 2, /**/ 9, /**/ 5, 5, 6], 2, &[0, 3, 4, 7])?;
    /// assert_eq!(best.keys, [3, 2, /**/ 9, /**/ 6, 5]);
    /// assert_eq!(best.indices, [0, 2, /**/ 3, /**/ 6, 4]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_segments`](Sort::sort_segments).
    fn top_k_segments<'a, K: Sortable>(&self, keys: &[K], k: usize, segments: impl Into<Segments<'a>>) -> Result<TopK<K>, Error> {
        self.top_k_segments_with(keys, k, segments, Options::descending())
    }

    /// The `k` smallest keys of each segment, smallest first; else as [`top_k_segments`](Sort::top_k_segments).
    ///
    /// # Errors
    /// As [`top_k_segments`](Sort::top_k_segments).
    fn bottom_k_segments<'a, K: Sortable>(
        &self,
        keys: &[K],
        k: usize,
        segments: impl Into<Segments<'a>>,
    ) -> Result<TopK<K>, Error> {
        self.top_k_segments_with(keys, k, segments, Options::ascending())
    }

    /// The first `k` keys of the stable sort of each segment that `options` describe: the largest if they say descending.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a bit range outside the key, else as [`top_k_segments`](Sort::top_k_segments).
    fn top_k_segments_with<'a, K: Sortable>(
        &self,
        keys: &[K],
        k: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<TopK<K>, Error> {
        let (spec, segments) = (Spec::of::<K>(options)?, segments.into());
        segments.check(keys.len())?;
        let indices = self.top_k_segments_bits(&shared_words(keys)?, k, segments, spec)?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }
}

impl<B: Backend> Sort for B {}

/// The result of [`Sort::top_k`] and [`Sort::top_k_segments`]: keys and where they were, in sorted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK<K> {
    /// The selected keys.
    pub keys: Vec<K>,
    /// The position of each in the input.
    pub indices: Vec<u32>,
}
