//! The seam: what a sorting device must do, and what it gets for it.

use crate::{Error, Segments, Spec, Word, global, permutation};
use bytemuck::Pod;

/// A device that sorts words: all cores, a GPU, or anything else that can do the two required sorts.
///
/// A backend is a cheap handle, cloned freely; [`global`](Backend::global) gives one to a device that is opened once. It sees raw
/// words and a [`Spec`], never key types. Key-level calls come from [`Sort`](crate::Sort), which every backend has.
///
/// # What an implementor guarantees
/// * Sorts are **stable** in the order that the spec defines, whatever the order's direction or the window.
/// * On an error the slices are exactly as they were, and the next call works.
/// * `spec` is checked ([`Spec::check`]) and slices of unequal length are refused; no input panics.
///
/// # What a caller may assume
/// The result is a function of the input alone: every backend gives the same answer, bit for bit.
///
/// # Example
/// The required methods, and nothing more; the rest is provided on top of them and overridden where a backend can do
/// better. `polysort`'s `examples/own_backend.rs` is a whole one.
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
    /// Opens a device. Prefer [`global`](Backend::global), which does it once.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this machine has none, [`Error::SelfTest`] if it sorts wrongly.
    fn open() -> Result<Self, Error>;

    /// The device's name, for people.
    fn name(&self) -> String;

    /// What the device can take in one call.
    fn limits(&self) -> Limits;

    /// Sorts `keys`, stably, in the order of `spec`.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a window outside the word, [`Error::TooLong`], or a failure of the device.
    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error>;

    /// Sorts `keys` as [`sort_bits`](Backend::sort_bits) does and moves `values` along.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], else as [`sort_bits`](Backend::sort_bits).
    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error>;

    /// A handle to the shared device of this backend, opened at the first call and again after it was lost.
    ///
    /// # Errors
    /// As [`open`](Backend::open).
    fn global() -> Result<Self, Error> {
        global::shared()
    }

    /// Whether the device behind this handle is gone, so that [`global`](Backend::global) must open another.
    fn is_lost(&self) -> bool {
        false
    }

    /// The stable sorting permutation: position `i` of the sorted keys comes from `result[i]`.
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

    /// Sorts each segment of `keys` by itself and moves `values` along.
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

    /// The permutation that sorts each segment by itself. Indices count from the start of `keys`; positions outside every
    /// segment hold their own index.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² keys, else as [`sort_segments_bits`](Backend::sort_segments_bits).
    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        let mut indices = permutation::identity(keys.len())?;
        self.sort_pairs_segments_bits(&mut keys.to_vec(), &mut indices, segments, spec)?;
        Ok(indices)
    }

    /// The indices of the first `k` keys of the sorted order, in that order, equal keys by lowest index; all of them if
    /// `k` exceeds their number.
    ///
    /// # Errors
    /// As [`argsort_bits`](Backend::argsort_bits).
    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        let mut indices = self.argsort_bits(keys, spec)?;
        indices.truncate(k);
        Ok(indices)
    }

    /// Of each segment the indices of the first `k` keys of its sorted order, in that order, equal keys by lowest index; all of
    /// a segment that is shorter. Indices count from the start of `keys`; those of one segment follow those of the one before.
    ///
    /// # Errors
    /// As [`argsort_segments_bits`](Backend::argsort_segments_bits).
    fn top_k_segments_bits<W: Word>(&self, keys: &[W], k: usize, segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        let order = self.argsort_segments_bits(keys, segments, spec)?;
        Ok(segments.ranges().flat_map(|range| order[range].iter().copied().take(k)).collect())
    }
}

/// What a device can take in one call. The default has no limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The longest slice, in elements.
    pub max_len: u64,
    /// The largest slice, in bytes: keys and values each.
    pub max_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_len: u64::MAX, max_bytes: u64::MAX }
    }
}

impl Limits {
    /// The longest slice of elements of `size` bytes.
    pub fn longest(&self, size: usize) -> u64 {
        self.max_len.min(self.max_bytes / size.max(1) as u64)
    }

    /// Whether `len` elements of `size` bytes fit.
    ///
    /// # Errors
    /// [`Error::TooLong`] naming `what` if they do not.
    pub fn check(&self, what: &str, len: usize, size: usize) -> Result<(), Error> {
        let limit = self.longest(size);
        if len as u64 <= limit {
            return Ok(());
        }
        Err(Error::TooLong { what: format!("{what} with elements of {size} bytes"), asked: len as u64, limit })
    }
}

/// Sorts pairs on a backend that moves no values of this size itself: by an argsort, then a gather of both slices.
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
