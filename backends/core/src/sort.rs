//! Sorting keys: what a user calls, on any backend.

use crate::masks::low_bits;
use crate::{Backend, Error, Options, Segments, Sortable, Spec, Word, permutation};
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
        self.on_words(keys, |words| self.sort_bits(words, spec))
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
        self.on_pairs(keys, values, |words, values| self.sort_pairs_bits(words, values, spec))
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
        on_shared_words(keys, |words| self.argsort_bits(words, spec))
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
        self.on_words(keys, |words| self.sort_segments_bits(words, segments, spec))
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
        self.on_pairs(keys, values, |words, values| self.sort_pairs_segments_bits(words, values, segments, spec))
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
        on_shared_words(keys, |words| self.argsort_segments_bits(words, segments, spec))
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
        let indices = on_shared_words(keys, |words| self.top_k_bits(words, k, spec))?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }

    /// Runs `sort` on the words of `keys`: in place if the key allows it, else mapped there and, once all is well, back.
    #[doc(hidden)]
    fn on_words<K: Sortable>(&self, keys: &mut [K], sort: impl FnOnce(&mut [K::Bits]) -> Result<(), Error>) -> Result<(), Error> {
        if let Some(view) = K::IN_PLACE {
            return sort((view.words_mut)(keys));
        }
        let mut words = map(keys)?;
        sort(&mut words)?;
        keys.copy_from_slice(&unmap(&words)?);
        Ok(())
    }

    /// As [`on_words`](Sort::on_words), with values that move along. Mapped keys move a copy of them: a key that cannot be mapped
    /// back must not leave moved values behind.
    #[doc(hidden)]
    fn on_pairs<K: Sortable, V: Pod>(
        &self,
        keys: &mut [K],
        values: &mut [V],
        sort: impl FnOnce(&mut [K::Bits], &mut [V]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Some(view) = K::IN_PLACE {
            return sort((view.words_mut)(keys), values);
        }
        let (mut words, mut moved) = (map(keys)?, values.to_vec());
        sort(&mut words, &mut moved)?;
        let sorted = unmap(&words)?;
        keys.copy_from_slice(&sorted);
        values.copy_from_slice(&moved);
        Ok(())
    }
}

impl<B: Backend> Sort for B {}

/// The result of [`Sort::top_k`]: keys and where they were, in sorted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK<K> {
    /// The selected keys.
    pub keys: Vec<K>,
    /// The position of each in the input.
    pub indices: Vec<u32>,
}

/// Runs `f` on the words of `keys`, which are not changed.
fn on_shared_words<K: Sortable, R>(keys: &[K], f: impl FnOnce(&[K::Bits]) -> Result<R, Error>) -> Result<R, Error> {
    match K::IN_PLACE {
        Some(view) => f((view.words)(keys)),
        None => f(&map(keys)?),
    }
}

/// The ordered bits of each key. `to_bits` runs once a key, here, before any sorting code sees the bits.
fn map<K: Sortable>(keys: &[K]) -> Result<Vec<K::Bits>, Error> {
    let widest = K::Bits::truncate(low_bits(K::WIDTH));
    let words: Vec<K::Bits> = keys.iter().map(|&key| key.to_bits()).collect();
    match words.iter().position(|&bits| bits > widest) {
        None => Ok(words),
        Some(index) => Err(invalid_key::<K>(index, words[index], format!("wider than the {} bits of its type", K::WIDTH))),
    }
}

/// The keys of sorted bits, each checked to be the one that the bits came from.
fn unmap<K: Sortable>(words: &[K::Bits]) -> Result<Vec<K>, Error> {
    let keys: Vec<K> = words.iter().map(|&bits| K::from_bits(bits)).collect();
    match keys.iter().zip(words).position(|(key, &bits)| key.to_bits() != bits) {
        None => Ok(keys),
        Some(index) => {
            let back = keys[index].to_bits();
            Err(invalid_key::<K>(index, words[index], format!("from_bits makes a key of them that has the bits {back:#x}")))
        }
    }
}

fn invalid_key<K: Sortable>(index: usize, bits: K::Bits, why: String) -> Error {
    Error::InvalidKey { index, bits: bits.widen(), why }
}
