//! The operations on keys: what a user calls, on any backend.

use crate::flow::{Call, now};
use crate::{Backend, Error, Options, Runs, Segments, Sortable, TopK, Values, ValuesMut, WideKey, memory, permutation};
use bytemuck::Pod;
use core::pin::pin;

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
        now(pin!(Call::blocking(self, options).sort(keys)))
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
        now(pin!(Call::blocking(self, options).sort_into(keys, sorted)))
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
        now(pin!(Call::blocking(self, options).sort_pairs(keys, ValuesMut::of(values))))
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
        let sorted = (sorted_keys, ValuesMut::of(sorted_values));
        now(pin!(Call::blocking(self, options).sort_pairs_into((keys, Values::of(values)), sorted)))
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
        let keys: Vec<K> = memory::collected(items.iter().map(key))?;
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
        now(pin!(Call::blocking(self, options).argsort(keys)))
    }

    /// Sorts keys of any number of bits, ascending. The keys are moved whole, by the permutation that [`argsort_wide`](Sort::argsort_wide) returns.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let mut hashes = [[7_u8; 32], [3; 32], [5; 32]];
    /// backend.sort_wide(&mut hashes)?;
    /// assert_eq!(hashes, [[3; 32], [5; 32], [7; 32]]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`argsort_wide`](Sort::argsort_wide).
    fn sort_wide<K: WideKey>(&self, keys: &mut [K]) -> Result<(), Error> {
        self.sort_wide_with(keys, Options::ascending())
    }

    /// Sorts keys of any number of bits by `options`.
    ///
    /// # Errors
    /// As [`argsort_wide_with`](Sort::argsort_wide_with).
    fn sort_wide_with<K: WideKey>(&self, keys: &mut [K], options: Options) -> Result<(), Error> {
        now(pin!(Call::blocking(self, options).sort_wide(keys)))
    }

    /// Returns the stable permutation that sorts keys of any number of bits, ascending. The backend sorts words of 64 bits, from the most significant one
    /// on; keys that differ in the first word are not read again.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] if a key inside a key has bits beyond its width, [`Error::TooLong`] above 2³² keys or for more keys than the device
    /// takes, or a failure of the device.
    fn argsort_wide<K: WideKey>(&self, keys: &[K]) -> Result<Vec<u32>, Error> {
        self.argsort_wide_with(keys, Options::ascending())
    }

    /// Returns the stable permutation that sorts keys of any number of bits by `options`. As for other keys, a range of bits counts from the
    /// least significant bit.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`argsort_wide`](Sort::argsort_wide).
    fn argsort_wide_with<K: WideKey>(&self, keys: &[K], options: Options) -> Result<Vec<u32>, Error> {
        now(pin!(Call::blocking(self, options).argsort_wide(keys)))
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

    /// Sorts each segment of `keys` separately, in the order of `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_segments`](Sort::sort_segments).
    fn sort_segments_with<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        now(pin!(Call::blocking(self, options).of_segments(segments).sort(keys)))
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

    /// Sorts each segment of `keys` separately, in the order of `options`, and moves each value with its key.
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
        now(pin!(Call::blocking(self, options).of_segments(segments).sort_pairs(keys, ValuesMut::of(values))))
    }

    /// Returns the permutation that sorts each segment of `keys` by itself, ascending. Indices count from the start of `keys`; a position outside
    /// of all segments holds its own index.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_segments`](Sort::sort_segments).
    fn argsort_segments<'a, K: Sortable>(&self, keys: &[K], segments: impl Into<Segments<'a>>) -> Result<Vec<u32>, Error> {
        self.argsort_segments_with(keys, segments, Options::ascending())
    }

    /// Returns the permutation that sorts each segment of `keys` separately, in the order of `options`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`argsort_segments`](Sort::argsort_segments).
    fn argsort_segments_with<'a, K: Sortable>(
        &self,
        keys: &[K],
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<Vec<u32>, Error> {
        now(pin!(Call::blocking(self, options).of_segments(segments).argsort(keys)))
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
        now(pin!(Call::blocking(self, options).top_k(keys, k)))
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
        now(pin!(Call::blocking(self, options).of_segments(segments).top_k(keys, k)))
    }

    /// Moves the `k` smallest keys to the start of `keys`, in ascending order; sorts all if there are fewer. The other keys follow in any order.
    ///
    /// The first `k` keys are the same on every backend. A GPU sorts all keys.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let mut keys = [5, 1, 4, 2, 3];
    /// backend.partial_sort(&mut keys, 2)?;
    /// assert_eq!(keys[..2], [1, 2]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Sort::sort).
    fn partial_sort<K: Sortable>(&self, keys: &mut [K], k: usize) -> Result<(), Error> {
        self.partial_sort_with(keys, k, Options::ascending())
    }

    /// Puts the `k` keys that come first in the stable order of `options` at the start of `keys`, sorted; else as [`partial_sort`](Sort::partial_sort).
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort`](Sort::sort).
    fn partial_sort_with<K: Sortable>(&self, keys: &mut [K], k: usize, options: Options) -> Result<(), Error> {
        now(pin!(Call::blocking(self, options).partial_sort(keys, k)))
    }

    /// Moves the `k` smallest keys of each segment to its start, in ascending order; sorts a segment that has fewer. The other keys of the segment follow in
    /// any order.
    ///
    /// # Errors
    /// As [`sort_segments`](Sort::sort_segments).
    fn partial_sort_segments<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        k: usize,
        segments: impl Into<Segments<'a>>,
    ) -> Result<(), Error> {
        self.partial_sort_segments_with(keys, k, segments, Options::ascending())
    }

    /// In each segment, puts the `k` keys that come first in the stable order of `options` at the start of the segment, sorted; else as
    /// [`partial_sort_segments`](Sort::partial_sort_segments).
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_segments`](Sort::sort_segments).
    fn partial_sort_segments_with<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        k: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        now(pin!(Call::blocking(self, options).of_segments(segments).partial_sort(keys, k)))
    }

    /// Puts the key that an ascending sort would put at position `n` there. No key before it is greater, and no key behind it is smaller; apart from
    /// that, they are in any order.
    ///
    /// The key at position `n` is the same on every backend. A GPU sorts all keys.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let mut keys = [5.0, 1.0, 4.0, 2.0, 3.0];
    /// backend.select_nth(&mut keys, 2)?;
    /// assert_eq!(keys[2], 3.0); // the median
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPosition`] if there are `n` keys or fewer, else as [`sort`](Sort::sort).
    fn select_nth<K: Sortable>(&self, keys: &mut [K], n: usize) -> Result<(), Error> {
        self.select_nth_with(keys, n, Options::ascending())
    }

    /// Puts the key that a stable sort by `options` would put at position `n` there; else as [`select_nth`](Sort::select_nth).
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`select_nth`](Sort::select_nth).
    fn select_nth_with<K: Sortable>(&self, keys: &mut [K], n: usize, options: Options) -> Result<(), Error> {
        now(pin!(Call::blocking(self, options).select_nth(keys, n)))
    }

    /// Does in each segment what [`select_nth`](Sort::select_nth) does; `n` counts from the start of the segment. A segment of `n` keys or fewer
    /// has no such key; its keys may change their order.
    ///
    /// # Errors
    /// As [`sort_segments`](Sort::sort_segments).
    fn select_nth_segments<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        n: usize,
        segments: impl Into<Segments<'a>>,
    ) -> Result<(), Error> {
        self.select_nth_segments_with(keys, n, segments, Options::ascending())
    }

    /// Does in each segment what [`select_nth_with`](Sort::select_nth_with) does; else as [`select_nth_segments`](Sort::select_nth_segments).
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`sort_segments`](Sort::sort_segments).
    fn select_nth_segments_with<'a, K: Sortable>(
        &self,
        keys: &mut [K],
        n: usize,
        segments: impl Into<Segments<'a>>,
        options: Options,
    ) -> Result<(), Error> {
        now(pin!(Call::blocking(self, options).of_segments(segments).select_nth(keys, n)))
    }

    /// Finds the runs of equal neighboring keys. The keys stay as they are. In sorted keys, each run has all keys of one value.
    ///
    /// The result has the offset of each run, in number of keys. It can be passed as the segments of a sort.
    ///
    /// ```
    /// # use polysort_core::*;
    /// # fn demo<B: Backend>(backend: B) -> Result<(), Error> {
    /// let runs = backend.runs(&[2, 2, 5, 9, 9, 9])?;
    /// assert_eq!(runs.offsets, [0, 2, 3, 6]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`sort`](Sort::sort).
    fn runs<K: Sortable>(&self, keys: &[K]) -> Result<Runs, Error> {
        self.runs_with(keys, Options::ascending())
    }

    /// Finds the runs of neighboring keys that are equal in the bits that `options` name. The order of `options` does not matter.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`runs`](Sort::runs).
    fn runs_with<K: Sortable>(&self, keys: &[K], options: Options) -> Result<Runs, Error> {
        now(pin!(Call::blocking(self, options).runs(keys)))
    }
}

impl<B: Backend> Sort for B {}
