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

    const SORT_BYTES: usize = key_sort_bytes::<K>();

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

    const SORT_BYTES: usize = size_of::<K>() + pair_sort_bytes::<K, R>();

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

/// Bytes of the index of a record.
const INDEX_BYTES: usize = size_of::<u32>();

/// Bytes of scratch for a record of `bytes` bytes, at most: a buffer is up to an eighth longer than the records.
const fn scratch(bytes: usize) -> usize {
    bytes + bytes.div_ceil(8)
}

/// Bytes that a sort of keys uses for each key, beside the key itself, at most.
const fn key_sort_bytes<K: Sortable>() -> usize {
    let word = size_of::<K::Bits>();
    if K::IN_PLACE.is_some() {
        return scratch(word);
    }
    // A list of words, scratch of them, and sorted keys; and indices, if the keys cannot be rebuilt from their words.
    let index = if K::IS_REBUILT { 0 } else { INDEX_BYTES };
    word + index + scratch(word + index) + size_of::<K>()
}

/// Bytes that a sort of pairs uses for each pair, beside the key and the value themselves, at most.
pub(crate) const fn pair_sort_bytes<K: Sortable, V>() -> usize {
    let (word, value) = (size_of::<K::Bits>(), size_of::<V>());
    // Keys without a view in place: a list of words, a copy of the values, and sorted keys.
    let mapped = if K::IN_PLACE.is_some() { 0 } else { word + value + size_of::<K>() };
    // Scratch of words and values; or a list of indices, scratch of words and indices, and sorted values.
    mapped + scratch(word + value + 2 * INDEX_BYTES)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a record in a buffer of scratch.
    fn in_scratch(bytes: usize) -> f64 {
        bytes as f64 * 1.125
    }

    /// Checks `bytes` for each record: no less than the sort allocates at once, and not much more.
    fn check(case: &str, bytes: usize, allocated: f64) {
        assert!(
            bytes as f64 >= allocated && bytes as f64 <= 1.25 * allocated + 1.0,
            "{case}: {bytes} bytes, {allocated} allocated"
        );
    }

    /// Adds up what `polysort_core` and the backend allocate, in each way that they sort.
    fn check_sorts<K: Sortable, V>() {
        let (word, key, value) = (size_of::<K::Bits>(), size_of::<K>(), size_of::<V>());
        let case = format!("{} with {}", core::any::type_name::<K>(), core::any::type_name::<V>());
        let of_indices = in_scratch(word + 4);
        let pairs = in_scratch(word + value).max((4 + value) as f64 + of_indices);
        if K::IN_PLACE.is_some() {
            check(&case, key_sort_bytes::<K>(), in_scratch(word));
            check(&case, pair_sort_bytes::<K, V>(), pairs);
            return;
        }
        // Words are sorted, and keys are rebuilt from them; or indices are sorted, and keys are gathered by them.
        let rebuilt = (word + key) as f64 + in_scratch(word);
        let gathered = (4 + word.max(key)) as f64 + of_indices;
        check(&case, key_sort_bytes::<K>(), if K::IS_REBUILT { rebuilt } else { gathered });
        check(&case, pair_sort_bytes::<K, V>(), (word + value + key) as f64 + pairs);
    }

    /// A key that its bits do not hold.
    #[derive(Clone, Copy)]
    struct Named([u16; 16]);

    impl Sortable for Named {
        type Bits = u16;

        fn to_bits(self) -> u16 {
            self.0[0]
        }

        fn from_bits(bits: u16) -> Self {
            Self([bits; 16])
        }
    }

    #[test]
    fn a_sort_has_the_bytes_that_it_allocates() {
        check_sorts::<u8, u32>();
        check_sorts::<u16, [u8; 100]>();
        check_sorts::<f32, [u64; 8]>();
        check_sorts::<u64, u64>();
        check_sorts::<i128, [u64; 2]>();
        check_sorts::<bool, u32>();
        check_sorts::<(u16, bool), [u8; 30]>();
        check_sorts::<(u32, u8), u64>();
        check_sorts::<(u32, i64), [u64; 4]>();
        check_sorts::<Named, u32>();
    }
}
