//! Sorts of one array.

use crate::column::{add_values, is_sorted_by_bits, nulls_of, valid_rows};
use crate::error::external;
use crate::field::Rows;
use crate::key::Key;
use crate::native::Native;
use crate::order::first_rows;
use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, PrimitiveArray, UInt32Array, downcast_primitive};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType, SortOptions};
use arrow_select::take::take;
use polysort_core::{Backend, Options, Order};
use std::sync::Arc;

/// Returns the rows of `array` in the stable order of `options`, or the first `limit` of them: row `result[0]` is the first.
///
/// This is [`arrow_ord::sort::sort_to_indices`], which also defines the default of `options`, but equal values keep their order, in
/// both directions.
///
/// # Errors
/// Those of [`arrow_ord::sort::sort_to_indices`] for a type that is not sorted here (the crate's page lists the types);
/// [`ArrowError::ExternalError`] with a [`polysort_core::Error`] if the backend fails, or if there are more than 2³² rows.
pub fn sort_to_indices<B: Backend>(
    backend: &B,
    array: &dyn Array,
    options: Option<SortOptions>,
    limit: Option<usize>,
) -> Result<UInt32Array, ArrowError> {
    sort_on_threads(backend, array, options, limit, 1)
}

/// [`sort_to_indices`] whose words up to `threads` threads make.
pub(crate) fn sort_on_threads<B: Backend>(
    backend: &B,
    array: &dyn Array,
    options: Option<SortOptions>,
    limit: Option<usize>,
    threads: usize,
) -> Result<UInt32Array, ArrowError> {
    if !is_sorted_by_bits(array.data_type()) {
        return arrow_ord::sort::sort_to_indices(array, options, limit);
    }
    let (len, options) = (array.len(), options.unwrap_or_default());
    let limit = limit.unwrap_or(len).min(len);
    if limit == 0 {
        return Ok(UInt32Array::from(Vec::<u32>::new()));
    }
    let key = Key::new(len, threads).map_err(external)?;
    let Some(nulls) = nulls_of(array) else {
        return Ok(sort_valid(backend, key, array, None, options.descending, limit)?.into());
    };
    // Null rows keep their order, so they need no sort.
    let is_null = !nulls.inner();
    let room = if options.nulls_first { limit.saturating_sub(nulls.null_count()) } else { limit };
    let sorted = sort_valid(backend, key, array, Some(valid_rows(&nulls)), options.descending, room)?;
    let mut rows = Vec::with_capacity(limit);
    if options.nulls_first {
        rows.extend(is_null.set_indices_u32().take(limit));
        rows.extend_from_slice(&sorted);
    } else {
        rows.extend_from_slice(&sorted);
        rows.extend(is_null.set_indices_u32().take(limit - sorted.len()));
    }
    Ok(rows.into())
}

/// The first `limit` of the valid `rows` of an array of a supported type; `None` is all rows. The `key` has no fields yet.
fn sort_valid<'a, B: Backend>(
    backend: &B,
    mut key: Key<'a>,
    array: &'a dyn Array,
    rows: Option<Vec<u32>>,
    is_descending: bool,
    limit: usize,
) -> Result<Vec<u32>, ArrowError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    add_values(backend, &mut key, array, rows.as_deref().map_or(Rows::First(array.len()), Rows::Listed), None, is_descending)?;
    first_rows(backend, &key.finish(), rows, limit).map_err(external)
}

/// Returns the values of `array` in the stable order of `options`. This is [`arrow_ord::sort::sort`].
///
/// ```
/// use arrow_array::{Array, ArrayRef, Float32Array};
/// # use polysort_core::Backend;
/// # use polysort_rayon::RayonBackend;
/// let depths = Float32Array::from(vec![2.5, -0.0, 0.0, -7.25]);
/// let sorted = polysort_arrow::sort(&RayonBackend::global()?, &depths, None)?;
/// assert_eq!(sorted.as_ref(), &Float32Array::from(vec![-7.25, -0.0, 0.0, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`sort_to_indices`]; those of [`take`](arrow_select::take::take) if the sorted array cannot be made.
pub fn sort<B: Backend>(backend: &B, array: &dyn Array, options: Option<SortOptions>) -> Result<ArrayRef, ArrowError> {
    if !is_sorted_by_bits(array.data_type()) {
        return arrow_ord::sort::sort(array, options);
    }
    macro_rules! by_values {
        ($type:ty) => {
            sort_values(backend, array.as_primitive::<$type>(), options.unwrap_or_default())?
        };
    }
    let sorted = downcast_primitive! {
        array.data_type() => (by_values),
        DataType::Null => None,
        _ => None
    };
    sorted.map_or_else(|| sort_limit(backend, array, options, None), Ok)
}

/// Returns the first `limit` values of `array` in the stable order of `options`, or all of them. This is [`arrow_ord::sort::sort_limit`].
///
/// # Errors
/// As [`sort`].
pub fn sort_limit<B: Backend>(
    backend: &B,
    array: &dyn Array,
    options: Option<SortOptions>,
    limit: Option<usize>,
) -> Result<ArrayRef, ArrowError> {
    if !is_sorted_by_bits(array.data_type()) {
        return arrow_ord::sort::sort_limit(array, options, limit);
    }
    take(array, &sort_to_indices(backend, array, options, limit)?, None)
}

/// Sorts the values themselves, without a permutation. `None` if polysort has no key of this type.
fn sort_values<B: Backend, T: ArrowPrimitiveType<Native: Native>>(
    backend: &B,
    array: &PrimitiveArray<T>,
    options: SortOptions,
) -> Result<Option<ArrayRef>, ArrowError> {
    let order = if options.descending { Order::Descending } else { Order::Ascending };
    let (len, null_count) = (array.len(), array.null_count());
    let mut values = Vec::with_capacity(len);
    let valid = if options.nulls_first { null_count..len } else { 0..len - null_count };
    match array.nulls() {
        None => values.extend_from_slice(array.values()),
        Some(nulls) => {
            values.resize(valid.start, T::default_value());
            values.extend(nulls.valid_indices().map(|row| array.value(row)));
            values.resize(len, T::default_value());
        }
    }
    let Some(done) = T::Native::sort(backend, &mut values[valid], Options::ordered(order)) else { return Ok(None) };
    done.map_err(external)?;
    let sorted = PrimitiveArray::<T>::try_new(values.into(), sorted_nulls(len, null_count, options.nulls_first))?;
    Ok(Some(Arc::new(sorted.with_data_type(array.data_type().clone()))))
}

/// The null rows of a sorted array.
fn sorted_nulls(len: usize, null_count: usize, nulls_first: bool) -> Option<NullBuffer> {
    if null_count == 0 {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(len);
    let first = if nulls_first { null_count } else { len - null_count };
    valid.append_n(first, !nulls_first);
    valid.append_n(len - first, nulls_first);
    Some(valid.finish().into())
}
