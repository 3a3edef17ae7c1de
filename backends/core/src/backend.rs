//! The contract of a device that sorts.

use crate::{Error, Segments, Spec, Word, global, permutation};
use bytemuck::Pod;

/// A device that sorts words: all cores, a GPU, or anything else that has the two required sorts.
///
/// A backend is a cheap handle that is cloned freely; [`global`](Backend::global) returns a handle to a device that is opened once. A backend gets raw
/// words and a [`Spec`], never key types. Users call the methods of [`Sort`](crate::Sort), which every backend has.
///
/// # What an implementor guarantees
/// * Sorts are **stable** in the order of the spec, for every direction and window.
/// * On an error the slices are exactly as they were, and the next call works.
/// * Each call checks its spec ([`Spec::check`]) and refuses slices of unequal length. No input causes a panic.
///
/// # What a caller may assume
/// The result depends on the input alone: every backend gives the same answer, bit for bit.
///
/// # Example
/// The required methods alone. The provided methods build on them; a backend overrides those that its device does better. The crate `polysort-kit`
/// tests a backend with one line.
/// ```
/// use polysort_core::{Backend, Error, Limits, Sort, Spec, Word};
///
/// #[derive(Clone)]
/// struct Std;
///
/// impl Backend for Std {
///     fn open() -> Result<Self, Error> { Ok(Std) }
///     fn name(&self) -> String { "std".into() }
///     fn limits(&self) -> Limits { Limits::default() }
///
///     fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
///         spec.check::<W>()?;
///         keys.sort_by_key(|&key| spec.rank(key));
///         Ok(())
///     }
///
///     fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
///         spec.check_pairs::<W>(keys.len(), values.len())?;
///         let mut pairs: Vec<(W, V)> = keys.iter().copied().zip(values.iter().copied()).collect();
///         pairs.sort_by_key(|&(key, _)| spec.rank(key));
///         for ((key, value), pair) in keys.iter_mut().zip(values).zip(pairs) {
///             (*key, *value) = pair;
///         }
///         Ok(())
///     }
/// }
///
/// let mut keys = [2.0, -1.0, f32::NAN, -0.0, 0.0];
/// Std.sort(&mut keys)?;
/// assert_eq!(format!("{keys:?}"), "[-1.0, -0.0, 0.0, 2.0, NaN]");
/// # Ok::<(), Error>(())
/// ```
pub trait Backend: Clone + Send + Sync + 'static {
    /// Opens a device. Prefer [`global`](Backend::global), which opens it once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this machine has no such device, [`Error::SelfTest`] if the device sorts wrongly.
    fn open() -> Result<Self, Error>;

    /// The device's name, for people to read.
    fn name(&self) -> String;

    /// The largest input of one call. A call within these limits does not fail because of its size, unless memory runs out.
    fn limits(&self) -> Limits;

    /// Sorts `keys`, stably, in the order of `spec`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a window outside the word, [`Error::TooLong`] for more keys than the device takes, or a failure of the device.
    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error>;

    /// Sorts `keys` as [`sort_bits`](Backend::sort_bits) does and moves each value with its key.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort_bits`](Backend::sort_bits).
    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error>;

    /// Returns a handle to the shared device of this backend. The first call opens the device, and so does each call after a failure or a loss.
    ///
    /// # Errors
    /// As [`open`](Backend::open).
    fn global() -> Result<Self, Error> {
        global::shared()
    }

    /// Whether the device behind this handle is lost, so that [`global`](Backend::global) must open another one.
    fn is_lost(&self) -> bool {
        false
    }

    /// Sorts `keys`, which stay as they are, into `sorted`. The contents of `sorted` before the call do not matter.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort_bits`](Backend::sort_bits); `sorted` then stays as it was.
    fn sort_bits_into<W: Word>(&self, keys: &[W], sorted: &mut [W], spec: Spec) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "sorted", sorted.len())?;
        let mut copy = keys.to_vec();
        self.sort_bits(&mut copy, spec)?;
        sorted.copy_from_slice(&copy);
        Ok(())
    }

    /// Sorts `keys` into `sorted_keys` and moves each value with its key, from `values` to `sorted_values`. The inputs stay as they are.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if the lengths differ, else as [`sort_bits`](Backend::sort_bits); both outputs then stay as they were.
    fn sort_pairs_bits_into<W: Word, V: Pod>(
        &self,
        keys: &[W],
        values: &[V],
        sorted_keys: &mut [W],
        sorted_values: &mut [V],
        spec: Spec,
    ) -> Result<(), Error> {
        check_pairs_into(keys.len(), values.len(), sorted_keys.len(), sorted_values.len())?;
        let (mut key_copy, mut value_copy) = (keys.to_vec(), values.to_vec());
        self.sort_pairs_bits(&mut key_copy, &mut value_copy, spec)?;
        sorted_keys.copy_from_slice(&key_copy);
        sorted_values.copy_from_slice(&value_copy);
        Ok(())
    }

    /// Returns the stable sorting permutation: position `i` of the sorted keys comes from position `result[i]` of `keys`.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_bits`](Backend::sort_bits).
    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        let mut indices = permutation::identity(keys.len())?;
        self.sort_pairs_bits(&mut keys.to_vec(), &mut indices, spec)?;
        Ok(indices)
    }

    /// Sorts each segment of `keys` by itself.
    ///
    /// # Errors
    /// [`Error::InvalidOffsets`] or [`Error::LengthMismatch`] for bad segments, else as [`sort_bits`](Backend::sort_bits).
    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        segments.check(keys.len())?;
        let mut sorted = keys.to_vec();
        for range in segments.ranges() {
            self.sort_bits(&mut sorted[range], spec)?;
        }
        keys.copy_from_slice(&sorted);
        Ok(())
    }

    /// Sorts each segment of `keys` by itself and moves each value with its key.
    ///
    /// # Errors
    /// As [`sort_segments_bits`](Backend::sort_segments_bits) and [`sort_pairs_bits`](Backend::sort_pairs_bits).
    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        segments.check(keys.len())?;
        let (mut sorted, mut moved) = (keys.to_vec(), values.to_vec());
        for range in segments.ranges() {
            self.sort_pairs_bits(&mut sorted[range.clone()], &mut moved[range], spec)?;
        }
        keys.copy_from_slice(&sorted);
        values.copy_from_slice(&moved);
        Ok(())
    }

    /// Returns the permutation that sorts each segment by itself. Indices count from the start of `keys`; a position outside of all segments
    /// holds its own index.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_segments_bits`](Backend::sort_segments_bits).
    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        let mut indices = permutation::identity(keys.len())?;
        self.sort_pairs_segments_bits(&mut keys.to_vec(), &mut indices, segments, spec)?;
        Ok(indices)
    }

    /// Returns the indices of the first `k` keys of the stable sorted order, in that order; all of them if `k` exceeds their number.
    ///
    /// # Errors
    /// As [`argsort_bits`](Backend::argsort_bits).
    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        let mut indices = self.argsort_bits(keys, spec)?;
        indices.truncate(k);
        Ok(indices)
    }

    /// Returns, for each segment, the indices of the first `k` keys of its stable sorted order, in that order; all of a shorter segment. Indices
    /// count from the start of `keys`. The results of the segments follow each other.
    ///
    /// # Errors
    /// As [`argsort_segments_bits`](Backend::argsort_segments_bits).
    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        let order = self.argsort_segments_bits(keys, segments, spec)?;
        Ok(segments.ranges().flat_map(|range| order[range].iter().copied().take(k)).collect())
    }
}

/// The largest input of one call. The default has no limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest slice, in elements.
    pub max_len: u64,
    /// The largest slice, in bytes: of the keys, and of the values.
    pub max_bytes: u64,
    /// The bytes that the device needs for an element, at least, while it sorts: a smaller element counts as so many bytes of `max_bytes`.
    pub min_element_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_len: u64::MAX, max_bytes: u64::MAX, min_element_bytes: 1 }
    }
}

impl Limits {
    /// The longest slice of elements of `size` bytes, in elements.
    pub fn longest(&self, size: usize) -> u64 {
        let element_bytes = (size as u64).max(self.min_element_bytes).max(1);
        self.max_len.min(self.max_bytes / element_bytes)
    }

    /// Checks that `len` elements of `size` bytes are within the limits.
    ///
    /// # Errors
    /// [`Error::TooLong`], which names `what`, if they are not.
    pub fn check(&self, what: &str, len: usize, size: usize) -> Result<(), Error> {
        let limit = self.longest(size);
        if len as u64 <= limit {
            return Ok(());
        }
        Err(Error::TooLong { what: format!("{what} with elements of {size} bytes"), asked: len as u64, limit })
    }
}

/// Checks that both inputs and both outputs of a sort of pairs have one length.
pub(crate) fn check_pairs_into(keys: usize, values: usize, sorted_keys: usize, sorted_values: usize) -> Result<(), Error> {
    Error::check_lengths("keys", keys, "values", values)?;
    Error::check_lengths("keys", keys, "sorted_keys", sorted_keys)?;
    Error::check_lengths("keys", keys, "sorted_values", sorted_values)
}

/// Sorts pairs by an argsort and a gather of both slices: for a backend that does not move values of this size itself.
///
/// # Errors
/// As [`Backend::argsort_bits`].
pub fn sort_pairs_by_argsort<B: Backend, W: Word, V: Pod>(
    backend: &B,
    keys: &mut [W],
    values: &mut [V],
    spec: Spec,
) -> Result<(), Error> {
    spec.check_pairs::<W>(keys.len(), values.len())?;
    permutation::gather_pairs(keys, values, &backend.argsort_bits(keys, spec)?);
    Ok(())
}
