//! The operations on keys: what a user calls, on any backend.

use crate::backend::check_pairs_into;
use crate::words::{Pairs, Words, checked_words, rebuilt, shared_words};
use crate::{Backend, Error, Options, Segments, Sortable, Spec, permutation};
use bytemuck::Pod;

/// Every operation, for every key, on every backend. Implemented for all [`Backend`]s.
///
/// All sorts are stable in both directions: equal keys keep their input order. On an error, or a panic in a key's own code, all slices stay as
/// they were. Floats are sorted in the order of [`f32::total_cmp`], and NaN payloads are kept.
///
/// Each operation has an options variant, whose name ends in `_with` and which takes [`Options`]. The plain operation sorts ascending by all bits of
/// the key.
pub trait Sort: Backend {
    /// Sorts `keys`, ascending.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if a key breaks the contract of [`Sortable`], [`Error::TooLong`] for more keys than the device takes, or a failure of
    /// the device.
    fn sort<K: Sortable>(&self, keys: &mut [K]) -> Result<(), Error> {
        self.sort_with(keys, Options::ascending())
    }

    /// Sorts `keys` by `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort`](Sort::sort).
    fn sort_with<K: Sortable>(&self, keys: &mut [K], options: Options) -> Result<(), Error> {
        if !K::IS_REBUILT {
            permutation::gather_keys(keys, &self.argsort_with(keys, options)?);
            return Ok(());
        }
        let spec = Spec::of::<K>(options)?;
        let mut words = Words::of(keys)?;
        self.sort_bits(words.get(), spec)?;
        words.finish();
        Ok(())
    }

    /// Sorts `keys`, which stay as they are, into `sorted`, ascending. The contents of `sorted` before the call do not matter.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let (keys, mut sorted) = ([3, 1, 2], [0; 3]);
    /// backend.sort_into(&keys, &mut sorted)?;
    /// assert_eq!((keys, sorted), ([3, 1, 2], [1, 2, 3]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort`](Sort::sort); `sorted` then stays as it was.
    fn sort_into<K: Sortable>(&self, keys: &[K], sorted: &mut [K]) -> Result<(), Error> {
        self.sort_into_with(keys, sorted, Options::ascending())
    }

    /// Sorts `keys`, which stay as they are, into `sorted` by `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_into`](Sort::sort_into).
    fn sort_into_with<K: Sortable>(&self, keys: &[K], sorted: &mut [K], options: Options) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "sorted", sorted.len())?;
        let spec = Spec::of::<K>(options)?;
        if let Some(view) = K::IN_PLACE {
            return self.sort_bits_into((view.words)(keys), (view.words_mut)(sorted), spec);
        }
        if !K::IS_REBUILT {
            sorted.copy_from_slice(&permutation::gather(keys, &self.argsort_with(keys, options)?));
            return Ok(());
        }
        let mut words = checked_words(keys)?;
        self.sort_bits(&mut words, spec)?;
        sorted.copy_from_slice(&rebuilt(&words));
        Ok(())
    }

    /// Sorts `keys`, ascending, and moves each value with its key.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort`](Sort::sort).
    fn sort_pairs<K: Sortable, V: Pod>(&self, keys: &mut [K], values: &mut [V]) -> Result<(), Error> {
        self.sort_pairs_with(keys, values, Options::ascending())
    }

    /// Sorts `keys` by `options` and moves each value with its key.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_pairs`](Sort::sort_pairs).
    fn sort_pairs_with<K: Sortable, V: Pod>(&self, keys: &mut [K], values: &mut [V], options: Options) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        if !K::IS_REBUILT {
            permutation::gather_pairs(keys, values, &self.argsort_with(keys, options)?);
            return Ok(());
        }
        let spec = Spec::of::<K>(options)?;
        let mut pairs = Pairs::of(keys, values)?;
        let (words, values) = pairs.get();
        self.sort_pairs_bits(words, values, spec)?;
        pairs.finish();
        Ok(())
    }

    /// Sorts `keys` into `sorted_keys`, ascending, and moves each value with its key, from `values` to `sorted_values`. The inputs stay as
    /// they are.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort`](Sort::sort); both outputs then stay as they were.
    fn sort_pairs_into<K: Sortable, V: Pod>(
        &self,
        keys: &[K],
        values: &[V],
        sorted_keys: &mut [K],
        sorted_values: &mut [V],
    ) -> Result<(), Error> {
        self.sort_pairs_into_with(keys, values, sorted_keys, sorted_values, Options::ascending())
    }

    /// Sorts `keys` into `sorted_keys` by `options` and moves each value with its key, from `values` to `sorted_values`. The inputs stay as
    /// they are.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_pairs_into`](Sort::sort_pairs_into).
    fn sort_pairs_into_with<K: Sortable, V: Pod>(
        &self,
        keys: &[K],
        values: &[V],
        sorted_keys: &mut [K],
        sorted_values: &mut [V],
        options: Options,
    ) -> Result<(), Error> {
        check_pairs_into(keys.len(), values.len(), sorted_keys.len(), sorted_values.len())?;
        let spec = Spec::of::<K>(options)?;
        if let Some(view) = K::IN_PLACE {
            let (words, sorted_words) = ((view.words)(keys), (view.words_mut)(sorted_keys));
            return self.sort_pairs_bits_into(words, values, sorted_words, sorted_values, spec);
        }
        let (sorted, moved): (Vec<K>, Vec<V>);
        if K::IS_REBUILT {
            let (mut words, mut values) = (checked_words(keys)?, values.to_vec());
            self.sort_pairs_bits(&mut words, &mut values, spec)?;
            (sorted, moved) = (rebuilt(&words), values);
        } else {
            let order = self.argsort_with(keys, options)?;
            (sorted, moved) = (permutation::gather(keys, &order), permutation::gather(values, &order));
        }
        sorted_keys.copy_from_slice(&sorted);
        sorted_values.copy_from_slice(&moved);
        Ok(())
    }

    /// Sorts any items, ascending by a key that `key` returns once for each item. The items are swapped and need not be `Copy`.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² items, else as [`sort`](Sort::sort).
    fn sort_by_key<T, K: Sortable>(&self, items: &mut [T], key: impl FnMut(&T) -> K) -> Result<(), Error> {
        self.sort_by_key_with(items, key, Options::ascending())
    }

    /// Sorts any items by a key and `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_by_key`](Sort::sort_by_key).
    fn sort_by_key_with<T, K: Sortable>(&self, items: &mut [T], key: impl FnMut(&T) -> K, options: Options) -> Result<(), Error> {
        let keys: Vec<K> = items.iter().map(key).collect();
        permutation::apply(items, &self.argsort_with(&keys, options)?)
    }

    /// Returns the stable permutation that sorts `keys` ascending: `keys[result[0]]` is the smallest. The keys stay as they are.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort`](Sort::sort).
    fn argsort<K: Sortable>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        self.argsort_with(keys, Options::ascending())
    }

    /// Returns the stable permutation that sorts `keys` by `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`argsort`](Sort::argsort).
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

    /// Sorts each segment of `keys` by itself and by `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_segments`](Sort::sort_segments).
    fn sort_segments_with<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        let (spec, segments) = (Spec::of::<K>(options)?, segments.into());
        if !K::IS_REBUILT {
            permutation::gather_keys(keys, &self.argsort_segments_with(keys, segments, options)?);
            return Ok(());
        }
        segments.check(keys.len())?;
        let mut words = Words::of(keys)?;
        self.sort_segments_bits(words.get(), segments, spec)?;
        words.finish();
        Ok(())
    }

    /// Sorts each segment of `keys` by itself, ascending, and moves each value with its key.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort_segments`](Sort::sort_segments).
    fn sort_pairs_segments<'a, K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        segments: impl Into<Segments<'a>>,
    ) -> Result<(), Error> {
        self.sort_pairs_segments_with(keys, values, segments, Options::ascending())
    }

    /// Sorts each segment of `keys` by itself and by `options`, and moves each value with its key.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_pairs_segments`](Sort::sort_pairs_segments).
    fn sort_pairs_segments_with<'a, K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        let (spec, segments) = (Spec::of::<K>(options)?, segments.into());
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        if !K::IS_REBUILT {
            permutation::gather_pairs(keys, values, &self.argsort_segments_with(keys, segments, options)?);
            return Ok(());
        }
        segments.check(keys.len())?;
        let mut pairs = Pairs::of(keys, values)?;
        let (words, values) = pairs.get();
        self.sort_pairs_segments_bits(words, values, segments, spec)?;
        pairs.finish();
        Ok(())
    }

    /// Returns the permutation that sorts each segment of `keys` by itself, ascending. Indices count from the start of `keys`; a position outside
    /// of all segments holds its own index.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_segments`](Sort::sort_segments).
    fn argsort_segments<'a, K: Sortable>(&self, keys: &[K], segments: impl Into<Segments<'a>>) -> Result<Vec<u32>, Error> {
        self.argsort_segments_with(keys, segments, Options::ascending())
    }

    /// Returns the permutation that sorts each segment of `keys` by itself and by `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`argsort_segments`](Sort::argsort_segments).
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

    /// Returns the `k` largest keys, largest first, equal keys by lowest index; all of them if there are fewer.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort`](Sort::sort).
    fn top_k<K: Sortable>(&self, keys: &[K], k: usize) -> Result<TopK<K>, Error> {
        self.top_k_with(keys, k, Options::descending())
    }

    /// Returns the `k` smallest keys, smallest first, equal keys by lowest index; all of them if there are fewer.
    ///
    /// # Errors
    /// As [`top_k`](Sort::top_k).
    fn bottom_k<K: Sortable>(&self, keys: &[K], k: usize) -> Result<TopK<K>, Error> {
        self.top_k_with(keys, k, Options::ascending())
    }

    /// Returns the first `k` keys of the stable sort by `options`: the largest keys if the options are descending.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`top_k`](Sort::top_k).
    fn top_k_with<K: Sortable>(&self, keys: &[K], k: usize, options: Options) -> Result<TopK<K>, Error> {
        let spec = Spec::of::<K>(options)?;
        let indices = self.top_k_bits(&shared_words(keys)?, k, spec)?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }

    /// Returns the `k` largest keys of each segment, largest first, equal keys by lowest index. A segment of `len` keys gives `min(k, len)`
    /// keys; the results of the segments follow each other. Indices count from the start of `keys`.
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

    /// Returns the `k` smallest keys of each segment, smallest first; else as [`top_k_segments`](Sort::top_k_segments).
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

    /// Returns the first `k` keys of the stable sort of each segment by `options`: the largest keys if the options are descending.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`top_k_segments`](Sort::top_k_segments).
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

/// The result of [`Sort::top_k`] and [`Sort::top_k_segments`]: the selected keys and their indices, in sorted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK<K> {
    /// The selected keys.
    pub keys: Vec<K>,
    /// The index of each selected key in the input.
    pub indices: Vec<u32>,
}
