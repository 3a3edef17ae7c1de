//! Ranks: the number of values that are not after a value.

use crate::column::{is_sorted_by_bits, ranks};
use arrow_array::Array;
use arrow_schema::{ArrowError, SortOptions};
use polysort_core::Backend;

/// Returns the rank of each value of `array`: the number of values, itself included, that come before it in the order of `options` or are equal to it.
/// Equal values have equal ranks, and so have nulls.
///
/// The result is that of [`arrow_ord::rank::rank`], and `None` for `options` means the same as there. It takes every type that
/// [`sort_to_indices`](crate::sort_to_indices) sorts by bits, bytes or ranks.
///
/// ```
/// use arrow_array::StringArray;
/// # use polysort_core::Backend;
/// # use polysort_rayon::RayonBackend;
/// let names = StringArray::from(vec![Some("foo"), None, Some("foo"), None, Some("bar")]);
/// let ranks = polysort_arrow::rank(&RayonBackend::global()?, &names, None)?;
/// assert_eq!(ranks, [5, 2, 5, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// For a type that is not sorted here, those of [`arrow_ord::rank::rank`], which then ranks the array; [`ArrowError::ExternalError`] with a
/// [`polysort_core::Error`] if the backend fails.
pub fn rank<B: Backend>(backend: &B, array: &dyn Array, options: Option<SortOptions>) -> Result<Vec<u32>, ArrowError> {
    if !is_sorted_by_bits(array.data_type()) {
        return arrow_ord::rank::rank(array, options);
    }
    ranks(backend, array, options.unwrap_or_default())
}
