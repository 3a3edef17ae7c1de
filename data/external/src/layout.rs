//! Records, and the keys that they are sorted by.

use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;
use polysort_core::{Backend, Error, Masks, Options, Order, Sort, Sortable, Spec, Word};
use polysort_rayon::RayonBackend;

/// Records of constant size, and how to sort and merge them: [`Keys`] or [`ByKey`].
pub trait Layout: Sync + sealed::Sealed {
    /// One record, as its bytes lie in the stream.
    type Record: Pod + Send + Sync;

    /// Bytes that a sort of a run uses for each record, beside the record itself, at most.
    #[doc(hidden)]
    const SORT_BYTES: usize;

    /// Sorts records stably.
    #[doc(hidden)]
    fn sort(&self, backend: &impl Backend, records: &mut [Self::Record], options: Options) -> Result<(), Error>;

    /// Writes the first records of the merge of sorted runs. Returns how many of each run it took.
    #[doc(hidden)]
    fn merge(
        &self,
        merger: &RayonBackend,
        runs: &[&[Self::Record]],
        merged: &mut [Self::Record],
        options: Options,
    ) -> Result<Vec<usize>, Error>;

    /// What a record is sorted by, ascending; `spec` is of [`spec`](Layout::spec).
    #[doc(hidden)]
    fn rank(&self, record: &Self::Record, spec: Spec) -> u128;

    /// The order of the ordered bits of keys.
    #[doc(hidden)]
    fn spec(&self, options: Options) -> Result<Spec, Error>;
}

mod sealed {
    pub trait Sealed {}
}

/// Records that are keys: `u32`, `f64`, or any [`Sortable`] that is plain bytes.
///
/// ```
/// let numbers = polysort_external::Keys::<f32>::new();
/// ```
pub struct Keys<K>(PhantomData<fn() -> K>);

impl<K> Keys<K> {
    /// Records that are keys.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for Keys<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys<{}>", core::any::type_name::<K>())
    }
}

impl<K> sealed::Sealed for Keys<K> {}

impl<K: Sortable + Pod + Send + Sync> Layout for Keys<K> {
    type Record = K;

    // Scratch of one key and an eighth; without a view in place, words, their scratch, and keys rebuilt from words.
    const SORT_BYTES: usize = {
        let word = size_of::<K::Bits>();
        if K::IN_PLACE.is_some() { word + word.div_ceil(8) } else { 3 * word + size_of::<K>() + 4 }
    };

    fn sort(&self, backend: &impl Backend, records: &mut [K], options: Options) -> Result<(), Error> {
        backend.sort_with(records, options)
    }

    fn merge(&self, merger: &RayonBackend, runs: &[&[K]], merged: &mut [K], options: Options) -> Result<Vec<usize>, Error> {
        merger.merge_into_with(runs, merged, options)
    }

    fn rank(&self, record: &K, spec: Spec) -> u128 {
        spec.rank(record.to_bits()).widen()
    }

    fn spec(&self, options: Options) -> Result<Spec, Error> {
        ordered::<K>(options)
    }
}

/// Records that are sorted by a key inside them.
///
/// A pair is a record of a key and a value. A record of raw bytes is an array.
/// ```
/// use polysort_external::ByKey;
///
/// // 100 bytes, sorted by the big-endian number in bytes 10 to 18.
/// let records = ByKey::new(|record: &[u8; 100]| u64::from_be_bytes(record[10..18].try_into().unwrap()));
/// ```
pub struct ByKey<R, K, F> {
    key: F,
    types: PhantomData<fn(R) -> K>,
}

impl<R: Pod + Send + Sync, K: Sortable + Send + Sync, F: Fn(&R) -> K + Sync> ByKey<R, K, F> {
    /// Records sorted by what `key` returns for each. It must return the same key each time.
    pub const fn new(key: F) -> Self {
        Self { key, types: PhantomData }
    }

    fn keys(&self, records: &[R]) -> Vec<K> {
        records.iter().map(&self.key).collect()
    }
}

impl<R, K, F> fmt::Debug for ByKey<R, K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ByKey<{}, {}>", core::any::type_name::<R>(), core::any::type_name::<K>())
    }
}

impl<R, K, F> sealed::Sealed for ByKey<R, K, F> {}

impl<R: Pod + Send + Sync, K: Sortable + Send + Sync, F: Fn(&R) -> K + Sync> Layout for ByKey<R, K, F> {
    type Record = R;

    // Keys, words and a copy of the records for keys without a view in place, and scratch of a word and a record, or an index, and an eighth.
    const SORT_BYTES: usize = {
        let (record, word) = (size_of::<R>(), size_of::<K::Bits>());
        let mapped = if K::IN_PLACE.is_some() { 0 } else { 2 * word + size_of::<K>() + record };
        let scratch = word + record + 8;
        size_of::<K>() + mapped + scratch + scratch.div_ceil(8)
    };

    fn sort(&self, backend: &impl Backend, records: &mut [R], options: Options) -> Result<(), Error> {
        backend.sort_pairs_with(&mut self.keys(records), records, options)
    }

    fn merge(&self, merger: &RayonBackend, runs: &[&[R]], merged: &mut [R], options: Options) -> Result<Vec<usize>, Error> {
        let keys: Vec<Vec<K>> = runs.iter().map(|run| self.keys(run)).collect();
        let pairs: Vec<(&[K], &[R])> = keys.iter().map(Vec::as_slice).zip(runs.iter().copied()).collect();
        let Some(&any) = keys.iter().flatten().next() else { return Ok(vec![0; runs.len()]) };
        merger.merge_pairs_into_with(&pairs, &mut vec![any; merged.len()], merged, options)
    }

    fn rank(&self, record: &R, spec: Spec) -> u128 {
        spec.rank((self.key)(record).to_bits()).widen()
    }

    fn spec(&self, options: Options) -> Result<Spec, Error> {
        ordered::<K>(options)
    }
}

/// The order of the ordered bits of keys, whether or not a sort of the keys maps their memory.
pub(crate) fn ordered<K: Sortable>(options: Options) -> Result<Spec, Error> {
    let window = Spec::of::<K>(options)?;
    let masks = match options.order {
        Order::Ascending => Masks::UNSIGNED,
        Order::Descending => Masks::UNSIGNED.reversed(K::WIDTH),
    };
    Spec::new::<K::Bits>(masks, window.begin, window.end)
}
