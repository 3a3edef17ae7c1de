//! Sorts by several columns.

use crate::column::{add, is_sorted_by_bits};
use crate::error::external;
use crate::key::Key;
use crate::order::first_rows;
use crate::sort::sort_on_threads;
use arrow_array::{ArrayRef, UInt32Array};
use arrow_ord::sort::SortColumn;
use arrow_schema::ArrowError;
use arrow_select::take::take;
use polysort_core::Backend;

/// Returns the indices of the rows in the stable order of `columns`, or the first `limit` of these indices. The first column is the most significant one.
///
/// This is [`arrow_ord::sort::lexsort_to_indices`], but rows that are equal in all columns keep their order.
///
/// ```
/// use arrow_array::{Array, Int64Array, StringArray};
/// use polysort_arrow::{SortColumn, SortOptions, lexsort_to_indices};
/// use std::sync::Arc;
/// # use polysort_core::Backend;
/// # use polysort_rayon::RayonBackend;
/// let cities = StringArray::from(vec!["Oslo", "Bern", "Oslo", "Bern"]);
/// let years = Int64Array::from(vec![2020, 2021, 2022, 2023]);
/// let latest_first = SortOptions { descending: true, nulls_first: false };
/// let columns =
///     [SortColumn { values: Arc::new(cities), options: None }, SortColumn { values: Arc::new(years), options: Some(latest_first) }];
/// let order = lexsort_to_indices(&RayonBackend::global()?, &columns, None)?;
/// assert_eq!(order.values(), &[3, 1, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ArrowError::InvalidArgumentError`] without columns, [`ArrowError::ComputeError`] if the columns differ in length, arrow's errors for a
/// column that arrow cannot compare, and [`ArrowError::ExternalError`] with a [`polysort_core::Error`] if the backend fails, or if there are
/// more than 2³² rows.
pub fn lexsort_to_indices<B: Backend>(
    backend: &B,
    columns: &[SortColumn],
    limit: Option<usize>,
) -> Result<UInt32Array, ArrowError> {
    lexsort_to_indices_on_threads(backend, columns, limit, 1)
}

/// Does the same as [`lexsort_to_indices`]. Up to `threads` threads, the caller's included, read the columns and make the words that the backend sorts; the threads of the backend
/// itself do not count among them. Threads are started only for columns that are longer than some tens of thousands of rows, and they end before the function returns.
///
/// # Errors
/// As [`lexsort_to_indices`].
pub fn lexsort_to_indices_on_threads<B: Backend>(
    backend: &B,
    columns: &[SortColumn],
    limit: Option<usize>,
    threads: usize,
) -> Result<UInt32Array, ArrowError> {
    let [first, others @ ..] = columns else {
        return Err(ArrowError::InvalidArgumentError("Sort requires at least one column".into()));
    };
    if others.is_empty() && is_sorted_by_bits(first.values.data_type()) {
        return sort_on_threads(backend, &first.values, first.options, limit, threads);
    }
    let len = first.values.len();
    if others.iter().any(|column| column.values.len() != len) {
        return Err(ArrowError::ComputeError("lexical sort columns have different row counts".into()));
    }
    let limit = limit.unwrap_or(len).min(len);
    if limit == 0 {
        return Ok(UInt32Array::from(Vec::<u32>::new()));
    }
    let mut key = Key::new(len, threads).map_err(external)?;
    for column in columns {
        add(backend, &mut key, &column.values, column.options.unwrap_or_default())?;
    }
    Ok(first_rows(backend, &key.finish(), None, limit).map_err(external)?.into())
}

/// Sorts the rows by the first column, then by the second, and so on, stably, and returns the sorted columns; with `Some(limit)`, only the first `limit`
/// rows. It takes the place of [`arrow_ord::sort::lexsort`].
///
/// # Errors
/// As [`lexsort_to_indices`]; those of [`take`](arrow_select::take::take) if a sorted column cannot be made.
pub fn lexsort<B: Backend>(backend: &B, columns: &[SortColumn], limit: Option<usize>) -> Result<Vec<ArrayRef>, ArrowError> {
    let order = lexsort_to_indices(backend, columns, limit)?;
    columns.iter().map(|column| take(&column.values, &order, None)).collect()
}
