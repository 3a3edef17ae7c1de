//! Sorts of record batches.

use crate::lexsort::lexsort_to_indices;
use crate::rows::NumberedRows;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ord::sort::SortColumn;
use arrow_schema::{ArrowError, SchemaRef, SortOptions};
use arrow_select::concat::concat;
use arrow_select::take::take_record_batch;
use polysort_core::Backend;

/// A column of a record batch to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortBy {
    /// The index of the column.
    pub column: usize,
    /// Its order.
    pub options: SortOptions,
}

impl SortBy {
    /// Ascending, nulls first: arrow's default.
    pub fn column(column: usize) -> Self {
        Self { column, options: SortOptions::default() }
    }
}

/// Returns the rows of `batch` in the stable order of the columns `by`, or the first `limit` of them. The first of `by` is the most significant
/// one.
///
/// # Errors
/// [`ArrowError::InvalidArgumentError`] if `by` is empty or names a column that the batch does not have; else as
/// [`lexsort`](crate::lexsort).
pub fn sort_batch<B: Backend>(
    backend: &B,
    batch: &RecordBatch,
    by: &[SortBy],
    limit: Option<usize>,
) -> Result<RecordBatch, ArrowError> {
    let columns = sort_columns(by, |column| column_of(batch, column))?;
    take_record_batch(batch, &lexsort_to_indices(backend, &columns, limit)?)
}

/// Returns the rows of all `batches`, in one batch, in the stable order of the columns `by`, or the first `limit` of them. The rows of a batch are
/// before those of the next one.
///
/// ```
/// use arrow_array::{Int32Array, RecordBatch};
/// use arrow_schema::{DataType, Field, Schema};
/// use polysort_arrow::{SortBy, sort_batches};
/// use std::sync::Arc;
/// # use polysort_core::Backend;
/// # use polysort_rayon::RayonBackend;
/// let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
/// let batch = |ids: &[i32]| RecordBatch::try_new(schema.clone(), vec![Arc::new(Int32Array::from(ids.to_vec()))]);
/// let batches = [batch(&[5, 1])?, batch(&[4])?];
/// let sorted = sort_batches(&RayonBackend::global()?, &schema, &batches, &[SortBy::column(0)], None)?;
/// assert_eq!(sorted, batch(&[1, 4, 5])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`sort_batch`]; arrow's error if a batch does not have the columns of `schema`.
pub fn sort_batches<B: Backend>(
    backend: &B,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    by: &[SortBy],
    limit: Option<usize>,
) -> Result<RecordBatch, ArrowError> {
    match batches {
        [] => return sort_batch(backend, &RecordBatch::new_empty(schema.clone()), by, limit),
        [batch] => return sort_batch(backend, batch, by, limit),
        _ => {}
    }
    let columns = sort_columns(by, |column| {
        let parts = batches.iter().map(|batch| column_of(batch, column)).collect::<Result<Vec<_>, _>>()?;
        concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    })?;
    let order = lexsort_to_indices(backend, &columns, limit)?;
    NumberedRows::new(schema.clone(), batches.to_vec())?.take(order.values())
}

/// The columns to sort by; `values` returns the column of an index.
fn sort_columns(by: &[SortBy], values: impl Fn(usize) -> Result<ArrayRef, ArrowError>) -> Result<Vec<SortColumn>, ArrowError> {
    by.iter().map(|by| Ok(SortColumn { values: values(by.column)?, options: Some(by.options) })).collect()
}

fn column_of(batch: &RecordBatch, column: usize) -> Result<ArrayRef, ArrowError> {
    let missing = || ArrowError::InvalidArgumentError(format!("column {column} of a batch with {} columns", batch.num_columns()));
    batch.columns().get(column).cloned().ok_or_else(missing)
}
